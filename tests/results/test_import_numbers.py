"""Numbers as C and Python write them, and values that cannot be read."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_files, read_folder
from flatwater.results.importers.figures import number_of
from flatwater.results.importers.samplers import SAMPLERS, Recording

sys.path.insert(0, str(Path(__file__).parent))
from sampled import EPOCH, at, counters, dstat_csv, hammerdb_counter, mysqladmin, nopm_samples, sysbench


def read(folder: Path, text: str) -> Recording:
    path = folder / "x.txt"
    path.write_text(text)
    return next(one for one in SAMPLERS if one.recognises(path, text)).read(path)


@pytest.mark.parametrize("value", [0.1, 800 + 1 / 7, 1e-05, 1.6384e06, 1e16, 123456789.987654321, -3.0])
@pytest.mark.parametrize("form", ["{!r}", "{:.6e}", "{:.12f}", "{:.20f}"])
def test_a_float_is_read(value: float, form: str) -> None:
    assert number_of(form.format(value)) == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    "text", ["nan", "inf", "1e999", "1e21", "18446744073709551615", "9" * 400, "", "1.2.3", "0x10"]
)
def test_what_is_no_figure(text: str) -> None:
    assert number_of(text) is None


def test_counters_with_many_decimals(tmp_path: Path) -> None:
    rows = [f"{EPOCH + i}.5,{800 + i / 7},{'nan' if i == 4 else 3}" for i in range(30)]
    recording = read(tmp_path, "\n".join(["timestamp,tps,threads_running", *rows]))
    assert sum("workload.throughput" in sample.metrics for sample in recording.samples) == 29
    assert "1 value that cannot be read left out, first line 6" in recording.notes


def test_dstat_with_exponents(tmp_path: Path) -> None:
    text = dstat_csv(20).replace("1638400.0", "1.6384e+06").replace(",10.0,", ",10.000000000000,")
    recording = read(tmp_path, text)
    assert {one.metrics["storage.read_bytes_per_s"] for one in recording.devices["sda"]} == {1638400.0}
    assert {one.metrics["machine.cpu_user_pct"] for one in recording.samples} == {10.0}
    damaged = read(tmp_path, text.replace("1.6384e+06", "many", 5))
    assert "4 values that cannot be read left out, first line 8" in damaged.notes


def test_samples_of_nopm(tmp_path: Path) -> None:
    recording = read(
        tmp_path, nopm_samples(20).replace(",3000", ",3000.5") + f"NOPM_SAMPLE {EPOCH + 50} none {at(0)}\n"
    )
    assert {sample.metrics["workload.throughput"] for sample in recording.samples} == {3000.5}
    assert any("1 value that cannot be read" in note for note in recording.notes)


@pytest.mark.parametrize("text", ["1,234.56", "1.234,56", "1234,56", "1234.56"])
def test_thousands_that_are_apart(text: str) -> None:
    assert number_of(text) == 1234.56


@pytest.mark.parametrize("figure", ["10O.00", "12 34.50", "1.2.3", "12-34.50", "1,23.00", "12;00", "l2.00", "1e2.00x"])
@pytest.mark.parametrize("whole", ["tps: 50.00", "thds: 4", "qps: 1000.00", "95%): 12.00"])
def test_a_damaged_figure_is_none(tmp_path: Path, figure: str, whole: str) -> None:
    """Its first digits are no figure: the line is left out, and told."""
    lines = sysbench(30).splitlines()
    lines[10] = lines[10].replace(whole, f"{whole.partition(': ')[0]}: {figure}")
    path = tmp_path / "x.txt"
    path.write_text("\n".join(lines))
    (cell,) = read_files([path])
    if (figure, whole) == ("l2.00", "qps: 1000.00"):
        # Without queries the line is whole, and none are made up.
        assert sum("workload.queries_per_s" in one.metrics for one in cell.intervals) == 29
    else:
        assert cell.unread == ["1 line that cannot be read left out, first line 11"]
    assert {one.metrics["workload.throughput"] for one in cell.intervals} == {50.0}


def test_thousands_of_sysbench(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for apart, value in (("1,234.50", 1234.5), ("1.234,50", 1234.5), ("1,234", 1234.0), ("0,125", 0.125)):
        path.write_text(sysbench(20).replace("tps: 50.00", f"tps: {apart}"))
        (cell,) = read_files([path])
        assert {one.metrics["workload.throughput"] for one in cell.intervals} == {value}
        assert cell.warnings != []


def with_thousands(text: str, counted: str) -> str:
    return re.sub(counted, lambda match: match[0].replace(match[1], f"{int(match[1]):,}"), text)


@pytest.mark.parametrize(
    ("text", "counted", "quoted"),
    [
        (mysqladmin(30), r"\| (\d+) \|", False),
        (hammerdb_counter(30), r"(?m)^(\d+) MySQL", False),
        (nopm_samples(30).replace(",3000", " 3000"), r"(?m) (3000)$", False),
        (counters(90).replace(",0,", ",1,"), r"(?<=,)(\d{4,})(?=,)", True),
    ],
    ids=["mysqladmin", "hammerdb-counter", "nopm", "counters"],
)
def test_thousands_of_counts(tmp_path: Path, text: str, counted: str, quoted: bool) -> None:
    apart = with_thousands(text, counted)
    if quoted:
        apart = re.sub(r"(?<=:\d\d),(\d{4,}),", lambda match: f',"{int(match[1]):,}",', text)
    assert apart != text
    whole, found = read(tmp_path, text), read(tmp_path, apart)
    assert found.samples == whole.samples
    assert any("thousands" in note for note in found.notes)


def test_a_comma_that_may_divide_two_figures_is_told(tmp_path: Path) -> None:
    text = nopm_samples(30).replace(",3000", ",3000,6900")
    assert {one.metrics["workload.throughput"] for one in read(tmp_path, text).samples} == {3000.0}
    found = read(tmp_path, text.replace("3000,6900", "12,345", 1))
    assert {one.metrics["workload.throughput"] for one in found.samples} == {3000.0}
    assert any("1 value that cannot be read" in note for note in found.notes)


def test_a_gauge_is_not_known_behind_a_difference_that_is_missing(tmp_path: Path) -> None:
    """With `mysqladmin -r`, gauges are differences, too: their sum was one of the differences behind the damage."""
    first, *tables = mysqladmin(20, relative=True).split("| Innodb_buffer_pool_pages_dirty |")
    tables[5] = tables[5].replace(" 0 |", " 0x0 |", 1)
    found = read(tmp_path, "| Innodb_buffer_pool_pages_dirty |".join([first, *tables]))
    assert [one.metrics.get("database.dirty_pages") for one in found.samples] == [30.0] * 4 + [None] * 16
    assert {one.metrics["workload.throughput"] for one in found.samples} == {50.0}


class TestWithoutUptime:
    """A filter took it away (`mysqladmin ext -i 10 | grep`): nothing tells how far apart readings are."""

    @pytest.mark.parametrize("relative", [False, True])
    @pytest.mark.parametrize("is_beside", [False, True])
    def test_what_was_counted_in_an_interval_is_divided_by_its_seconds(
        self, tmp_path: Path, is_beside: bool, relative: bool
    ) -> None:
        rows = mysqladmin(20, 10, relative=relative).splitlines()
        (tmp_path / "m.txt").write_text("\n".join(row for row in rows if "Uptime" not in row) + "\n")
        if is_beside:
            (tmp_path / "run.txt").write_text(sysbench(200))
        (cell,) = read_folder([tmp_path], FORMATS, Options(every_s=10.0)).cells
        sampled = cell.others if is_beside else cell.intervals
        assert {one.metrics["database.pages_flushed_per_s"] for one in sampled} == {70.0}
        assert {one.metrics["database.dirty_pages"] for one in sampled} == {30.0}
        assert sampled[-1].end_s == 200.0
        assert {one.metrics["workload.throughput"] for one in cell.intervals} == {50.0}
