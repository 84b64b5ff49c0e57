"""One damaged time, however far away, costs its own line and nothing else: no memory, no second, no other line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.analysis import analyse
from flatwater.errors import UserError
from flatwater.results.importers import FORMATS, Found, Options, keep, read_folder
from flatwater.results.importers.samplers import SAMPLERS
from flatwater.results.importers.settling import with_file
from flatwater.results.importers.spans import damage_note, damaged, is_damage, joined_part

sys.path.insert(0, str(Path(__file__).parent))
from sampled import EPOCH, FORMS, HAMMERDB, SAMPLES, at, counters, mysqladmin, sysbench, sysbench_csv

N = 60
#: The moment that is damaged, in the middle or at the end.
PLACES = {"middle": 30, "end": N}
FAR = "2044-03-14 00:00:00"


def swapped(form: str, far: str) -> Callable[[str, int], str]:
    """Puts a far time into the place of that of a second."""

    def damage(text: str, second: int) -> str:
        old = at(second, form)
        assert old in text
        return text.replace(old, far)

    return damage


def of_table(text: str, second: int) -> str:
    """The Uptime of one table of `mysqladmin -r`, where each has the same."""
    parts = text.split("| Uptime | 1 |")
    return "| Uptime | 1 |".join(parts[:second]) + "| Uptime | 99999999999 |" + "| Uptime | 1 |".join(parts[second:])


def untouched(text: str, second: int) -> str:
    del second
    return text


def tpcc(n: int) -> str:
    line = "{0:4}, trx: 50, 95%: 9.9, 99%: 11.1, max_rt: 12.2, 51|9.8, 5|1.2, 5|13.3, 5|2.5"
    return "\n".join(["***MEASURING START.", "", *(line.format(number) for number in range(1, n + 1)), ""])


def fio_log(n: int) -> str:
    return "".join(f"{1000 * number}, 100, 0, 0, 0\n" for number in range(1, n + 1))


def fio_each(n: int) -> str:
    return "".join(f"{1000 * number - 500}, 100000, 0, 4096, 0\n" for number in range(1, n + 1))


def fio_status(n: int) -> str:
    def read(number: int) -> dict[str, object]:
        return {
            "io_bytes": number * 409600,
            "io_kbytes": number * 400,
            "runtime": number * 1000,
            "total_ios": number * 100,
        }

    jobs = [[{"jobname": "x", "read": read(number), "job_runtime": number * 1000}] for number in range(1, n + 1)]
    return "\n".join(json.dumps({"fio version": "fio-3.33", "jobs": one}, indent=1) for one in jobs) + "\n"


Damage = Callable[[str, int], str]
#: Form of a sampler -> how the time of a second is damaged. Forms without times have none that could be.
BESIDE: dict[str, Damage] = {
    "vmstat": untouched,
    "vmstat -t": swapped("%Y-%m-%d %H:%M:%S", FAR),
    "iostat": untouched,
    "iostat -t": swapped("%m/%d/%Y %I:%M:%S %p", "03/14/2044 01:00:00 AM"),
    "iostat -t, ISO": swapped("%Y-%m-%dT%H:%M:%S+0000", "2044-03-14T00:00:00+0000"),
    "iostat -t, German": swapped("%d.%m.%Y %H:%M:%S", "14.03.2044 01:00:00"),
    "mpstat": swapped("%H:%M:%S", "12:59:59"),
    "mpstat -T": swapped("%H:%M:%S", "12:59:59"),
    "mpstat, AM and PM": swapped("%I:%M:%S %p", "11:00:00 AM"),
    "sysstat-json": swapped("%m/%d/%Y %H:%M:%S", "03/14/2044 00:00:00"),
    "mpstat -o JSON": swapped("%H:%M:%S", "12:59:59"),
    "dstat": lambda text, second: text.replace(f"{EPOCH + second}.125", "9999999999.125"),
    "dstat text": untouched,
    "dstat -t": swapped("%d-%m %H:%M:%S", "14-11 00:00:00"),
    "dool -t": swapped("%b-%d %H:%M:%S", "Nov-14 00:00:00"),
    "mysqladmin": lambda text, second: text.replace(f"| Uptime | {10_000 + second} |", "| Uptime | 99999999999 |"),
    "mysqladmin -r": of_table,
    "counters": swapped("%Y-%m-%d %H:%M:%S", FAR),
    "counters, seconds": lambda text, second: text.replace(f"\n{second},", "\n99999999,"),
    "hammerdb-counter": swapped("%a %b %d %H:%M:%S UTC 2026", "Sat Mar 14 00:00:00 UTC 2044"),
    "NOPM samples": lambda text, second: text.replace(f"{EPOCH + second}", "9999999999"),
}
#: Format of runs, its file's name, a file of n seconds, and the damage.
RUNS: dict[str, tuple[str, str, Callable[[int], str], Damage]] = {
    "sysbench": ("sysbench", "run.txt", sysbench, lambda text, second: text.replace(f"[ {second}s", "[ 999999999s")),
    "sysbench, CSV": (
        "sysbench",
        "run.txt",
        sysbench_csv,
        lambda text, second: text.replace(f"\n{second},4,", "\n2000000000,4,"),
    ),
    "tpcc": ("tpcc", "run.txt", tpcc, lambda text, second: text.replace(f"{second:4}, trx", "999999999, trx")),
    "fio-json": (
        "fio-json",
        "run.json",
        fio_status,
        lambda text, second: text.replace(f'"runtime": {second * 1000}', '"runtime": 2000000000000'),
    ),
    "fio-log": (
        "fio-log",
        "run_iops.1.log",
        fio_log,
        lambda text, second: text.replace(f"{second * 1000}, 100", "31000000000, 100"),
    ),
    "fio-log, each": (
        "fio-log",
        "run_lat.1.log",
        fio_each,
        lambda text, second: text.replace(f"{second * 1000 - 500}, 100", "31000000000, 100"),
    ),
    "hammerdb": ("hammerdb", "run.txt", lambda n: HAMMERDB, untouched),
}


def read(place: Path, **files: str) -> Found:
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text)
    return read_folder([place], FORMATS, Options())


def first_change(text: str, changed: str) -> int:
    pairs = zip(text.splitlines(), changed.splitlines(), strict=True)
    return next(number for number, (old, new) in enumerate(pairs, 1) if old != new)


def line_told(warnings: list[str], name: str) -> int:
    """The line that one warning names, and no other does."""
    (line,) = [
        int(found[1]) for one in warnings if (found := re.match(rf"{re.escape(name)}: line (\d+) left out", one))
    ]
    return line


def test_every_form_is_here() -> None:
    """A new kind of file comes with its damage."""
    assert set(BESIDE) == {*SAMPLES, *FORMS}
    assert {form for form, *_ in RUNS.values()} == {one.NAME for one in FORMATS}
    assert {one.NAME for one in SAMPLERS} <= set(BESIDE)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("form", BESIDE)
def test_beside_a_run(tmp_path: Path, form: str, where: str) -> None:
    text = (SAMPLES | FORMS)[form](N)
    changed = BESIDE[form](text, PLACES[where])
    run = sysbench(N, prefix=lambda second: f"{at(second)}Z ")
    for name, content in (("whole", text), ("damaged", changed)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.txt").write_text(run)
        (tmp_path / name / "sampled.txt").write_text(content)
    (whole,), (cell,) = (read(tmp_path / name).cells for name in ("whole", "damaged"))
    lost = {one.end_s for one in whole.others} - {one.end_s for one in cell.others}
    if changed == text:
        assert not lost
        return
    assert abs(line_told(cell.warnings, "sampled.txt") - first_change(text, changed)) <= 1
    # mysqladmin's next reading stands for two intervals, and -r counts an interval less.
    assert len(lost) <= 2 and {one.end_s for one in cell.others} <= {one.end_s for one in whole.others}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize(
    "form", [form for form in BESIDE if not form.startswith(("vmstat", "mpstat", "dstat", "dool"))]
)
def test_as_the_line_itself(tmp_path: Path, form: str, where: str) -> None:
    text = (SAMPLES | FORMS)[form](N)
    changed = BESIDE[form](text, PLACES[where])
    (cell,) = read(tmp_path, sampled__txt=changed).cells
    assert N - 2 <= len(cell.intervals) <= N and cell.intervals[-1].end_s <= N
    assert changed == text or abs(line_told(cell.warnings, "sampled.txt") - first_change(text, changed)) <= 1


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("form", RUNS)
def test_of_a_run(tmp_path: Path, form: str, where: str) -> None:
    _, name, make, damage = RUNS[form]
    text = make(N)
    changed = damage(text, PLACES[where])
    (tmp_path / name).write_text(changed)
    if form.startswith("fio-log") and where == "middle":
        with pytest.raises(UserError, match="line 30: its time is 31,000,000 s, far from those around it"):
            read(tmp_path)
        return
    (cell,) = read(tmp_path).cells
    if changed == text:
        return
    line = line_told(cell.warnings, name)
    # An object of fio's JSON is told by its first line.
    assert 0 <= first_change(text, changed) - line <= (20 if form == "fio-json" else 0)
    # The objects of fio's JSON count from the start: the next one tells of the lost second, too.
    assert N - 2 <= len(cell.intervals) < N + (form == "fio-json") and cell.intervals[-1].end_s <= N
    result = keep([cell], tmp_path / "result", "x", "x", analyse)
    assert result.cells[0].summary is not None and result.cells[0].summary.samples == len(cell.intervals)


def test_the_log_that_is_damaged_is_named(tmp_path: Path) -> None:
    """The second of two that are read together."""
    (tmp_path / "x_bw.1.log").write_text(fio_log(N))
    (tmp_path / "x_iops.1.log").write_text(fio_log(N) + "31000000000, 100, 0, 0, 0\n")
    (cell,) = read(tmp_path).cells
    assert line_told(cell.warnings, "x_iops.1.log") == N + 1


def test_a_note_of_damage_is_known_by_its_type() -> None:
    note = damage_note([1.0, 2.0, 9e9, 3.0], [4, 5, 6, 7], [2])
    assert is_damage(note) and not is_damage(str.__str__(note) + "!") and not is_damage("left out: its time lies")
    (named,) = with_file([note], "x.txt")
    assert named.startswith("x.txt: line 6 left out") and with_file([named], "x.txt") == [named]


def test_what_is_damaged() -> None:
    line = [float(second) for second in range(60)]
    assert damaged(line) == damaged([]) == damaged([3.0]) == []
    assert damaged([*line, 2e9]) == [60] and damaged([2e9, *line]) == [0]
    assert damaged([*line[:30], 2e9, *line[31:]]) == [30] and damaged([*line[:30], 50.0, *line[31:]]) == [30]
    assert damaged([*line[:30], -5.0, *line[31:]]) == [30]
    assert damaged(line[::-1]) == damaged([*line, *line]) == [], "these are in another order"
    assert damaged([*line, *(one + 900 for one in line)]) == [], "a gap"
    assert damaged([*line, *(one + 1e6 for one in line)]) == [], "the program was started again"
    two = [one + apart for one in line for apart in (0.0, 1000.5)]
    assert damaged(two) == [], "two programs wrote into it"


def test_a_line_of_two_parts_that_are_far_apart(tmp_path: Path) -> None:
    """Neither is damage, and no verdict is of both: the longer one is taken, the other told."""
    late = sysbench_csv(1000).splitlines()[899:]
    late = [f"{int(line.partition(',')[0]) + 900_000_000}{line[line.index(',') :]}" for line in late]
    (cell,) = read(tmp_path, run__txt=sysbench_csv(N) + "\n".join(late)).cells
    assert len(cell.intervals) == 101 and cell.operations == pytest.approx(101 * 50, abs=50)
    assert any("run.txt:1: 60 readings left out: up to 29 years lie between" in one for one in cell.warnings)
    times = [0.0, 1.0, 2.0, 1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3]
    assert joined_part(times) == (3, 7) and joined_part([]) == (0, 0) and joined_part([5.0]) == (0, 1)


def test_a_restart_is_no_damage(tmp_path: Path) -> None:
    """Uptime falls by days, and one reading after it is the last."""
    tables = mysqladmin(N).replace("| Uptime | 10", "| Uptime | 910").split("+----------+-----+\n| Variable_name")
    tables[-1] = re.sub(r"\| Uptime \| \d+", "| Uptime | 3", tables[-1])
    (cell,) = read(tmp_path, sampled__txt="+----------+-----+\n| Variable_name".join(tables)).cells
    assert any(f"the server was restarted before reading {N + 1}" in one for one in cell.warnings)


class TestLongIntervals:
    def test_one_stands_for_all_of_its_time_and_is_told(self, tmp_path: Path) -> None:
        """500 s at 10 tps among seconds at 50: counted as one of them, it would be next to nothing."""
        lines = counters(N).splitlines()
        later = [f"{at(N + 500 + k)},0,0,{50 * N + 5000 + 50 * k},0,5,1" for k in range(20)]
        (cell,) = read(tmp_path, sampled__txt="\n".join([*lines, *later])).cells
        assert [one.end_s - one.start_s for one in cell.intervals] == pytest.approx([1.0] * (N + 519))
        mean = sum(one.metrics["workload.throughput"] for one in cell.intervals) / len(cell.intervals)
        assert mean == pytest.approx((79 * 50 + 5000) / 579)
        told = "sampled.txt:63: a reading of 500 s among those of 1 s: its mean of 10 tps stands for all of that time"
        assert told in cell.warnings
        assert cell.operations == pytest.approx(79 * 50 + 5000, abs=1), "they were done"
        long = [one for one in cell.others if one.end_s - one.start_s > 400]
        assert len(long) == 1 and long[0].metrics["database.threads_running"] == 5, "its gauges are readings"

    def test_a_gap_names_the_line_behind_it(self, tmp_path: Path) -> None:
        lines = sysbench(N).splitlines()
        lines[20:40] = ["[ 2"]
        (cell,) = read(tmp_path, run__txt="\n".join(lines)).cells
        assert "run.txt:22: no reading in the 20 s before it" in cell.warnings

    def test_a_long_reading_is_told_once(self, tmp_path: Path) -> None:
        lines = sysbench_csv(N).splitlines()
        del lines[20:40]
        (cell,) = read(tmp_path, run__txt="\n".join(lines)).cells
        assert [one.partition(" ")[0] for one in cell.warnings if one.startswith("run.txt")] == ["run.txt:21:"]
        assert len(cell.intervals) == N

    def test_a_heading_that_tells_no_interval(self, tmp_path: Path) -> None:
        (cell,) = read(tmp_path, run__txt=sysbench(N).replace("every 1 second", "every 0 second")).cells
        assert cell.interval_s == 1 and cell.intervals[0].start_s == 0
