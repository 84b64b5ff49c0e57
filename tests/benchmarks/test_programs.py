from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.job import Finished, Job, Setting, run_child
from benchmarks.programs import FIO, FIO_BATCHED, FLATWATER, PROGRAMS, SYSBENCH, Program

from flatwater.errors import FlatwaterError, UserError

JOB = Job("rndwr", "io_uring", depth=32)
FIO_JOB = {
    "read": {"total_ios": 0, "runtime": 0},
    "write": {"total_ios": 200_000, "runtime": 4000},
    "usr_cpu": 5.0,
    "sys_cpu": 15.0,
    "job_runtime": 4000,
}
CELL = {"phases": [{"start_s": 0.0, "end_s": 4.0}], "operations": 200_000, "client_cpu_us_per_op": 4.0}
SYSBENCH_TEXT = "    total time:                          4.0000s\n    total number of events:              200000\n"


def finished(output: str) -> Finished:
    return Finished(output, wall_s=4.2, cpu_s=1.0, rss_max_bytes=1)


@pytest.mark.parametrize(
    ("program", "output", "cpu_us"),
    [
        (FLATWATER, json.dumps(CELL), 4.0),
        (FIO, "note: both iodepth >= 1\n" + json.dumps({"jobs": [FIO_JOB]}), 4.0),
        (SYSBENCH, SYSBENCH_TEXT, 4.5),
    ],
)
def test_outcomes_are_counted_alike(
    monkeypatch: pytest.MonkeyPatch, program: Program, output: str, cpu_us: float
) -> None:
    monkeypatch.setattr("benchmarks.programs.sysbench.start_cpu_s", lambda: 0.1)
    outcome = program.outcome(finished(output))
    assert outcome.iops == pytest.approx(50_000)
    assert outcome.cpu_us == pytest.approx(cpu_us)
    assert outcome.whole_cpu_us == pytest.approx(5.0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_is_not_understood_is_one_line(program: Program) -> None:
    for output in ("", "{}", '{"jobs": []}'):
        with pytest.raises(FlatwaterError, match="not understood"):
            program.outcome(finished(output))


def test_all_programs_get_the_same_job() -> None:
    setting = Setting(Path(), 1 << 28, 3)
    ours, fio, batched, sysbench = (program.command(JOB, setting, 7) for program in PROGRAMS)
    assert {"workload.mode=rndwr", "workload.queue_depth=32", "storage.size=268435456"} <= set(ours)
    assert {"--rw=randwrite", "--iodepth=32", "--size=268435456", "--registerfiles=1", "--fixedbufs=1"} <= set(fio)
    assert set(batched) > set(fio)
    assert {"--file-test-mode=rndwr", "--file-total-size=268435456", "--file-extra-flags=direct"} <= set(sysbench)
    assert FIO_BATCHED.name != FIO.name


def test_a_child_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(FlatwaterError, match=r"sh failed \(3\): no disc"):
        run_child(["sh", "-c", "echo no disc >&2; exit 3"], tmp_path)
    with pytest.raises(UserError, match="apt-get install fio"):
        run_child(["a-program-that-nobody-has"], tmp_path)
