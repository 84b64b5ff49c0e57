"""Intervals and totals of one run that do not agree, and lines of a run that are damaged: each is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_files, read_folder
from flatwater.results.importers.imported import ImportedCell

sys.path.insert(0, str(Path(__file__).parent))
from sampled import HAMMERDB, hammerdb_counter, sysbench

TOTALS = "    transactions:                        {count}  ({rate:.2f} per sec.)\n"


def tpcc(n: int, tpmc: float, form: str = "new") -> str:
    line = "{0:4}, trx: 1000, 95%: 9.9, 99%: 11.1, max_rt: 12.2, 1000|9.8, 5|1.2, 5|13.3, 5|2.5"
    if form == "old":
        line = "{0:4}, 1000(0):0.4|0.6, 1000(0):0.2|0.3, 100(0):0.1|0.1, 100(0):0.5|0.6, 100(0):1.0|1.2"
    head = ["*** ###easy### TPC-C Load Generator ***", f"    [measure]: {10 * n} (sec.)", "MEASURING START.", ""]
    rows = [line.format(10 * number) for number in range(1, n + 1)]
    return "\n".join([*head, *rows, "", "STOPPING THREADS....", "<TpmC>", f"                 {tpmc:.3f} TpmC", ""])


def differs(cell: ImportedCell) -> list[str]:
    return [one for one in cell.warnings if "its totals say" in one]


def folder(place: Path, **files: str) -> ImportedCell:
    for name, text in files.items():
        (place / f"{name}.txt").write_text(text)
    (cell,) = read_folder([place], FORMATS, Options()).cells
    return cell


@pytest.mark.parametrize(
    ("rate", "told"), [(50.0, False), (49.5, False), (47.5, False), (46.0, True), (500.0, True), (5.0, True)]
)
def test_of_sysbench(tmp_path: Path, rate: float, told: bool) -> None:
    cell = folder(tmp_path, run=sysbench(60) + TOTALS.format(count=int(rate * 60), rate=rate))
    assert bool(differs(cell)) == told
    if told:
        assert "50 tps" in differs(cell)[0] and f"{rate:g}:" in differs(cell)[0]


def test_of_tpcc(tmp_path: Path) -> None:
    assert not differs(folder(tmp_path, run=tpcc(30, 6000.0)))
    assert "6,000 NOTPM on average, and its totals say 600:" in differs(folder(tmp_path, run=tpcc(30, 600.0)))[0]


def test_of_hammerdb_and_its_counter(tmp_path: Path) -> None:
    run = HAMMERDB.replace("from 6900", "from 3000")
    assert not differs(folder(tmp_path, run=run, hdbtcount=hammerdb_counter(180)))
    assert differs(folder(tmp_path, run=HAMMERDB, hdbtcount=hammerdb_counter(180)))


@pytest.mark.parametrize("form", ["new", "old"])
@pytest.mark.parametrize(
    ("old", "new"),
    [("{at}, ", "6O, "), ("{at}, ", "{at} "), ("{at}, ", ""), (": 1000", ": 1O00"), ("1000(", "1O00("), ("trx", "tr#")],
)
def test_a_damaged_interval_halves_none(tmp_path: Path, form: str, old: str, new: str) -> None:
    lines = tpcc(30, 6000.0, form).splitlines()
    whole = lines[12]
    lines[12] = whole.replace(old.format(at=90), new.format(at=90), 1)
    cell = folder(tmp_path, run="\n".join(lines))
    assert {one.metrics["workload.throughput"] for one in cell.intervals} == {6000.0}
    if lines[12] != whole:
        assert cell.unread == ["1 line that cannot be read left out, first line 13"]


def test_an_interval_that_is_not_there(tmp_path: Path) -> None:
    lines = tpcc(30, 6000.0).splitlines()
    del lines[12]
    cell = folder(tmp_path, run="\n".join(lines))
    assert {one.metrics["workload.throughput"] for one in cell.intervals} == {6000.0}
    assert [one for one in cell.warnings if one.startswith("run.txt:13: ")]


def test_latencies_of_the_whole_run_have_units_in_old_versions(tmp_path: Path) -> None:
    for text in ("         max:                                 412.40ms\n", "         max:      412.40\n"):
        (tmp_path / "x.txt").write_text(sysbench(20) + text)
        (cell,) = read_files([tmp_path / "x.txt"])
        assert cell.latency_us is not None and cell.latency_us.max == 412400
