from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from benchmarks.database.place import at
from benchmarks.database.programs import FLATWATER, FLATWATER_PIPELINE, PROGRAMS, SYSBENCH, TPCC_MYSQL, Program
from benchmarks.database.rows import POINT_SELECT, READ_WRITE, ROWS, TPCC, Row
from benchmarks.database.work import Address, Place, Setting, Work
from benchmarks.job import Finished, run_child

from flatwater.errors import FlatwaterError

ADDRESS = Address("/tmp/f-1/mysql.sock", "flatwater", "se-cret")
SETTING = Setting(Path(), ADDRESS, warehouses=3, rows=5000, seconds=5)
CELL = {
    "status": "complete",
    "phases": [{"start_s": 0.0, "end_s": 4.0}],
    "operations": 2000,
    "client_cpu_us_per_op": 250.0,
    "counters": {"queries": 40_000},
    "latency_by_kind_us": {"new_order": {"count": 880}},
}
# What tpcc_start -c 8 -r 0 -l 5 -i 1 wrote.
TPCC_START = """\
   5, trx: 134, 95%: 89.718, 99%: 138.727, max_rt: 210.897, 134|157.846, 14|22.428, 13|192.386, 13|167.982

STOPPING THREADS........

<Raw Results>
  [0] sc:143 lt:740  rt:0  fl:0 avg_rt: 20.7 (5)
  [1] sc:493 lt:391  rt:0  fl:0 avg_rt: 14.7 (5)
  [2] sc:80 lt:9  rt:0  fl:0 avg_rt: 2.3 (5)
  [3] sc:70 lt:18  rt:0  fl:0 avg_rt: 44.4 (80)
  [4] sc:9 lt:79  rt:0  fl:0 avg_rt: 52.9 (20)
 in 5 sec.

<Raw Results2(sum ver.)>
  [0] sc:143  lt:740  rt:0  fl:0 
  [1] sc:493  lt:391  rt:0  fl:0 

<TpmC>
                 10596.000 TpmC
"""  # noqa: W291 (it writes blanks there)
# What sysbench 1.0.20 oltp_read_write --threads=8 --time=3 wrote.
SYSBENCH_TEXT = """\
SQL statistics:
    queries performed:
        read:                            52038
        write:                           14868
        other:                           7434
        total:                           74340
    transactions:                        3717   (1235.42 per sec.)
    queries:                             74340  (24708.43 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0080s
    total number of events:              3717
"""


def finished(output: str) -> Finished:
    return Finished(output, wall_s=5.2, cpu_s=1.2, rss_max_bytes=1)


