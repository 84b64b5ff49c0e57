"""The journal: a line an interval, whole after any kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab import Lab, journal_lines

from flatwater.runner.journal import LINES_KEPT, Journal


def interval(start_s: float, end_s: float) -> dict[str, object]:
    metrics = {"ops_per_s": 10.0, "bytes_per_s": 2.0 * 2**20, "in_flight": 1.0}
    metrics |= {"new_order_ops_per_s": 4.0, "queries_per_s": 300.0}
    metrics |= {"instance0_operations_per_s": 3.0, "instance1_operations_per_s": 1.0}
    counts = {"histograms": {}, "totals": {}, "counters": {"deadlocks": 2}, "cpu_s": 0.0}
    return {"start_s": start_s, "end_s": end_s, "metrics": metrics, "storage": {}, "incidents": [], **counts}


def append(path: Path, unit: str = "IOPS") -> Journal:
    """A run's next interval and event."""
    with Journal(path, unit) as journal:
        offset_s = journal.at_s
        journal.interval(interval(0.0, 1.0), offset_s, "measure")  # type: ignore[arg-type]
        journal.event("warning", "something")
    return journal


def test_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for _ in range(2):
        append(path)
    lines = journal_lines(tmp_path)
    assert [line["time_s"] for line in lines if "metrics" in line] == [1.0, 2.0]
    # An event's time is that of its writing: a moment after the interval's end.
    assert [int(line["event"]["time_s"]) for line in lines if "event" in line] == [1, 2]


