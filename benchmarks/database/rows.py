"""The comparisons, and the targets that flatwater sets itself."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.database.programs import FLATWATER, FLATWATER_PIPELINE, SYSBENCH, TPCC_MYSQL, Program
from benchmarks.database.work import USUAL, Place, Work
from benchmarks.pairs import Target


@dataclass(frozen=True)
class Way:
    """One way of flatwater to do a work, and what it is held to; no target: only shown."""

    program: Program
    rate: Target | None
    cpu: Target


@dataclass(frozen=True)
class Row:
    """A work, flatwater's ways to do it, the program that they are held against, and where both run."""

    work: Work
    peer: Program
    ways: tuple[Way, ...]
    place: Place = USUAL

    @property
    def title(self) -> str:
        """The row in words."""
        return f"{self.work.title}, {self.place.title}"


#: The statements are the same, so the server is what limits both.
NOTPM = Target("at least", 0.95)
#: Never slower than the tool that people use today.
THROUGHPUT = Target("at least", 1.0)
#: System calls are most of a client's CPU time, and statement by statement each query costs two at least.
CPU = Target("at most", 0.9)
#: Replies that are waited for together cost one system call for several queries.
CPU_PIPELINE = Target("at most", 0.5)
#: Rows a second against tpcc_load, and CPU time of client and server for each row.
LOADING = Target("at least", 12.0)
LOADING_CPU = Target("at most", 0.2)
#: Throughput with the probe of the server over that without.
STRIP = Target("at least", 0.99)

TPCC = Work("tpcc")
READ_WRITE = Work("oltp", "read_write")
POINT_SELECT = Work("oltp", "point_select")
ROWS: tuple[Row, ...] = (
    Row(TPCC, TPCC_MYSQL, (Way(FLATWATER, NOTPM, CPU), Way(FLATWATER_PIPELINE, None, CPU_PIPELINE))),
    Row(READ_WRITE, SYSBENCH, (Way(FLATWATER, THROUGHPUT, CPU), Way(FLATWATER_PIPELINE, None, CPU_PIPELINE))),
    Row(POINT_SELECT, SYSBENCH, (Way(FLATWATER, THROUGHPUT, CPU),)),
    # Each doubt has a row: the link, others on the machine, both, and what of a ratio is only the client's lower CPU.
    Row(TPCC, TPCC_MYSQL, (Way(FLATWATER, None, CPU),), Place(cores="apart")),
    Row(READ_WRITE, SYSBENCH, (Way(FLATWATER, THROUGHPUT, CPU),), Place("TCP")),
    Row(POINT_SELECT, SYSBENCH, (Way(FLATWATER, THROUGHPUT, CPU),), Place("TCP")),
    Row(POINT_SELECT, SYSBENCH, (Way(FLATWATER, THROUGHPUT, CPU),), Place(busy=True)),
    Row(POINT_SELECT, SYSBENCH, (Way(FLATWATER, THROUGHPUT, CPU),), Place("TCP", busy=True)),
)
