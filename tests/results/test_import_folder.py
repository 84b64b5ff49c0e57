"""All that lies in a folder becomes one result, on one clock; each file is accounted for."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from flatwater.analysis import analyse
from flatwater.errors import UserError
from flatwater.results import Cell, Result, open_result
from flatwater.results.importers import FORMATS, Found, Options, keep, read_folder
from flatwater.results.importers.folder import LINK
from flatwater.results.importers.names import _OF_FORMAT, runs_of
from flatwater.results.importers.samplers import SAMPLERS

sys.path.insert(0, str(Path(__file__).parent))
from sampled import (
    FORMS,
    SAMPLES,
    at,
    iostat,
    mpstat,
    mysqladmin,
    sysbench,
    sysbench_csv,
    vmstat,
)

N = 60


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def write(place: Path, **files: str) -> None:
    for name, text in files.items():
        path = place / name.replace("__", "/").replace("_txt", ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(place: Path, options: Options | None = None) -> Found:
    return read_folder([place], FORMATS, options or Options())


def kept(place: Path, found: Found) -> Result:
    keep(found.cells, place.parent / "result", "x", "x", analyse)
    return open_result(place.parent / "result")


def mean(cell: Cell, layer: str, metric: str) -> float:
    values = cell.measured(layer, metric).value
    assert len(values), f"{layer}.{metric} was not recorded"
    return float(values.mean())


@pytest.mark.parametrize("name", [*SAMPLES, *FORMS])
def test_each_sampler_beside_a_run(place: Path, name: str) -> None:
    write(place, run_txt=sysbench(N), sampled_txt=(SAMPLES | FORMS)[name](N))
    found = read(place)
    assert {report.path.name: bool(report.taken) for report in found.reports} == {"run.txt": True, "sampled.txt": True}
    cell = kept(place, found).cells[0]
    assert cell.summary is not None and cell.summary.verdict == "flat" and cell.summary.unit == "tps"
    assert mean(cell, "workload", "throughput") == pytest.approx(50)
    others = [(layer, metric) for layer, metric in cell.metrics() if layer != "workload"]
    assert others
    for layer, metric in others:
        assert len(cell.measured(layer, metric)) >= N - 1


def test_all_of_them_at_once(place: Path) -> None:
    """A series is taken of one file only, the most exact one."""
    write(place, run_txt=sysbench(N))
    for number, text in enumerate(SAMPLES.values()):
        (place / f"log{number}").write_text(text(N))
    (cell,) = kept(place, read(place)).cells
    assert mean(cell, "storage", "read_await_us") == pytest.approx(500)
    assert mean(cell, "machine", "cpu_user_pct") == pytest.approx(10)
    assert mean(cell, "database", "threads_running") == 5
    assert mean(cell, "database", "transactions_per_s") > 0
    for layer, metric in cell.metrics():
        assert len(cell.measured(layer, metric)) <= N, "one sample each second"


def test_runs_are_told_apart_by_the_names_of_files(place: Path) -> None:
    write(
        place,
        **{
            "2G_16th.sysbench.txt": sysbench(N),
            "2G_16th.iostat.txt": iostat(N),
            "12G_16th.sysbench.txt": sysbench(N),
            "12G_16th.vmstat.txt": vmstat(N),
            "other.vmstat.txt": vmstat(N),
            "notes.md": "# what we did",
        },
    )
    found = read(place)
    result = kept(place, found)
    layers = {cell.set["import.label"]: {layer for layer, _ in cell.metrics()} for cell in result.cells}
    assert len(layers) == 2
    for label, has in layers.items():
        assert ("storage" in has) == str(label).startswith("2G")
    left = {report.path.name: report.left_out for report in found.reports if not report.taken}
    assert set(left) == {"other.vmstat.txt", "notes.md"}
    assert "belongs to none of the 2 runs" in left["other.vmstat.txt"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mysql_64th.sysbench.txt", "mariadb_64th.sysbench.txt"),
        ("64th-mysql.txt", "64th-mariadb.txt"),
        ("tpcc.txt", "fio.txt"),
        ("sysbench_16.txt", "tpcc_16.txt"),
        ("cpu.sysbench.txt", "disk.sysbench.txt"),
    ],
)
def test_runs_that_only_a_programs_word_tells_apart_keep_their_samples(place: Path, one: str, other: str) -> None:
    """A word of one program may be what tells the runs of another apart."""
    sampled = {name.replace(".sysbench", "").replace(".txt", ".iostat.txt") for name in (one, other)}
    write(place, **{name: sysbench(N) for name in (one, other)}, **dict.fromkeys(sampled, iostat(N)))
    found = read(place)
    assert [report.left_out for report in found.reports] == [""] * 4
    for cell in found.cells:
        (beside,) = [name for name in cell.files if "iostat" in name]
        assert beside.replace(".iostat", "").removesuffix(".txt") == cell.label.removesuffix(".sysbench")


def test_a_name_that_two_runs_have_is_told(place: Path) -> None:
    runs = {f"{server}_64th.sysbench.txt": sysbench(N) for server in ("mysql", "mariadb")}
    write(place, **runs, **{"64th.iostat.txt": iostat(N), "mysql_128th.iostat.txt": iostat(N)})
    left = {report.path.name: report.left_out for report in read(place).reports if report.left_out}
    assert "2 runs have its name" in left.pop("64th.iostat.txt")
    assert "belongs to none of the 2 runs" in left.pop("mysql_128th.iostat.txt")
    assert left == {}


@pytest.mark.parametrize(
    ("names", "sampled", "apart_s", "is_shared"),
    [
        (("sweep.txt", "sweep.txt"), "iostat.txt", 300, True),
        (("1.txt", "2.txt"), "iostat.txt", 300, True),
        (("sweep.txt", "sweep.txt"), "sweep.iostat.txt", 300, True),
        (("1.txt", "2.txt"), "iostat.txt", 20, False),  # at the same time: two hosts
        (("1.txt", "2.txt"), "3.iostat.txt", 300, False),  # it is of a run that is not there
    ],
)
def test_a_recording_of_a_whole_sweep(
    place: Path, names: tuple[str, str], sampled: str, apart_s: int, is_shared: bool
) -> None:
    """Runs with times share it, each the samples of its own time."""
    texts = [sysbench(N, prefix=lambda second, begin=begin: f"{at(begin + second)} ") for begin in (0, apart_s)]
    files = {names[0]: "".join(texts)} if names[0] == names[1] else dict(zip(names, texts, strict=True))
    write(place, **files, **{sampled: iostat(400, stamped=True)})
    found = read(place)
    assert [sum("storage.read_ops_per_s" in one.metrics for one in cell.others) for cell in found.cells] == (
        [N, N] if is_shared else [0, 0]
    )
    if not is_shared:
        assert [one.path.name for one in found.reports if one.left_out] == [sampled]


def test_a_runs_own_recording_goes_before_that_of_the_sweep(place: Path) -> None:
    texts = [sysbench(N, prefix=lambda second, begin=begin: f"{at(begin + second)} ") for begin in (0, 300)]
    own = iostat(400, stamped=True).replace(" 1.5625 ", " 9.9999 ")
    write(place, **{"1.txt": texts[0], "2.txt": texts[1], "iostat.txt": iostat(400, stamped=True), "2.iostat.txt": own})
    cells = read(place).cells
    name = "storage.read_bytes_per_s"
    read_bytes = [{one.metrics[name] for one in cell.others if name in one.metrics} for cell in cells]
    assert read_bytes == [{1.5625 * 2**20}, {9.9999 * 2**20}]


def test_the_runs_of_a_sweep_have_the_same_device(place: Path) -> None:
    """The one that did most over all of it, also where another did more during one run."""
    texts = [sysbench(N, prefix=lambda second, begin=begin: f"{at(begin + second)} ") for begin in (0, 300)]
    reports = iostat(400, stamped=True).split("avg-cpu:")
    reports[2 : N + 3] = [one.replace("sdb   1.00 0.01", "sdb   900.00 9.00") for one in reports[2 : N + 3]]
    write(place, **{"1.txt": texts[0], "2.txt": texts[1], "iostat.txt": "avg-cpu:".join(reports)})
    for cell in read(place).cells:
        assert {one.metrics.get("storage.read_ops_per_s", 100.0) for one in cell.others} == {100.0}


@pytest.mark.parametrize(
    ("prefix", "sampled", "options", "why"),
    [
        ("%Y-%m-%d %H:%M:%S ", vmstat(400, stamped=True), Options(), "its clock and that of the runs differ"),
        ("%Y-%m-%d %H:%M:%S ", vmstat(400, stamped=True), Options(zone_s=0.0), ""),
        ("%b %d %H:%M:%S ", iostat(400, stamped=True), Options(), "the times of the runs have no year"),
        ("%Y-%m-%d %H:%M:%S ", "\n".join(mpstat(400).splitlines()[1:]), Options(), ""),
    ],
)
def test_what_times_say_of_a_sweeps_recording(
    place: Path, prefix: str, sampled: str, options: Options, why: str
) -> None:
    texts = [sysbench(N, prefix=lambda second, begin=begin: at(begin + second, prefix)) for begin in (0, 300)]
    write(place, **{"1.txt": texts[0], "2.txt": texts[1], "stats.txt": sampled})
    found = read_folder([place], FORMATS, options)
    left = [one.left_out for one in found.reports if one.left_out]
    assert all(why in one for one in left) and bool(left) == bool(why)
    assert all(len(cell.others) in (0 if why else N, N - 1) for cell in found.cells)


#: A sampled file, its program, the runs beside it with their formats, and the places of those that it belongs to.
NAMED = [
    ("16th.iostat.txt", "iostat", [("16th.sysbench.txt", "sysbench"), ("64th.sysbench.txt", "sysbench")], [0]),
    # sysbench's tpcc, and a word that only the run has.
    ("16th.iostat.txt", "iostat", [("16th.tpcc.txt", "sysbench"), ("64th.tpcc.txt", "sysbench")], [0]),
    ("64.iostat.txt", "iostat", [("64.tpcc-mysql.txt", "tpcc"), ("16.tpcc-mysql.txt", "tpcc")], [0]),
    # A word that only the sampled file has.
    ("64.sysbench.iostat.txt", "iostat", [("64.txt", "sysbench"), ("16.txt", "sysbench")], [0]),
    ("64.mysql-status.csv", "counters", [("64.sysbench.txt", "sysbench"), ("16.sysbench.txt", "sysbench")], [0]),
    # Another server's, or another program's, is not taken for want of a better one.
    ("mariadb_64.iostat.txt", "iostat", [("mysql_64.txt", "sysbench"), ("mysql_16.txt", "sysbench")], []),
    ("a.tpcc.iostat.txt", "iostat", [("a.fio.json", "fio-json"), ("b.fio.json", "fio-json")], []),
    ("iostat.txt", "iostat", [("tpcc.txt", "tpcc"), ("fio.json", "fio-json")], [0, 1]),
]


@pytest.mark.parametrize(("sampled", "tool", "runs", "places"), NAMED)
def test_which_run_a_sampled_file_belongs_to(
    sampled: str, tool: str, runs: list[tuple[str, str]], places: list[int]
) -> None:
    assert runs_of(Path(sampled), tool, [(Path(name), form) for name, form in runs]) == places


def test_every_format_has_its_words() -> None:
    assert {*(one.NAME for one in FORMATS), *(one.NAME for one in SAMPLERS)} <= set(_OF_FORMAT)


def test_a_run_that_was_killed_tells_its_torn_line(place: Path) -> None:
    text = sysbench(N)
    write(place, run_txt=text[: text.rindex("[ ") + 30], iostat_txt=iostat(N))
    found = read(place)
    (cell,) = found.cells
    (taken,) = [report.taken for report in found.reports if report.path.name == "run.txt"]
    assert "1 line that cannot be read left out" in taken and any(taken.endswith(one) for one in cell.warnings)


def test_folders_in_it(place: Path) -> None:
    write(place, a__run_txt=sysbench(N), a__x_txt=vmstat(N), b__run_txt=sysbench(N), b__x_txt=vmstat(N))
    result = kept(place, read(place))
    assert sorted(str(cell.set["import.label"]) for cell in result.cells) == ["a/run", "b/run"]
    (place / ".hidden").mkdir()
    (place / ".hidden" / "run.txt").write_text(sysbench(N))
    (place / "loop").symlink_to(place)
    again = read_folder([place, place.parent / "result"], FORMATS, Options())
    assert len(again.cells) == 2 and any("result of flatwater" in report.left_out for report in again.reports)
    (loop,) = [report for report in again.reports if report.path.name == "loop"]
    assert loop.left_out == LINK, "a file that is not read is told"


class TestClocks:
    def test_times_without_a_zone_beside_times_with_one(self, place: Path) -> None:
        """iostat ran in UTC+2, the run's times are UTC."""
        stamps = [at(second) for second in range(N + 1)]
        text = iostat(N, stamped=True, form="%Y-%m-%d %H:%M:%S")
        for stamp in reversed(stamps):
            day, _, clock = stamp.partition(" ")
            hour = int(clock[:2]) + 2
            moved = f"2026-03-14 {hour % 24:02}{clock[2:]}" if hour > 23 else f"{day} {hour:02}{clock[2:]}"
            text = text.replace(f"\n{stamp}\n", f"\n{moved}\n")
        run = sysbench(N, prefix=lambda second: f"{at(second)}Z ")
        write(place, run_txt=run, iostat_txt=text)
        found = read(place)
        (report,) = [report for report in found.reports if report.path.name == "iostat.txt"]
        assert "read as UTC+02:00" in report.taken and f"{N} samples" in report.taken
        assert read(place, Options(zone_s=7200.0)).reports[-1].taken
        wrong = {one.path.name: one.left_out for one in read(place, Options(zone_s=-7200.0)).reports}
        assert "--timezone" in wrong["iostat.txt"]

    def test_another_interval(self, place: Path) -> None:
        """60 samples beside a run of 300 s: one in 5 s, whether the file tells it or not."""
        write(place, run_txt=sysbench(300), vmstat_txt=vmstat(N, 5), ext_txt=mysqladmin(N, 5))
        found = read(place)
        told = {report.path.name: report.taken for report in found.reports}
        assert "60 samples of 5 s" in told["vmstat.txt"] and "intervals of 5 s" in told["vmstat.txt"]
        assert "60 samples of 5 s" in told["ext.txt"]
        cell = kept(place, found).cells[0]
        assert cell.measured("machine", "cpu_user_pct").time_s[-1] == pytest.approx(300)
        assert "30 samples of 10 s" in read(place, Options(every_s=10.0)).reports[-1].taken

    def test_gaps_and_samples_outside(self, place: Path) -> None:
        lines = vmstat(N, stamped=True).splitlines()
        del lines[20:40]
        run = sysbench(40, prefix=lambda second: f"{at(second)}Z ")
        write(place, run_txt=run, vmstat_txt="\n".join(lines))
        taken = read(place).reports[-1].taken
        assert "a gap without samples" in taken and "lie outside of the run" in taken

    def test_a_run_that_does_not_tell_its_start(self, place: Path) -> None:
        write(place, run_txt=sysbench(N), mpstat_txt=mpstat(N))
        (cell,) = read(place).cells
        assert any("taken to begin with the first recording" in warning for warning in cell.warnings)
        assert len([one for one in cell.others if "machine.cpu_user_pct" in one.metrics]) == N


