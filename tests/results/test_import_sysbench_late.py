"""Logs of sysbench that are healthy, and not one report a second of one run: late reports, sweeps, checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import read_files
from flatwater.results.importers.imported import ImportedCell

HEAD = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n"
RUNNING = (
    HEAD + "Running the test with following options:\nNumber of threads: 1\n"
    "Report intermediate results every 1 second(s)\n\nThreads started!\n\n"
)
PREPARE = HEAD + "Creating table 'sbtest1'...\nInserting 1000000 records into 'sbtest1'\n"
CLEANUP = HEAD + "Dropping table 'sbtest1'...\n"
FAILED = HEAD + "FATAL: unable to connect to MySQL server on host '127.0.0.1', port 3306, aborting...\n"


def report(at_s: int, rate: float) -> str:
    return f"[ {at_s}s ] thds: 1 eps: {rate:.2f} lat (ms,95%): 0.25\n"


def totals(rate: float, length_s: float, events: int, worst_ms: float = 1.5) -> str:
    return (
        f"CPU speed:\n    events per second:    {rate}\n\nGeneral statistics:\n    total time:    {length_s:.4f}s\n"
        f"    total number of events:    {events}\n\nLatency (ms):\n         avg:    0.22\n"
        f"         max:    {worst_ms}\n         95th percentile:    0.27\n\n"
    )


def steady(first: int, last: int, rate: float = 50.0) -> str:
    return "".join(report(at_s, rate) for at_s in range(first, last + 1))


def cells_of(place: Path, text: str, name: str = "r.txt") -> list[ImportedCell]:
    (place / name).write_text(text)
    return read_files([place / name])


def told(cell: ImportedCell, what: str) -> list[str]:
    return [one for one in cell.warnings if what in one]


def test_two_reports_of_one_second_come_of_a_late_one(tmp_path: Path) -> None:
    text = RUNNING + steady(1, 19) + report(21, 15.33) + report(21, 138.15) + steady(22, 40) + totals(50, 40.0, 2000)
    (cell,) = cells_of(tmp_path, text)
    late = [(one.start_s, one.end_s, one.metrics["workload.throughput"]) for one in cell.intervals if one.line == 28]
    assert late == [(19, 20, 15.33), (20, 21, 15.33)]
    assert len(cell.intervals) == 40
    (note,) = told(cell, "a second report")
    assert note.startswith("r.txt:29: a second report of 138.2 tps at 21 s is left out")


def test_two_lines_of_csv_of_one_second(tmp_path: Path) -> None:
    line = "{0},64,1000.00,20000.00,14000.00,4000.00,2000.00,24.83,0.00,0.00\n"
    text = "".join(line.format(at_s) for at_s in [*range(1, 20), 21, *range(21, 40)])
    (cell,) = cells_of(tmp_path, text, "r.csv")
    assert [one.start_s for one in cell.intervals if one.line == 20] == [19, 20]
    assert told(cell, "r.csv:21: a second report")


def test_two_programs_in_one_file_are_no_late_reports(tmp_path: Path) -> None:
    text = RUNNING + "".join(report(at_s, 50) * 2 for at_s in range(1, 20))
    with pytest.raises(UserError, match=r"r.txt:10: 19 reports have the time of the report before"):
        cells_of(tmp_path, text)


def test_a_stall_is_one_long_report(tmp_path: Path) -> None:
    text = RUNNING + steady(1, 19) + report(49, 5) + steady(50, 60) + totals(27.5, 60.0, 1650)
    (cell,) = cells_of(tmp_path, text)
    (note,) = told(cell, "a reading of 30 s")
    assert note.startswith("r.txt:28: ") and "its mean of 5 tps stands for all of that time" in note
    assert sum(one.metrics["workload.throughput"] for one in cell.intervals) / 60 == pytest.approx(27.5)
    assert not told(cell, "its totals say"), "with the stall, they agree"


def test_the_reading_that_catches_up_excuses_no_difference(tmp_path: Path) -> None:
    text = RUNNING + steady(1, 19) + report(28, 2.37) + report(29, 642) + steady(30, 40) + totals(40.0, 40.0, 1600)
    (cell,) = cells_of(tmp_path, text)
    (note,) = told(cell, "its totals say 40:")
    assert "late reports are of other times than they tell" in note


def test_a_report_behind_a_line_that_is_left_out_is_cut(tmp_path: Path) -> None:
    text = RUNNING + steady(1, 9) + "[ 10s ] thds: 1 ep\n" + report(11, 20) + report(14, 30) + steady(15, 40)
    (cell,) = cells_of(tmp_path, text)
    starts = {one.end_s: one.start_s for one in cell.intervals}
    assert starts[11] == 10
    assert [one.end_s for one in cell.intervals if one.line == 20] == [12, 13, 14], "it is late, and stands for 3 s"
    assert told(cell, "r.txt:20: a reading of 3 s")


def test_the_time_after_the_last_report(tmp_path: Path) -> None:
    text = RUNNING + steady(1, 60, 1000) + totals(800.0, 75.0, 60_000)
    (cell,) = cells_of(tmp_path, text)
    (note,) = told(cell, "its totals say 800:")
    assert "1,000 tps on average" in note and "60 s of 75 s" in note


def test_prepare_and_cleanup_are_no_runs(tmp_path: Path) -> None:
    run = RUNNING + steady(1, 20) + totals(50, 20.0, 1000)
    (cell,) = cells_of(tmp_path, PREPARE + run + CLEANUP)
    assert (cell.label, cell.warnings) == ("r", [])
    cells = cells_of(tmp_path, (PREPARE + run + CLEANUP) * 3)
    assert [one.label for one in cells] == ["r 1", "r 2", "r 3"]


def test_a_run_that_failed_among_others(tmp_path: Path) -> None:
    run = RUNNING + steady(1, 20) + totals(50, 20.0, 1000)
    first, second = cells_of(tmp_path, run + FAILED + run)
    assert (first.label, second.label) == ("r 1", "r 3")
    line = run.count("\n") + 3
    (note,) = told(first, "is left out")
    assert note.startswith(
        f"r.txt:{line}: the run of sysbench from line {line - 2} is left out: sysbench measured noth"
    )
    assert first.unread == [note] and not second.warnings


def test_prepare_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="measured nothing"):
        cells_of(tmp_path, PREPARE)


def test_totals_of_checkpoints_are_added_up(tmp_path: Path) -> None:
    text = RUNNING + steady(1, 9, 1000) + "[ 10s ] Checkpoint report:\n" + report(10, 1000)
    text += totals(1000.0, 10.0, 10_000, 9.5) + steady(11, 30, 400)
    (cell,) = cells_of(tmp_path, text)
    assert "total_time_s" not in cell.totals, "those of the run are missing"
    assert told(cell, "the totals at the end are missing")
    (cell,) = cells_of(tmp_path, text + totals(400.0, 30.0, 8000, 2.5))
    assert not cell.unread and not told(cell, "its totals say")
    assert cell.totals["total_time_s"] == 30 and cell.totals["events"] == 18_000
    assert cell.totals["events_per_s"] == pytest.approx(600)
    assert cell.latency_us is not None and (cell.latency_us.max, cell.latency_us.p95) == (9500, None)
    assert told(cell, "of 2 parts (--report-checkpoints)")
