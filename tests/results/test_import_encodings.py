"""Files as PowerShell, Excel and a broken disk leave them: byte order marks, and damage where a file begins."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, ImportedCell, Options, read_files, read_folder

sys.path.insert(0, str(Path(__file__).parent))
from sampled import FORMS, SAMPLES, sysbench, sysbench_csv
from test_import_spans import RUNS

N = 20
ENCODINGS = {
    "UTF-8": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16, big end first": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-32": lambda text: codecs.BOM_UTF32_LE + text.encode("utf-32-le"),
}


def read(place: Path, **files: bytes) -> list[ImportedCell]:
    place.mkdir()
    for name, content in files.items():
        (place / name.replace("__", ".")).write_bytes(content)
    return read_folder([place], FORMATS, Options()).cells


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", [*SAMPLES, *FORMS, *RUNS])
def test_a_mark_says_how_it_is_written(tmp_path: Path, form: str, encoding: str) -> None:
    if form in RUNS:
        _, name, make, _ = RUNS[form]
        files = {name.replace(".", "__"): make(N)}
    else:
        files = {"run__txt": sysbench(N), "sampled__txt": (SAMPLES | FORMS)[form](N)}
    plain = read(tmp_path / "x", **{name: text.encode() for name, text in files.items()})
    (tmp_path / "x").rename(tmp_path / "plain")
    assert read(tmp_path / "x", **{name: ENCODINGS[encoding](text) for name, text in files.items()}) == plain


def test_a_fio_log_with_a_mark_may_be_torn(tmp_path: Path) -> None:
    (tmp_path / "x_iops.1.log").write_bytes("1000, 100, 0, 0\n2000, 100, 0, 0\n3000, 1".encode("utf-16"))
    (cell,) = read_files([tmp_path / "x_iops.1.log"])
    assert len(cell.intervals) == 2 and "1 line that cannot be read left out, first line 3" in cell.unread[0]


class TestSysbenchCsv:
    @pytest.mark.parametrize("bad", ["nan", "inf", "-1", "1e308", "9" * 400, ""])
    @pytest.mark.parametrize("line", [0, 9, N - 1])
    def test_a_bad_line_is_left_out_wherever_it_is(self, tmp_path: Path, bad: str, line: int) -> None:
        lines = sysbench_csv(N).splitlines()
        lines[line] = lines[line].replace("50.00", bad)
        (tmp_path / "x").write_text("\n".join(lines) + "\n")
        (cell,) = read_files([tmp_path / "x"])
        assert len(cell.intervals) == N - 1
        assert cell.unread == [f"1 line that cannot be read left out, first line {line + 1}"]

    @pytest.mark.parametrize("head", ["", "time,threads,tps,qps,reads,writes,other,lat,errors,reconnects\n"])
    def test_one_line(self, tmp_path: Path, head: str) -> None:
        (tmp_path / "x").write_text(head + sysbench_csv(1))
        (cell,) = read_files([tmp_path / "x"])
        assert [one.metrics["workload.throughput"] for one in cell.intervals] == [50.0] and not cell.unread


def test_a_report_whose_time_is_no_number_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(sysbench(N).replace("[ 7s ]", "[ \u00b2s ]"))
    (cell,) = read_files([tmp_path / "x"])
    assert len(cell.intervals) == N - 1 and cell.unread == ["1 line that cannot be read left out, first line 13"]


def test_decimal_commas_of_sysbench(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(sysbench(N).replace("tps: 50.00", "tps: 50,75").replace("12.00", "12,25"))
    (cell,) = read_files([tmp_path / "x"])
    assert {one.metrics["workload.throughput"] for one in cell.intervals} == {50.75}
    assert {one.metrics["workload.latency_p95_us"] for one in cell.intervals} == {12250.0}
    assert "decimal commas are read as points" in cell.warnings
