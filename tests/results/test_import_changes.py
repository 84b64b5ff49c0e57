"""What changes in the middle of a file is told with its line: settings, the length of readings, a clock, a server."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_folder
from flatwater.results.importers.imported import ImportedCell, Interval
from flatwater.results.importers.settling import settle

sys.path.insert(0, str(Path(__file__).parent))
from sampled import FORMS, SAMPLES, counters, sysbench

N = 60


def read(place: Path, **files: str) -> ImportedCell:
    for name, text in files.items():
        (place / f"{name}.txt").write_text(text)
    (cell,) = read_folder([place], FORMATS, Options()).cells
    return cell


def told(cell: ImportedCell, words: str) -> list[str]:
    return [one for one in cell.warnings if words in one]


def test_threads_that_change(tmp_path: Path) -> None:
    assert not told(read(tmp_path, run=sysbench(N)), "threads")
    lines = sysbench(N).replace("thds: 4", "thds: 8").splitlines()
    changed = [line.replace("thds: 8", "thds: 4") if number < 30 else line for number, line in enumerate(lines)]
    (found,) = told(read(tmp_path, run="\n".join(changed)), "threads")
    assert found.startswith("run.txt:31: 4 threads until here, and 8 from here on")


def test_a_head_that_is_missing(tmp_path: Path) -> None:
    assert not told(read(tmp_path, run=sysbench(N)), "the head")
    lines = [line for line in sysbench(N).splitlines() if line.startswith("[")]
    assert told(read(tmp_path, run="\n".join(lines)), "the head of its output is missing: its settings are")
    cut = read(tmp_path, run="\n".join(lines[20:]))
    assert told(cut, "its settings and the 20 s before its first report are not known")


@pytest.mark.parametrize("unit", ["tps", "IOPS", "NOTPM", "qps"])
def test_readings_of_two_lengths(unit: str) -> None:
    """Whatever the format: the mean counts each alike."""
    for rate, is_told in ((500.0, True), (100.0, False)):
        ends = [*range(10, 130, 10), *range(121, 131)]
        intervals = [
            Interval(before, end, {"workload.throughput": 100.0 if end <= 120 else rate}, line)
            for line, (before, end) in enumerate(zip([0, *ends], ends, strict=False), 8)
        ]
        cell = ImportedCell(label="x", unit=unit, intervals=intervals, interval_s=10.0)
        settle(cell, "x.txt")
        found = told(cell, "over their time")
        assert bool(found) == is_told
        assert not is_told or found[0].startswith("x.txt:20: a reading of 1 s behind those of 10 s: ")
        assert not is_told or f"281.8 {unit}; over their time, it is 130.8" in found[0]


def test_counters_that_go_back_without_an_uptime(tmp_path: Path) -> None:
    head, *rows = counters(2 * N).splitlines()
    again = [re.sub(r"^([^,]+),.*", rf"\1,{500 * n},0,{50 * n},0,5,1", row) for n, row in enumerate(rows[N:])]
    cell = read(tmp_path, c="\n".join([head, *rows[:N], *again]))
    assert told(cell, f"counters went back in line {N + 2} (a restart, or FLUSH STATUS)")
    assert {one.metrics["workload.throughput"] for one in cell.intervals} == {50.0}
    assert not told(read(tmp_path, c=counters(2 * N)), "went back")


LOCAL = {"vmstat -t": "vmstat", "iostat -t": "iostat", "mpstat": "mpstat", "counters": "counters"}


@pytest.mark.parametrize("form", LOCAL)
def test_a_clock_that_is_set_forward_is_told(tmp_path: Path, form: str) -> None:
    """Its times are half an hour before midnight and behind it: those of the next day are put an hour later."""
    text = (SAMPLES | FORMS)[form](2 * N).replace("st UTC\n", "st CET\n")
    later = re.sub(r"(?<![\d:])(00|12):(\d\d:\d\d)(?= AM|\D)", lambda one: f"{'01' if one[1] else ''}:{one[2]}", text)
    run = sysbench(7200)
    found = {}
    for name, content in (("whole", text), ("later", later)):
        place = tmp_path / name
        place.mkdir()
        found[name] = told(read(place, run=run, beside=content), "goes forward by an hour")
    assert not found["whole"]
    assert len(found["later"]) == 1
    line = int(found["later"][0].split("line ")[1].partition(":")[0])
    assert "01:00:0" in "".join(later.splitlines()[line - 2 : line])
