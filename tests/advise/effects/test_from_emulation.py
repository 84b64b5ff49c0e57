"""fileio on an emulated device: the model of the device predicts what a change does in real time.

A run in virtual time, written down as one in real time, stands for a machine that adds nothing to the device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from flatwater.advise.adviser import Consultation, consult
from flatwater.advise.effects.from_emulation import emulation_effects, in_virtual_time, is_emulated_fileio
from flatwater.analysis.bound import Finding
from flatwater.analysis.bound.line import Line
from flatwater.experiment import make_experiment
from flatwater.experiment.parse import Tables
from flatwater.results import open_result
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment
from flatwater.what_if.noise import Z95, run_noise

LOAD = {"kind": "fileio", "mode": "rndwr", "block_size": "16KiB", "threads": 8, "engine": "io_uring"}
CARD = {"kind": "ssd", "device": "intel-x25-m", "capacity_scale": 0.004}
REAL = {"real_time": True, "file_system": "ext4"}
CACHED: Tables = {
    "kind": "flash",
    "size": "256MiB",
    "storage": {"kind": "ssd", "device": "intel-x25-e", "real_time": True},
}
#: What another device than the one that is written down had.
SLOWER = {"parameters": {"timing.program_us": 4000}}


def consulted(folder: Path, served: Mapping[str, Any] = {}) -> Consultation:
    """Advice on a full drive in real time; `served` changes the drive that was served, and not what is written."""
    tables: Tables = {"name": "full", "workload": {**LOAD, "warmup_s": 2, "duration_s": 13}, "storage": CARD}
    run_experiment(make_experiment({**tables, "storage": CARD | served}), folder, SilentReporter(), lambda *_: None)
    (folder / "experiment.toml").write_text(tomli_w.dumps({**tables, "storage": CARD | REAL | {"path": str(folder)}}))
    told = consult(open_result(folder))
    assert is_emulated_fileio(told.evidence.experiment)
    assert told.advice[0].change.overrides == ("storage.reserve_pct=25",)
    return told


def test_the_model_of_the_device_predicts_within_the_noise_of_both_runs(tmp_path: Path) -> None:
    told = consulted(tmp_path / "run")
    effect = emulation_effects(told, lambda _: None).advice[0].effect
    assert effect is not None
    assert effect.source.startswith("the model of the emulated device: 5 pairs of runs over 13 s")
    assert 1 < effect.low < effect.high
    assert effect.high / effect.low >= math.exp(2 * Z95 * math.sqrt(2) * run_noise([told.cell])) - 1e-9


def test_a_run_that_is_not_like_its_device_is_not_predicted(tmp_path: Path) -> None:
    advice = emulation_effects(consulted(tmp_path / "run", SLOWER), lambda _: None).advice[0]
    assert advice.effect is None
    assert "times what the run did: something else decides it" in advice.no_effect


def test_late_answers_and_neighbours_are_reasons(tmp_path: Path) -> None:
    told = consulted(tmp_path / "run")
    device = told.evidence.device
    assert device is not None
    late = replace(device, lag_late_pct=Line(np.full(13, 7.0)))
    advice = emulation_effects(replace(told, evidence=replace(told.evidence, device=late)), lambda _: None).advice[0]
    assert advice.no_effect.startswith("not predicted: the emulated device was later than its model")
    busy = replace(told.diagnosis, others=(Finding("neighbour", 0.5, "time", ("x",)),))
    advice = emulation_effects(replace(told, diagnosis=busy), lambda _: None).advice[0]
    assert advice.no_effect.startswith("not predicted: other programs took much of this run's time")


def test_the_same_experiment_in_virtual_time(tmp_path: Path) -> None:
    cell = consulted(tmp_path / "run").cell
    place = {"path": str(tmp_path)}
    cache = {**CACHED, "storage": CACHED["storage"] | place}
    tables: Tables = {"workload": LOAD, "storage": CARD | REAL | place, "cache": cache}
    (tmp_path / "run" / "experiment.toml").write_text(tomli_w.dumps(tables))
    found = in_virtual_time(cell, ("cache.size=512MiB",), 7)
    assert found.in_virtual_time
    assert found.seed == 7
    assert found.flash_cache is not None
    assert found.flash_cache.size == 512 << 20
    assert not found.flash_cache.storage.real_time


def test_only_fileio_on_emulated_storage_alone() -> None:
    real: Tables = {"workload": LOAD, "storage": {"path": "/nowhere", "size": "1GiB"}}
    assert not is_emulated_fileio(make_experiment(real))
    assert not is_emulated_fileio(make_experiment({"workload": LOAD, "storage": CARD}))
    assert not is_emulated_fileio(None)