def test_sysbench_csv(place: Path) -> None:
    head = sysbench(N).partition("Threads started!\n\n")[0]
    whole = f"{head}Threads started!\n\n{sysbench_csv(N)}"
    write(place, run_txt=whole + "         99th percentile:                       12.00\n    total time:   60.0s\n")
    (cell,) = kept(place, read(place)).cells
    assert mean(cell, "workload", "throughput") == 50 and mean(cell, "workload", "errors_per_s") == 1
    assert mean(cell, "workload", "latency_p99_us") == 12000
    (place / "run.txt").write_text(sysbench_csv(N))
    (alone,) = read(place).cells
    assert any("percentile" in warning for warning in alone.warnings)


class TestWithoutARun:
    def test_a_server_is_the_line(self, place: Path) -> None:
        write(place, ext_txt=mysqladmin(N), iostat_txt=iostat(N))
        (cell,) = kept(place, read(place)).cells
        assert cell.summary is not None and (cell.summary.unit, cell.summary.verdict) == ("tps", "flat")
        assert mean(cell, "storage", "read_ops_per_s") == pytest.approx(100)

    def test_a_device_is_the_line(self, place: Path) -> None:
        write(place, iostat_txt=iostat(N))
        (cell,) = kept(place, read(place)).cells
        assert cell.summary is not None and cell.summary.unit == "IOPS" and cell.summary.mean == pytest.approx(100)
        assert any("no workload lies among the files" in warning for warning in cell.summary.warnings)
        (other,) = read(place, Options(device="/dev/sdb")).cells
        assert other.intervals[0].metrics["workload.throughput"] == 1

    def test_nothing_with_a_line(self, place: Path) -> None:
        write(place, vmstat_txt=vmstat(N))
        with pytest.raises(UserError, match="no throughput of its own"):
            read(place)


