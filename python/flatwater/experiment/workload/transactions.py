"""The common part of the workloads on a database server."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from flatwater.experiment.problem import refuse
from flatwater.experiment.workload.timing import Timing

#: MySQL's own limit of max_connections is 100,000; connections past this only queue in the server.
MAX_CONNECTIONS = 10_000
#: More transactions than any connection of a run serves.
MAX_RECONNECT_EVERY = 10**9


def _connections(connections: int) -> int:
    if connections > MAX_CONNECTIONS:
        raise refuse(
            f"{connections:,} connections are more than the limit of {MAX_CONNECTIONS:,}",
            "beyond a few hundred they only queue in the server; a higher load is workload.rate_per_s",
        )
    return connections


#: A number of sessions.
Connections = Annotated[int, Field(ge=1), AfterValidator(_connections)]


class Transactions(Timing):
    """Transactions over connections to a MySQL-compatible server; needs `database.kind = "server"`."""

    #: The default schema of its tables.
    SCHEMA: ClassVar[str]

    #: The number over all instances together.
    connections: Connections = 8
    #: Each connection is closed and made again after this many of its transactions: sysbench's --reconnect. 0: never.
    reconnect_every: int = Field(default=0, ge=0, le=MAX_RECONNECT_EVERY)
    #: Send the statements of a transaction that need no answer of one before together, not one by one.
    pipeline: bool = False

    @property
    def default_schema(self) -> str:
        """The schema of its tables on a server of flatwater's own, where the experiment names none."""
        return self.SCHEMA

    @property
    def reconnects(self) -> bool:
        """Whether sessions close their connections and make them anew."""
        return self.reconnect_every > 0

    @property
    def table_names(self) -> tuple[str, ...] | None:
        """The names of its tables; None where the user's own statements make them."""
        return None

    @property
    def pause_s(self) -> float:
        """Mean time that a session waits for each transaction (keying, thinking), seconds; 0: it is always busy."""
        return 0.0