@pytest.mark.parametrize(
    ("program", "work", "output", "rate", "count", "cpu_s"),
    [
        (FLATWATER, TPCC, json.dumps(CELL), 880 * 15, 2000, 0.5),
        (FLATWATER, READ_WRITE, json.dumps(CELL), 10_000, 40_000, 0.5),
        (TPCC_MYSQL, TPCC, TPCC_START, 10_596, 2032, 1.0),
        (SYSBENCH, READ_WRITE, SYSBENCH_TEXT, 24_714.1, 74_340, 1.0),
    ],
)
def test_outcomes_are_counted_alike(
    program: Program, work: Work, output: str, rate: float, count: int, cpu_s: float
) -> None:
    outcome = program.outcome(work, finished(output), 0.2)
    assert outcome.rate == pytest.approx(rate, rel=1e-5)
    assert outcome.count == count
    assert outcome.cpu_s == pytest.approx(cpu_s)
    assert outcome.whole_cpu_s == pytest.approx(1.0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_is_not_understood_is_one_line(program: Program) -> None:
    # The last is what tpcc_start says when its -l is shorter than its -i.
    for output in ("", "{}", "<Raw Results>\n  [0] sc:0 lt:0  rt:0  fl:0 avg_rt: -nan (5)\n in 0 sec.\n"):
        with pytest.raises(FlatwaterError, match="not understood"):
            program.outcome(TPCC, finished(output), 0.0)


def test_a_run_that_failed_is_no_outcome() -> None:
    cell = CELL | {"status": "failed", "error": "the connection to the server was lost"}
    with pytest.raises(FlatwaterError, match="run failed: the connection"):
        FLATWATER.outcome(TPCC, finished(json.dumps(cell)), 0.0)


def test_all_programs_get_the_same_work() -> None:
    ours = FLATWATER.command(TPCC, SETTING, 7)
    assert {"workload.warehouses=3", "workload.connections=8", "workload.duration_s=5"} <= set(ours)
    assert "workload.pipeline=false" in ours
    assert "workload.pipeline=true" in FLATWATER_PIPELINE.command(TPCC, SETTING, 7)
    theirs = " ".join(TPCC_MYSQL.command(TPCC, SETTING, 7))
    assert theirs.startswith("tpcc_start -h localhost -d tpcc -u flatwater -p se-cret -S /tmp/f-1/mysql.sock")
    assert theirs.endswith("-w 3 -c 8 -r 0 -l 5 -i 1")
    ours = FLATWATER.command(POINT_SELECT, SETTING, 7)
    assert {"workload.mode=point_select", "workload.rows=5000"} <= set(ours)
    theirs = " ".join(SYSBENCH.command(POINT_SELECT, SETTING, 7))
    assert "oltp_point_select" in theirs
    assert "--tables=1 --table-size=5000 --threads=8 --rand-type=uniform --rand-seed=7 --time=5 run" in theirs


def test_runs_of_flatwater_have_folders_of_their_own() -> None:
    # Each row has a folder of its own, so the same work at two places may have the same names.
    rows = {(way.program, row.work) for row in ROWS for way in row.ways}
    commands = [program.command(work, SETTING, seed) for program, work in rows for seed in (1, 2)]
    commands += [program.idle_command(work, SETTING, number) for program, work in rows for number in (1, 2)]
    folders = [command[command.index("--out") + 1] for command in commands]
    assert len(set(folders)) == len(folders)


def test_flatwater_keeps_the_password_off_its_command_line() -> None:
    assert "se-cret" not in " ".join(FLATWATER.command(TPCC, SETTING, 1))
    assert FLATWATER.environment(ADDRESS) == {"FLATWATER_PASSWORD": "se-cret"}
    assert "se-cret" not in repr(ADDRESS)


def test_a_child_gets_its_environment_on_top_of_ours(tmp_path: Path) -> None:
    ran = run_child(["sh", "-c", 'echo "$FLAT:${PATH:+path}"'], tmp_path, {"FLAT": "water"})
    assert ran.output == "water:path\n"


def test_what_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert TPCC_MYSQL.missing() == "tpcc_load and tpcc_start of tpcc-mysql not on the PATH"
    assert "Debian's package" in (SYSBENCH.missing() or "")
    assert FLATWATER.missing() is None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
def test_each_program_takes_the_link_of_its_row(row: Row) -> None:
    port = 3999 if row.place.link == "TCP" else None
    setting = replace(SETTING, address=replace(ADDRESS, port=port))
    for program in (*(way.program for way in row.ways), row.peer):
        words = " ".join(program.command(row.work, setting, 1))
        assert ("3999" in words) == (port is not None), words
        assert ("/tmp/f-1/mysql.sock" in words) == (port is None), words


def test_a_place_is_undone_at_its_end() -> None:
    before = os.sched_getaffinity(0)
    other = subprocess.Popen(["sleep", "600"])
    # Tests before this one may have left some, a fork server for example.
    children = {child.pid for child in psutil.Process().children()}
    try:
        with at(Place(cores="apart", busy=True), other.pid) as prefix:
            assert prefix[0] == "taskset"
            server, client = os.sched_getaffinity(other.pid), set(map(int, prefix[2].split(",")))
            assert server | client == before and not server & client
            busy = [child.pid for child in psutil.Process().children() if child.pid not in children]
            assert len(busy) == len(before)
        assert os.sched_getaffinity(other.pid) == before
        assert not any(psutil.pid_exists(pid) for pid in busy)
    finally:
        other.kill()
        other.wait()