def test_an_event_has_its_own_time_where_intervals_are_written_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine wrote the interval until 2 s at 3.5 s: what is done then was not done at 2 s."""
    clock = iter([101.0, 103.5, 103.75])
    monkeypatch.setattr("flatwater.runner.journal.time.monotonic", lambda: next(clock))
    with Journal(tmp_path / "journal.jsonl", "IOPS", durable=False) as journal:
        journal.interval(interval(0.0, 1.0), 0.0, "measure")  # type: ignore[arg-type]
        journal.interval(interval(1.0, 2.0), 0.0, "measure")  # type: ignore[arg-type]
        journal.event("fault", "frozen")
    assert [event.time_s for event in journal.events] == [3.75]


@pytest.mark.parametrize(("length_s", "lines", "is_told"), [(1.4, 1, False), (1.6, 2, False), (9.0, 9, True)])
def test_a_long_interval_counts_as_long_as_it_was(tmp_path: Path, length_s: float, lines: int, is_told: bool) -> None:
    """flatwater was stopped: one reading of 9 s among those of a second is not one of ten in the mean."""
    with Journal(tmp_path / "journal.jsonl", "IOPS", interval_s=1.0, durable=False) as journal:
        journal.interval(interval(0.0, 1.0), 0.0, "measure")  # type: ignore[arg-type]
        journal.interval(interval(1.0, 1.0 + length_s), 0.0, "measure")  # type: ignore[arg-type]
    series = journal.series()
    assert series is not None
    assert series["workload.throughput"].value.tolist() == [10.0] * (1 + lines)
    assert series["workload.instance0_throughput"].value.tolist() == [3.0] * (1 + lines)
    assert series["workload.throughput"].time_s[-1] == pytest.approx(1.0 + length_s)
    assert len(series["workload.in_flight"]) == 2, "a level is known at the end only"
    assert journal.tally.counters == {"deadlocks": 4}
    assert [(phase.start_s, phase.end_s) for phase in journal.phases] == [(0.0, pytest.approx(1.0 + length_s))]
    assert [event.kind for event in journal.events] == (["pause"] if is_told else [])


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    append(path)
    with path.open("a") as handle:
        handle.write('{"time_s": 7.0, "metrics": {"workl')
    append(path)
    assert [line["time_s"] for line in journal_lines(tmp_path) if "metrics" in line] == [1.0, 2.0]


def test_one_torn_line_alone_is_an_empty_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"time_s": 7.0, "metr')
    assert append(path).at_s == 1.0


@pytest.mark.parametrize(
    ("unit", "throughput"), [("IOPS", 10.0), ("MiB/s", 2.0), ("tps", 10.0), ("NOTPM", 240.0), ("qps", 300.0)]
)
def test_throughput_is_in_the_unit_of_the_experiment(tmp_path: Path, unit: str, throughput: float) -> None:
    append(tmp_path / "journal.jsonl", unit)
    (line, _) = journal_lines(tmp_path)
    assert line["metrics"]["workload.throughput"] == throughput


def test_each_instance_has_its_throughput(tmp_path: Path) -> None:
    append(tmp_path / "journal.jsonl", "NOTPM")
    (line, _) = journal_lines(tmp_path)
    own = {name: value for name, value in line["metrics"].items() if "instance" in name}
    assert own == {"workload.instance0_throughput": 180.0, "workload.instance1_throughput": 60.0}


class Fixed:
    """A probe that gives the same series each time."""

    def __init__(self, **series: float) -> None:
        self._series = {f"storage.{name}": value for name, value in series.items()}

    def sample(self) -> dict[str, float]:
        return self._series


def test_of_two_probes_the_lower_layer_s_counts_and_what_the_run_tells_before_both(tmp_path: Path) -> None:
    mount, card = Fixed(utilisation_pct=3.0, queue_depth=2.0, lag=1.0), Fixed(utilisation_pct=75.0, lag=1.0)
    with Journal(tmp_path / "journal.jsonl", "IOPS", durable=False) as journal:
        journal.probes = [mount, card]
        told = {**interval(0.0, 1.0), "storage": {"lag": 9.0}}
        metrics = journal.interval(told, 0.0, "measure")  # type: ignore[arg-type]
    stored = {name: value for name, value in metrics.items() if name.startswith("storage.")}
    assert stored == {"storage.utilisation_pct": 75.0, "storage.queue_depth": 2.0, "storage.lag": 9.0}


def test_counters_are_summed_over_the_measured_phase(tmp_path: Path) -> None:
    for _ in range(2):
        journal = append(tmp_path / "journal.jsonl", "tps")
    assert journal.tally.counters == {"deadlocks": 4}


def test_the_lines_of_a_run(lab: Lab) -> None:
    run = lab.start(lab.write({"duration_s": 0.6}))
    run.until_recorded(3)
    for line in journal_lines(run.out / "cells/0000")[:3]:
        assert {"time_s", "start_s", "phase", "metrics", "histograms", "totals", "cpu_s"} <= set(line)
        assert line["phase"] == "measure"
        assert all("." in name for name in line["metrics"])
        json.dumps(line, allow_nan=False)
    assert run.wait().code == 0
    assert not (run.out / "cells").exists(), "sealed into one file"


def test_what_a_modelled_device_did_has_its_own_time_and_no_clock(tmp_path: Path) -> None:
    told = interval(0.0, 1.0) | {
        "cpu_s": None,
        "storage": {"queue_depth": 3.0},
        "incidents": [(0.25, "member 2 failed")],
    }
    with Journal(tmp_path / "journal.jsonl", "IOPS", durable=False) as journal:
        metrics = journal.interval(told, 10.0, "measure")  # type: ignore[arg-type]
        journal.event("round", "1 of 5")
    assert metrics["storage.queue_depth"] == 3.0
    assert [(event.time_s, event.kind) for event in journal.events] == [(10.25, "incident"), (11.0, "round")]
    assert journal.tally.cpu_us_per_op is None


def test_a_short_cells_series_are_still_there(tmp_path: Path) -> None:
    journal = append(tmp_path / "journal.jsonl")
    kept = journal.series()
    assert kept is not None
    assert kept["workload.ops_per_s"].value.tolist() == [10.0]
    for _ in range(LINES_KEPT):
        journal._account({"time_s": 1.0, "phase": "warmup", "metrics": {}})
    assert journal.series() is None


def test_what_is_kept_of_a_figure(tmp_path: Path) -> None:
    """Seven digits of a value, microseconds of a time. The tally is of the measured phase, and of errors after it."""
    told = interval(0.0, 1.0000004)
    told["metrics"] = {"ops_per_s": 1234567.4, "latency_p99_us": 0.012345678}
    told["totals"] = {"read": (10, 40960, 1)}
    with Journal(tmp_path / "journal.jsonl", "IOPS") as journal:
        for phase in ("warmup", "measure", "drain"):
            journal.interval(told, 5.0, phase)  # type: ignore[arg-type]
    lines = journal_lines(tmp_path)
    assert {line["time_s"] for line in lines} == {6.0} and {line["start_s"] for line in lines} == {5.0}
    assert lines[0]["metrics"]["workload.ops_per_s"] == 1234567.0
    assert lines[0]["metrics"]["workload.latency_p99_us"] == 0.01234568
    assert (journal.tally.operations, journal.tally.errors) == (10, 2)
    assert [phase.name for phase in journal.phases] == ["warmup", "measure", "drain"]
