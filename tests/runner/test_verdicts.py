"""Whether a verdict can come of an experiment is told before it runs, and running it agrees.

Before, `run quick` of the README measured 8 samples a cell, and a verdict takes 10: nobody said so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flatwater.analysis.verdict import SAMPLES_MIN
from flatwater.experiment import Experiment, LibraryEntry, library, load, make_cell, make_experiment, to_toml
from flatwater.experiment.record import Record
from flatwater.results import CellSummary, open_result
from flatwater.runner.executors import make_executor
from flatwater.runner.progress import start_reporter
from flatwater.runner.sweep import run_experiment
from flatwater.runner.verdicts import count_samples, find_shortfall

ENTRIES = library()
#: Computed in virtual time, so that each is run here.
COMPUTED = [entry for entry in ENTRIES if entry.virtual]

PLAIN: dict[str, Any] = {
    "workload": {"mode": "rndrd", "duration_s": 2.0, "rate_per_s": 2000},
    "storage": {"kind": "memory", "device": "violin-memory-appliance", "size": "64MiB"},
}


def run(experiment: Experiment, out: Path) -> CellSummary:
    reporter = start_reporter()
    try:
        run_experiment(experiment, out, reporter, lambda *_: None, executor=make_executor("local", 1))
    finally:
        reporter.close()
    (cell,) = open_result(out).cells
    assert cell.summary is not None
    assert cell.summary.status == "complete"
    return cell.summary


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_experiment_of_the_library_can_give_a_verdict(entry: LibraryEntry) -> None:
    assert find_shortfall(load(entry.path)) is None


@pytest.mark.slow_cases("2.0-checkpoint-waves-2020", "1.8-checkpoint-waves-2020")
@pytest.mark.parametrize("entry", COMPUTED, ids=lambda entry: entry.name)
@pytest.mark.parametrize("duration_s", [2.0, 1.8])
def test_running_it_short_agrees(tmp_path: Path, entry: LibraryEntry, duration_s: float) -> None:
    whole = load(entry.path)
    file = tmp_path / "first-cell.toml"
    file.write_text(to_toml(make_cell(whole, whole.sweep.values_at(0))))
    short = {"workload.duration_s": duration_s, "workload.warmup_s": 0.3, "record.interval_s": 0.2}
    cell = load(file, [f"{name}={value}" for name, value in short.items()] + ["workload.steady_state=none"])
    shortfall, summary = find_shortfall(cell), run(cell, tmp_path / "out")
    assert (shortfall is None) == (summary.verdict is not None) == (duration_s == 2.0)
    assert min(summary.samples, SAMPLES_MIN) == count_samples(cell)


@pytest.mark.parametrize(
    "change",
    [
        {"duration_s": 1.0},
        {"duration_s": 0.95},
        {"duration_s": 0.96, "warmup_s": 0.25},
        {"duration_s": 0.94, "warmup_s": 0.25},
        {"duration_s": 1.0, "warmup_s": 0.34},
        {"duration_s": 2.0, "interval_s": 0.21},
        {"duration_s": 2.0, "interval_s": 0.2049},
        {"duration_s": 3.0, "interval_s": 2.0},
        {"steady_state": "snia", "round_s": 0.2},
        {"steady_state": "snia", "round_s": 0.1},
        {"steady_state": "snia", "round_s": 0.17, "warmup_s": 0.5},
        {"steady_state": "snia", "round_s": 0.25, "warmup_s": 0.13},
        {"steady_state": "snia", "round_s": 0.4, "interval_s": 0.3},
    ],
    ids=str,
)
def test_as_many_samples_as_were_told(tmp_path: Path, change: dict[str, Any]) -> None:
    change = dict(change)
    record = {"interval_s": change.pop("interval_s", 0.1)}
    experiment = make_experiment(PLAIN | {"workload": PLAIN["workload"] | change, "record": record})
    told, summary = count_samples(experiment), run(experiment, tmp_path / "out")
    assert told == min(summary.samples, SAMPLES_MIN)
    assert (find_shortfall(experiment) is None) == (summary.verdict is not None)


def test_the_time_is_not_what_counts_but_the_samples() -> None:
    hours = make_experiment(PLAIN | {"workload": {"mode": "rndrd", "duration_s": 28_800, "warmup_s": 7200}})
    assert find_shortfall(hours) is None
    hourly = hours.model_copy(update={"record": Record(interval_s=3600)})
    shortfall = find_shortfall(hourly)
    assert shortfall is not None
    assert shortfall.text == (
        "there can be no verdict: 8 samples of 3,600 s are measured, and it takes 10 "
        "(hint: workload.duration_s = 36000 or more, or record.interval_s = 2880)"
    )


@pytest.mark.parametrize(
    ("sweep", "text"),
    [
        (
            {"workload.duration_s": [5, 20], "workload.threads": [1, 2, 4]},
            "3 of 6 cells cannot get a verdict: 5 samples",
        ),
        ({"record.interval_s": [1, 5]}, "1 of 2 cells cannot get a verdict: 4 samples of 5 s are measured"),
        ({"workload.threads": [1, 2]}, None),
    ],
)
def test_of_a_sweep_it_says_how_many_cells(sweep: dict[str, list[Any]], text: str | None) -> None:
    experiment = make_experiment(PLAIN | {"workload": {"mode": "rndrd", "duration_s": 20}, "sweep": sweep})
    shortfall = find_shortfall(experiment)
    assert (shortfall is None) == (text is None)
    assert text is None or (shortfall is not None and shortfall.text.startswith(text))


def test_a_server_that_is_killed_ends_the_measurement() -> None:
    fault = {"kind": "kill", "at_s": 4}
    tables: dict[str, Any] = {
        "workload": {"kind": "tpcc", "warehouses": 1, "duration_s": 60, "warmup_s": 30},
        "database": {"kind": "server", "fault": fault},
    }
    shortfall = find_shortfall(make_experiment(tables))
    assert shortfall is not None
    assert "4 samples" in shortfall.text
    assert "ends before its time" in shortfall.text
    restarted = tables | {"database": {"kind": "server", "fault": fault, "on_crash": "restart"}}
    assert find_shortfall(make_experiment(restarted)) is None


def test_of_a_server_that_is_watched_it_names_the_option() -> None:
    shortfall = find_shortfall(
        make_experiment(
            {
                "workload": {"kind": "observed", "duration_s": 3},
                "database": {"kind": "server", "url": "mysql://root@127.0.0.1:1"},
            }
        )
    )
    assert shortfall is not None and "--for 10s or more" in shortfall.text and "workload." not in shortfall.text


def test_a_trace_that_is_over_ends_it_too(tmp_path: Path) -> None:
    trace = tmp_path / "t.iolog"
    entries = "".join(f"{1000 * number} f read {4096 * number} 4096\n" for number in range(5))
    trace.write_text(f"fio version 3 iolog\n0 f add\n0 f open\n{entries}")
    replay = {"kind": "replay", "trace": str(trace), "duration_s": 20, "repeat": False}
    experiment = make_experiment(PLAIN | {"workload": replay})
    shortfall = find_shortfall(experiment)
    assert shortfall is not None
    told, summary = count_samples(experiment), run(experiment, tmp_path / "out")
    assert (summary.verdict, told) == (None, summary.samples)
    replay["repeat"] = True
    assert find_shortfall(make_experiment(PLAIN | {"workload": replay})) is None
