"""The comparisons, and flatwater's targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.job import Job
from benchmarks.pairs import Target
from benchmarks.programs import FIO, FIO_BATCHED, SYSBENCH, Program


@dataclass(frozen=True)
class Row:
    """A job, the program with a target for the comparison, and programs without one."""

    job: Job
    peer: Program
    cpu: Target
    shown: tuple[Program, ...] = ()


#: At least as fast as the usual tool.
THROUGHPUT = Target("at least", 1.0)
#: fio itself needs 0.65x of its default with batched submissions and completions.
CPU_IO_URING = Target("at most", 0.7)
#: Nearly all CPU time of a synchronous request is the system call, so there is nothing to gain.
CPU_PSYNC = Target("at most", 1.0)
#: Throughput with recording / throughput without.
RECORDING = Target("at least", 0.98)
#: Time to open a result of 1,000,000 seconds.
OPENING_S = Target("at most", 5.0)
OPENING_BYTES = Target("at most", 2.0**30)

MODES: tuple[Literal["rndrd", "rndwr"], ...] = ("rndrd", "rndwr")
ROWS: tuple[Row, ...] = (
    *(
        Row(Job(mode, "io_uring", depth=depth), FIO, CPU_IO_URING, (FIO_BATCHED,) if depth == 32 else ())
        for mode in MODES
        for depth in (32, 128)
    ),
    *(Row(Job(mode, "psync", threads=threads), SYSBENCH, CPU_PSYNC) for mode in MODES for threads in (1, 8, 64)),
)
