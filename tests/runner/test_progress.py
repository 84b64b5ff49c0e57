"""What a run says of itself, on a terminal and elsewhere."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess

import pytest
from lab import FLATWATER, Lab
from rich.console import Console

from flatwater.runner import progress
from flatwater.runner.progress import (
    LiveReporter,
    PlainReporter,
    SilentReporter,
    SweepProgress,
    latency_text,
    sparkline,
    start_reporter,
)


def test_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    said = io.StringIO()
    reporter = PlainReporter(said)
    reporter.cell(1, 2, "threads 8")
    reporter.phase("measure", 60.0)
    for second in range(1, 31):
        now = 1000.0 + second
        reporter.interval(float(second), 1234.5 * second, "IOPS", 1500.0)
    assert said.getvalue().splitlines() == [
        "cell 1 of 2: threads 8",
        "  measure, 1 min",
        "  measure 10 s: 12,345 IOPS, p95 1.50 ms, 50 s left",
        "  measure 20 s: 24,690 IOPS, p95 1.50 ms, 40 s left",
        "  measure 30 s: 37,035 IOPS, p95 1.50 ms, 30 s left",
    ]


def test_bytes_of_a_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    said = io.StringIO()
    reporter = PlainReporter(said)
    reporter.phase("prepare", None)
    now = 11.0
    reporter.written(3 * 2**20, 12 * 2**20)
    assert said.getvalue().splitlines() == ["  prepare", "  prepare 3 MiB of 12 MiB"]


def test_rows_of_a_load_with_their_rate_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate is that of this run: what an earlier one had loaded is no achievement of it."""
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    said = io.StringIO()
    reporter = PlainReporter(said)
    reporter.phase("load rows", None)
    for second in range(12):
        now = float(second)
        reporter.loaded(50_000 + 100_000 * second, 3_050_000)
    assert said.getvalue().splitlines() == [
        "  load rows",
        "  load rows: 1,050,000 of 3,050,000 rows, 100,000/s, 20 s left",
    ]


