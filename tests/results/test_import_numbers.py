"""Numbers as C and Python write them, and values that cannot be read."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

from flatwater.errors import UserError
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
        line = "database.transactions_per_s" if is_beside else "workload.throughput"
        assert {one.metrics[line] for one in sampled} == {50.0}
        assert sampled[-1].end_s == 200.0
        assert {one.metrics["workload.throughput"] for one in cell.intervals} == {50.0}
        assert cell.hidden == ([] if is_beside else ["m.txt: its lines have no times"])

    @pytest.mark.parametrize("is_beside", [False, True])
    def test_without_the_seconds_there_is_no_rate(self, tmp_path: Path, is_beside: bool) -> None:
        rows = mysqladmin(20, 10).splitlines()
        (tmp_path / "m.txt").write_text("\n".join(row for row in rows if "Uptime" not in row) + "\n")
        if not is_beside:
            with pytest.raises(UserError, match="its readings have no times, so its counts are no rates") as refused:
                read_folder([tmp_path], FORMATS, Options())
            assert "--every" in (refused.value.hint or "")
            return
        (tmp_path / "run.txt").write_text(sysbench(200))
        (cell,) = read_folder([tmp_path], FORMATS, Options()).cells
        named = {name for one in cell.others for name in one.metrics if name.startswith("database.")}
        assert not [name for name in named if "per_s" in name]
        assert {one.metrics["database.dirty_pages"] for one in cell.others} == {30.0}
        assert any("its counts are left out: without --every they are no rates" in text for text in cell.warnings)


def tables_of(readings: list[dict[str, int]]) -> str:
    """What mysqladmin prints of readings."""
    lines = []
    for one in readings:
        lines += ["| Variable_name | Value |", *(f"| {name} | {value} |" for name, value in sorted(one.items())), ""]
    return "\n".join(lines)


FEW = {"Aborted_clients": 0, "Com_commit": 500, "Questions": 9000}
MORE = {**FEW, "Innodb_pages_written": 3000, "Innodb_log_writes": 500, "Innodb_data_writes": 7000}


@pytest.mark.parametrize("again", [False, True], ids=["once", "appended"])
@pytest.mark.parametrize(
    ("first", "rates", "uptime_s"),
    [
        ({"Com_commit": 5_000_000, "Questions": 90_000_000}, FEW, None),
        ({"Com_commit": 900_000, "Questions": 20_000_000, "Innodb_pages_written": 9}, MORE, None),
        ({"Com_commit": 9, "Questions": 201, "Innodb_pages_written": 9}, MORE, None),
        ({"Com_commit": 9, "Questions": 201}, MORE, 5),
        ({"Com_commit": 9, "Questions": 201}, MORE, 10),
        ({"Com_commit": 5_000_000, "Questions": 90_000_000}, MORE, 3600),
    ],
    ids=["statements only", "much read before", "just started", "started 5 s ago", "started 10 s ago", "long running"],
)
def test_differences_of_a_server_however_long_it_ran(
    tmp_path: Path, first: dict[str, int], rates: dict[str, int], uptime_s: int | None, again: bool
) -> None:
    uptime = {} if uptime_s is None else {"Uptime": uptime_s}
    begin = {**dict.fromkeys(rates, 0), **first, **uptime}
    readings = [begin]
    for number in range(40):
        one = {name: rate * 10 + (-1) ** number * rate // 20 for name, rate in rates.items()}
        readings.append({**one, **({"Uptime": 10} if uptime else {})})
    if again:
        # The second recording begins an interval behind the end of the first one.
        whole = {name: begin[name] + rate * 410 for name, rate in rates.items()}
        readings += [{**whole, **({"Uptime": begin["Uptime"] + 410} if uptime else {})}, *readings[1:]]
    recording = read(tmp_path, tables_of(readings))
    samples = recording.spaced(recording.samples, 1.0 if uptime else 10.0, is_told=True)
    assert {round(one.metrics["workload.throughput"]) for one in samples} <= {498, 500, 502}
    assert len(samples) == len(readings) - 1
    assert recording.notes == ["differences (-r): counted together"]


@pytest.mark.parametrize("uptimes", [[5, 6, 7], [5, 6, 6, 7], [5, 6, 7, 7, 8, 9], [9000, 9010, 9020, 3, 13, 23]])
def test_uptimes_of_a_server_that_just_started_are_none_of_differences(tmp_path: Path, uptimes: list[int]) -> None:
    readings = [{"Aborted_clients": 0, "Questions": 90 * (place + 1), "Uptime": s} for place, s in enumerate(uptimes)]
    assert "differences (-r): counted together" not in read(tmp_path, tables_of(readings)).notes


@pytest.mark.parametrize("counter", ["questions", "innodb_data_writes", "uptime"])
def test_rates_that_are_called_as_counters_are_none(tmp_path: Path, counter: str) -> None:
    """Many scripts write what was counted in each second. The difference of two of these is no rate."""
    jitter = random.Random(1)
    rows = [f"{EPOCH + i},{9000 + jitter.randint(-300, 300)},{500 + jitter.randint(-20, 20)},5" for i in range(60)]
    head = f"timestamp,{counter},com_commit,threads_running"
    recording = read(tmp_path, "\n".join([head, *rows]) + "\n")
    assert recording.unit == "" and {*recording.samples[9].metrics} == {"database.threads_running"}
    assert recording.unknown == [counter, "com_commit"]
    told = ", ".join(sorted([counter, "com_commit"]))
    assert recording.notes == [f"{told} fall again and again: rates or differences, and no counters: not taken"]
    # The script's own rate is the line where it has one.
    rows = [f"{row},{500 + number % 2}" for number, row in enumerate(rows)]
    recording = read(tmp_path, "\n".join([f"{head},tps", *rows]) + "\n")
    assert recording.unit == "tps" and {one.metrics["workload.throughput"] for one in recording.samples} == {500, 501}


def test_a_stall_that_is_longer_than_all_before_it_is_one_reading(tmp_path: Path) -> None:
    """Of a server that just started, with -r: the difference over the stall is longer than its Uptime."""
    lengths = [1] * 20 + [46] + [1] * 20
    readings = [{"Aborted_clients": 0, "Questions": 50, "Com_commit": 30, "Uptime": 5}]
    readings += [{"Aborted_clients": 0, "Questions": 900, "Com_commit": 500, "Uptime": s} for s in lengths]
    recording = read(tmp_path, tables_of(readings))
    assert [one.length_s for one in recording.samples] == lengths
    assert recording.notes == ["differences (-r): counted together"]
