"""The comparisons, and the targets that flatwater sets itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.job import Job
from benchmarks.pairs import Target
from benchmarks.programs import FIO, FIO_BATCHED, SYSBENCH, Program


@dataclass(frozen=True)
class Row:
    """A job, the program that flatwater is held against, and others that are only shown."""

    job: Job
    peer: Program
    cpu: Target
    shown: tuple[Program, ...] = ()


#: Never slower than the tool that people use today.
THROUGHPUT = Target("at least", 1.0)
#: fio itself reaches 0.65x of its default with batched submissions and completions.
CPU_IO_URING = Target("at most", 0.7)
#: The system call is nearly all of a synchronous request's CPU time: there is nothing to gain, only to lose.
CPU_PSYNC = Target("at most", 1.0)
#: Throughput with recording on over that with it off.
RECORDING = Target("at least", 0.98)
#: A result of 1,000,000 seconds opens.
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