def test_a_sweep_in_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    said = io.StringIO()
    reporter = PlainReporter(said)
    for second in range(25):
        now = 1000.0 + second
        left_s = None if second < 15 else 100.0 - second
        lines = ("threads 8: measure 3 s",) if second > 15 else ()
        reporter.sweep(SweepProgress(100 * second, 2, second // 20, 10_000, left_s, lines))
    assert said.getvalue().splitlines() == [
        "1,000 of 10,000 cells done, 2 running",
        "2,000 of 10,000 cells done, 2 running, 1 failed, 1 min left",
        "  threads 8: measure 3 s",
    ]


def test_a_sweep_that_is_over_has_nothing_left() -> None:
    assert SweepProgress(2, 0, 1, 2, 0.4).text() == "2 of 2 cells done, 1 failed"
    text = SweepProgress(1, 2, 0, 3, 0.00388, shares=(0.121, 0.8)).text()
    assert text == "1 of 3 cells done, 2 running (80 %, 12 %), less than 1 s left"


def test_what_is_left_of_virtual_time_is_told_in_seconds_of_this_world(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    said = io.StringIO()
    reporter = PlainReporter(said)
    reporter.cell(1, 1, "x", virtual=True)
    reporter.phase("measure", 3600.0)
    # It becomes slower: what was told before does not grow.
    for seconds, at_s in ((11.0, 1100.0), (22.0, 1200.0), (33.0, 3300.0)):
        now = seconds
        reporter.interval(at_s, 5.0, "IOPS", None)
    assert [line.rpartition(", ")[2] for line in said.getvalue().splitlines()[1:]] == [
        *("1 h of virtual time", "25 s left", "25 s left", "3 s left")
    ]


def test_a_sweep_is_not_told_beside_the_lines_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    said = io.StringIO()
    reporter = PlainReporter(said)
    for second in range(0, 60, 5):
        now = 1000.0 + second
        reporter.cell(second, 60, "x")
        reporter.sweep(SweepProgress(second, 1, 0, 60))
    assert all(line.startswith("cell ") for line in said.getvalue().splitlines())


def test_a_live_view_of_a_sweep_on_other_machines() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    reporter = LiveReporter(console)
    reporter.sweep(SweepProgress(3, 12, 1, 40, 90.0, tuple(f"threads {number}: measure" for number in range(12))))
    with console.capture() as shown:
        console.print(reporter._render())
    reporter.close()
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.get())
    assert "3 of 40 cells done, 12 running, 1 failed, 2 min left" in text
    assert "threads 7: measure" in text and "threads 8: measure" not in text and "and 4 more" in text


def test_a_silent_one_takes_everything_that_the_others_do() -> None:
    spoken = {name for name in vars(PlainReporter) if not name.startswith("_")}
    assert spoken == {name for name in vars(SilentReporter) if not name.startswith("_")}


def test_a_live_view_shows_where_it_is() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    reporter = LiveReporter(console)
    reporter.cell(1, 3, "threads 8")
    reporter.phase("measure", 60.0)
    for second in range(1, 21):
        reporter.interval(float(second), 100.0 * second, "IOPS", 2500.0)
    with console.capture() as shown:
        console.print(reporter._render())
    reporter.close()
    text = shown.get()
    for part in ("cell 1 of 3: threads 8", "measure", "2,000 IOPS", "p95 2.50 ms", "40 s left", "█"):
        assert part in text


def _rendered(reporter: LiveReporter, console: Console) -> str:
    lines = console.render_lines(reporter._render(), pad=False)
    return "\n".join("".join(segment.text for segment in line) for line in lines)


def test_a_sweep_and_its_cell_have_lines_of_their_own() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    reporter = LiveReporter(console)
    reporter.sweep(SweepProgress(1, 1, 0, 3))
    reporter.cell(2, 3, "threads 8")
    reporter.close()
    lines = [line.strip() for line in _rendered(reporter, console).splitlines()]
    assert lines[0] == "1 of 3 cells done, 1 running" and lines[2] == "cell 2 of 3: threads 8"


@pytest.mark.parametrize(
    ("width", "height", "charts", "drawn"),
    [(100, 40, True, True), (100, 8, True, False), (39, 40, True, False), (100, 40, False, False)],
)
def test_charts_where_they_fit_and_are_wanted(width: int, height: int, charts: bool, drawn: bool) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=height)
    reporter = LiveReporter(console, charts=charts)
    reporter.cell(1, 1, "x", virtual=True)
    reporter.phase("measure", 60.0)
    for second in range(1, 4):
        reporter.interval(float(second), 100.0 * second, "IOPS", 2500.0)
        reporter.sampled(float(second), {"workload.throughput": 100.0 * second, "workload.latency_p99_us": 9.0})
    text = _rendered(reporter, console)
    assert ("throughput 300 IOPS" in text and "p99 latency 9 µs" in text and "in virtual time" in text) == drawn
    assert ("▃▆█" in text) != drawn  # the small line of throughput, as ever
    assert len(text.splitlines()) < height
    # The next cell begins with no line of this one.
    reporter.cell(2, 2, "y")
    assert "throughput 300" not in _rendered(reporter, console)
    reporter.close()


def test_only_a_terminal_gets_the_live_view(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(start_reporter(io.StringIO()), PlainReporter)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    live = start_reporter(terminal)
    live.close()
    assert isinstance(live, LiveReporter)
    monkeypatch.setenv("TERM", "dumb")  # it cannot go back to a line
    assert isinstance(start_reporter(terminal), PlainReporter)


def test_on_a_terminal_the_program_draws_and_leaves_its_lines(lab: Lab) -> None:
    file = lab.write({"mode": "rndrd", "duration_s": 1})
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [FLATWATER, "run", file, "--out", lab.folder / "out"], stdout=subprocess.PIPE, stderr=theirs, text=True
    ) as run:
        os.close(theirs)
        drawn = b""
        while True:
            try:
                some = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not some:
                break
            drawn += some
        assert run.stdout is not None
        assert run.stdout.read().startswith("result: ")
    os.close(ours)
    assert run.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn.decode())
    assert "cell 1 of 1" in text and "IOPS" in text and "p95" in text and "[1/1]" in text


def test_values_in_the_unit_that_suits() -> None:
    assert [latency_text(value) for value in (None, 12.3, 1234.0, 2.5e6)] == ["-", "12 us", "1.23 ms", "2.5 s"]
    assert sparkline([0.0, 1.0, 2.0]) == "▁▄█"
    assert sparkline([]) == ""
    assert sparkline([0.0, 0.0]) == "▁▁"