@pytest.mark.parametrize("name", [sampler.NAME for sampler in SAMPLERS])
@pytest.mark.parametrize("content", [b"", b"\0\1\2", b"\xff\xfe\x00", b"{", b"x" * 100_000], ids=str)
def test_a_hostile_file_is_told_and_the_others_taken(place: Path, name: str, content: bytes) -> None:
    write(place, run_txt=sysbench(N), sampled_txt=SAMPLES[name](N))
    (place / "hostile\x1b[31m\n.txt").write_bytes(content)
    os.mkfifo(place / "fifo")
    found = read(place)
    left_out = {report.path.name.partition("\x1b")[0]: report.left_out for report in found.reports if not report.taken}
    assert len(found.cells) == 1 and set(left_out) == {"hostile", "fifo"} and "a pipe" in left_out["fifo"]


def test_a_folder_with_nothing_in_it(place: Path) -> None:
    with pytest.raises(UserError, match="there are no files in it"):
        read(place)
    (place / "notes.txt").write_text("hello")
    with pytest.raises(UserError, match=r"notes.txt: no output that we know"):
        read(place)


def test_the_result_tells_its_files(place: Path) -> None:
    write(place, run_txt=sysbench(N), vmstat_txt=vmstat(N))
    result = kept(place, read(place))
    assert result.experiment["import"][0]["files"] == ["run.txt", "vmstat.txt"]
    assert json.dumps(result.experiment)


