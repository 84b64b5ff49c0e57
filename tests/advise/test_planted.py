"""Faults that are planted, through the whole path: a run, its diagnosis, the advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted_faults import FAULTS, HEALTHY, Planted

from flatwater.advise.adviser import Consultation, consult
from flatwater.experiment import load
from flatwater.results import open_result
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment


def consulted(planted: Planted, folder: Path) -> Consultation:
    """Runs the experiment, and asks for advice."""
    file = folder / "planted.toml"
    file.write_text(f'title = "planted"\n{planted.text}')
    run_experiment(load(file), folder / "result", SilentReporter(), lambda *_: None)
    return consult(open_result(folder / "result"))


@pytest.mark.parametrize(
    "planted",
    [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if "innodb-model" in one.text else []) for one in FAULTS],
)
def test_a_planted_fault_is_the_first_or_second_advice(planted: Planted, tmp_path: Path) -> None:
    assert planted.rule in [one.rule for one in consulted(planted, tmp_path).advice[:2]]


@pytest.mark.parametrize("planted", HEALTHY, ids=lambda one: one.name)
def test_nothing_is_advised_of_a_healthy_run(planted: Planted, tmp_path: Path) -> None:
    assert consulted(planted, tmp_path).advice == ()


def test_a_load_that_only_writes_misses_nothing_that_it_reads(tmp_path: Path) -> None:
    (through,) = (one for one in FAULTS if one.rule == "cache-mode")
    found = consulted(through, tmp_path).diagnosis.findings
    assert found
    assert "cache misses" not in {one.name for one in found}
