"""Modelled storage: the same experiment, the same result, in virtual time and always the same bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from lab import Lab, Ran

from flatwater.experiment import cell_at, load
from flatwater.plan.fileio import write_modelled_fileio
from flatwater.results import Result

sys.path.insert(0, str(Path(__file__).parents[3] / "experiment" / "storage"))
from devices import appliance

BLOCK = 16 * 1024


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def write(lab: Lab, workload: Mapping[str, Any] = {}, storage: Mapping[str, Any] = {}, **rest: Any) -> Path:
    """Four threads on an appliance of memory for ten virtual seconds."""
    path = lab.folder / "modelled.toml"
    device = appliance(lab.folder)
    content = {
        "workload": {"mode": "rndrw", "threads": 4, "duration_s": 10, "rate_per_s": 500} | dict(workload),
        "storage": {"kind": "memory", "device": device} | dict(storage),
    } | rest
    path.write_text(tomli_w.dumps(content))
    return path


def run(lab: Lab, *arguments: str, **rest: Any) -> Ran:
    return lab.run(write(lab, **rest), "--json", *arguments)


def test_ten_seconds_take_no_time_and_touch_nothing(lab: Lab) -> None:
    ran = run(lab)
    cell = ran.cell
    assert (cell["status"], cell["samples"], cell["errors"]) == ("complete", 10, 0)
    assert cell["mean"] == pytest.approx(500, rel=0.02)
    assert cell["layers"]["storage"] == cell["layers"]["workload"] == "modelled"
    assert cell["layers"]["device"] == f"An appliance ({lab.folder / 'box.toml'})"
    assert cell["client_cpu_us_per_op"] is None
    assert not [name for name in cell["metrics"] if name.startswith("machine.") or "client_cpu" in name]
    assert cell["metrics"]["storage.queue_depth"]["mean"] >= 0
    assert list(lab.data.iterdir()) == []


def test_latencies_are_the_devices_own(lab: Lab) -> None:
    cell = run(lab, workload={"mode": "rndrd", "threads": 1, "rate_per_s": 0}).cell
    expected_us = 100 + BLOCK / (1200 * 2**20) * 1e6
    assert cell["latency_us"]["p50"] == pytest.approx(expected_us, rel=0.01)
    assert cell["mean"] == pytest.approx(1e6 / expected_us, rel=0.01)


SWEEP = {"storage.parameters.latency_us": [50, 500], "workload.threads": [1, 8]}


def told(ran: Ran) -> list[dict[str, Any]]:
    """What was printed, by cell: which is done first depends on the machine, as does when it began."""
    cells = sorted(ran.cells, key=lambda cell: int(cell["cell"]))
    return [{name: value for name, value in cell.items() if name != "started_at"} for cell in cells]


def histograms(result: Result) -> list[dict[str, str]]:
    return [cell.summary.histograms for cell in result.cells if cell.summary is not None]


def test_the_same_seed_gives_the_same_bytes_in_another_process(lab: Lab) -> None:
    workload = {"rate_per_s": 300, "arrival": "poisson", "distribution": "zipf", "precondition_passes": 0.1}
    file = write(lab, workload=workload, sweep=SWEEP)
    first = lab.start(file, "--json", out=lab.folder / "first").wait()
    second = lab.start(file, "--json", out=lab.folder / "second").wait()
    assert (first.code, second.code) == (0, 0)
    assert len(first.cells) == 4
    assert told(first) == told(second)
    for name in ("series.parquet", "histograms.parquet", "experiment.toml"):
        assert (first.out / name).read_bytes() == (second.out / name).read_bytes(), name
    assert histograms(first.result) == histograms(second.result)


def test_another_seed_gives_others(lab: Lab) -> None:
    workload = {"arrival": "poisson"}
    assert told(run(lab, "--seed", "1", workload=workload)) != told(run(lab, "--seed", "2", workload=workload))


def test_rounds_of_snia_are_noted_at_their_virtual_times(lab: Lab) -> None:
    workload = {"mode": "rndwr", "steady_state": "snia", "round_s": 5, "rounds_max": 7}
    cell = run(lab, workload=workload).cell
    rounds = [event["time_s"] for event in cell["events"] if event["kind"] == "round"]
    assert rounds == [5, 10, 15, 20, 25, 25]
    assert cell["steady"] is True


def test_preconditioning_is_of_the_same_device(lab: Lab) -> None:
    cell = run(lab, workload={"mode": "rndwr", "precondition_passes": 1, "warmup_s": 2}).cell
    phases = {phase["name"]: phase["end_s"] - phase["start_s"] for phase in cell["phases"]}
    # 1 GiB at 500 MiB/s, and the latency of each request of 128 KiB is hidden by the four threads.
    assert phases["precondition"] == pytest.approx(1024 / 500, rel=0.05)
    assert (phases["warmup"], phases["measure"]) == (2, 10)


def test_published_figures_of_any_metric_stand_beside_ours(lab: Lab) -> None:
    figures = [
        {"metric": metric, "value": 100.0, "unit": unit, "source": "made up"}
        for metric, unit in (("mean", "IOPS"), ("storage.queue_depth", "requests"), ("latency_us.p95", "us"))
    ]
    cell = run(lab, published=figures).cell
    ours = [cell["published"]["ours"], *(figure["ours"] for figure in cell["published_others"])]
    assert ours == [cell["mean"], cell["metrics"]["storage.queue_depth"]["mean"], cell["latency_us"]["p95"]]


def test_what_a_device_cannot_be_is_told_before_anything_runs(lab: Lab) -> None:
    ran = run(lab, storage={"size": "2GiB"})
    assert ran.code == 2
    assert "2 GiB of data do not fit the 1 GiB" in ran.error
    assert not ran.out.exists()


def test_a_template_without_a_device(lab: Lab) -> None:
    ran = lab.run("quick", "--set", "storage.kind=ssd")
    assert (ran.code, "storage.device is missing" in ran.error) == (2, True)


def test_real_time_needs_a_place(lab: Lab) -> None:
    ran = run(lab, storage={"real_time": True})
    assert (ran.code, "storage.path is missing" in ran.error) == (2, True)


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_cells_that_are_missing(lab: Lab) -> None:
    file = write(lab, sweep=SWEEP)
    whole = lab.run(file, "--json", out=lab.folder / "whole")
    out = lab.folder / "killed"
    lab.run(file, "--json", out=out)
    # As after a kill between two cells: the folders of cells are merged only at the end.
    manifest = json.loads((out / "flatwater.json").read_text()) | {"status": "running"}
    (out / "flatwater.json").write_text(json.dumps(manifest))
    for name in ("series.parquet", "histograms.parquet", "summary.json"):
        (out / name).unlink()
    again = lab.run(file, "--json", "--resume", out=out)
    assert told(again) == told(whole)
    assert (out / "series.parquet").read_bytes() == (whole.out / "series.parquet").read_bytes()


def test_the_engine_is_told_what_the_workload_and_the_device_are(lab: Lab) -> None:
    workload = {"block_size": {"4KiB": 50.0, "16KiB": 50.0}, "files": 3, "sync": "dsync", "precondition_passes": 1}
    storage = {"fill": 0.5, "exclusive_writes": True}
    experiment = cell_at(load(write(lab, workload, storage)), 0).experiment
    spec = write_modelled_fileio(experiment, 7)
    assert spec.workload.file_bytes == 2**29 // 3 // 4096 * 4096
    assert spec.workload.file_bytes * 3 <= 2**29
    assert (spec.sync, spec.exclusive_writes, spec.interval_ms) == (True, True, 1000)
    assert spec.device.kind == "memory"


def test_throughput_follows_the_swept_figure(lab: Lab) -> None:
    workload = {"mode": "rndrd", "threads": 1, "rate_per_s": 0, "duration_s": 1}
    sweep = {"storage.parameters.latency_us": [50, 100, 200]}
    means = [cell["mean"] for cell in told(run(lab, workload=workload, sweep=sweep, record={"interval_s": 0.1}))]
    assert np.all(np.diff(means) < 0)


def test_a_fresh_card_slows_down_and_the_transition_is_a_published_metric(lab: Lab) -> None:
    metrics = ("fast", "steady", "transition_s", "transition_begin_s", "transition_end_s")
    path = lab.folder / "card.toml"
    content = {
        "workload": {"mode": "rndwr", "engine": "io_uring", "queue_depth": 32, "duration_s": 30, "unit": "MiB/s"},
        "storage": {
            "kind": "ssd",
            "device": "virident-tachion-400-slc",
            "initial": "fresh",
            "capacity_scale": 0.005,
        },
        "record": {"interval_s": 0.1},
        "published": [
            {"metric": metric, "value": 1.0, "unit": "s" if metric.endswith("_s") else "MiB/s", "source": "made up"}
            for metric in metrics
        ],
    }
    path.write_text(tomli_w.dumps(content))
    cell = lab.run(path, "--json").cell
    found = cell["transition"]
    ours = {one["metric"]: one["ours"] for one in (cell["published"], *cell["published_others"])}
    assert list(ours) == list(metrics)
    assert ours["fast"] == found["fast"] > ours["steady"] == found["steady"] > 0
    assert ours["transition_end_s"] - ours["transition_begin_s"] == pytest.approx(ours["transition_s"])
    assert cell["metrics"]["storage.write_amplification"]["max"] > 1.2


def test_a_model_that_does_not_fit_the_memory_is_refused(lab: Lab) -> None:
    """Its arrays would be touched all over, and Linux would kill it, or somebody else."""
    card = {"kind": "ssd", "device": "virident-tachion-400-slc"}
    vast = {"parameters": {"modules": 8, "capacity": "200TiB", "geometry.raw": "32TiB", "geometry.page": "16KiB"}}
    ran = lab.run(write(lab, workload={"block_size": "16KiB"}, storage=card | vast))
    assert ran.code in (1, 2)
    assert "of memory, " in ran.stderr and "storage.capacity_scale" in ran.stderr, ran.stderr
    assert "Traceback" not in ran.stderr