@pytest.mark.parametrize("form", [one.NAME for one in FORMATS])
def test_a_file_that_goes_while_it_is_read(place: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Another program may rotate it away: it is told, and the others are taken."""
    importer = next(one for one in FORMATS if form == one.NAME)

    def gone(paths: list[Path]) -> None:
        raise FileNotFoundError(2, "No such file or directory", str(paths[0]))

    monkeypatch.setattr(importer, "read", gone)
    monkeypatch.setattr(importer, "recognises", lambda path, head: path.name == "gone.txt")
    write(place, gone_txt="text", ext_txt=mysqladmin(N))
    found = read(place)
    assert len(found.cells) == 1
    assert "No such file" in {report.path.name: report.left_out for report in found.reports}["gone.txt"]


def test_a_folder_of_what_lies_in_folders(place: Path) -> None:
    """Folders that are named like files, links in a circle, pipes."""
    write(place, run_txt=sysbench(N))
    (place / "iostat.txt").mkdir()
    (place / "x_iops.1.log").mkdir()
    (place / "loop").symlink_to(place)
    (place / "self").symlink_to("self")
    os.mkfifo(place / "iostat.txt" / "pipe")
    found = read(place)
    assert len(found.cells) == 1
    assert {report.path.name: report.left_out for report in found.reports} == {
        "run.txt": "",
        "pipe": "is a pipe, not a file",
        "loop": LINK,
        "self": LINK,
    }


def test_sysbench_s_csv_with_a_heading_is_no_script_s_counters(place: Path) -> None:
    names = "time,threads,tps,qps,reads,writes,others,p95,err/s,reconn/s\n"
    write(place, plain__r_txt=sysbench_csv(N), headed__r_txt=names + sysbench_csv(N))
    headed, plain = (one.intervals for one in read(place).cells)
    assert len(headed) == N and [one.metrics for one in headed] == [one.metrics for one in plain]
