"""What every program of a comparison is asked to do, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from benchmarks.loopback import HOST

Link = Literal["socket", "TCP"]
#: Of all comparisons: enough to keep a small machine's cores busy, too few to queue.
CONNECTIONS = 8
#: The schemas of flatwater's workloads, which are those of the tools' documentation.
TPCC_SCHEMA, OLTP_SCHEMA = "tpcc", "sbtest"


@dataclass(frozen=True)
class Address:
    """How to reach the server: over its socket, or over TCP when there is a port. The password is never printed."""

    socket: str
    user: str
    password: str = field(repr=False)
    port: int | None = None

    @property
    def url(self) -> str:
        """Flatwater's form."""
        place = quote(self.socket) + "?user=" if self.port is None else f"{HOST}:{self.port}?user="
        return f"mysql://{place}{quote(self.user)}"


@dataclass(frozen=True)
class Place:
    """How client and server meet: the link, the processors they have, and whether others want the same ones."""

    link: Link = "socket"
    #: Client and server share all cores, or each has one half of them alone (taskset).
    cores: Literal["shared", "apart"] = "shared"
    #: A busy program for each core beside them.
    busy: bool = False

    @property
    def title(self) -> str:
        """The place in a table's cell."""
        words = [self.link, "cores apart" if self.cores == "apart" else "", "busy neighbours" if self.busy else ""]
        return ", ".join(filter(None, words))


#: As most people try it: one machine, and nobody else on it.
USUAL = Place()


@dataclass(frozen=True)
class Work:
    """TPC-C, or one of sysbench's OLTP scripts, as fast as it goes."""

    kind: Literal["tpcc", "oltp"]
    mode: Literal["", "read_write", "point_select"] = ""
    connections: int = CONNECTIONS

    @property
    def title(self) -> str:
        """The work in a table's cell."""
        return "TPC-C" if self.kind == "tpcc" else f"OLTP {self.mode}"

    @property
    def name(self) -> str:
        """A word for files."""
        return self.kind + (f"-{self.mode}" if self.mode else "")

    @property
    def schema(self) -> str:
        """Where its tables are."""
        return TPCC_SCHEMA if self.kind == "tpcc" else OLTP_SCHEMA

    @property
    def counted(self) -> str:
        """What CPU time is divided by."""
        return "transactions" if self.kind == "tpcc" else "queries"

    @property
    def unit(self) -> str:
        """Of the throughput."""
        return "NOTPM" if self.kind == "tpcc" else "queries/s"


@dataclass(frozen=True)
class Setting:
    """Where, how large and for how long: the same for every program."""

    folder: Path
    address: Address
    warehouses: int
    rows: int
    seconds: int


@dataclass(frozen=True)
class Outcome:
    """What one run of a program gave.

    `rate` is NOTPM or queries/s, `count` the transactions or queries that were measured. `cpu_s` is CPU time (user and
    system) of the measured time as the program itself tells it, or like `whole_cpu_s`: that of the whole process, less
    that of one with nothing to do.
    """

    rate: float
    count: int
    cpu_s: float
    whole_cpu_s: float
