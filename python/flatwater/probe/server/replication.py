"""Replication of a server that is a replica: how far behind it is, and whether its threads run."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater._engine import Connection, EngineError
from flatwater.results.observation import Gap

#: Newer servers have new words. MariaDB's list of all connections comes first: it has those with names, too.
QUESTIONS = ("SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
#: Column, by its names in servers old and new (in lower case).
_NAME = ("connection_name", "channel_name")
_LAG = ("seconds_behind_master", "seconds_behind_source")
_RECEIVER = ("slave_io_running", "replica_io_running")
_APPLIER = ("slave_sql_running", "replica_sql_running")
#: The text of an error and its number.
_RECEIVER_ERROR, _APPLIER_ERROR = ("last_io_error", "last_io_errno"), ("last_sql_error", "last_sql_errno")
#: Characters of an error that are told: those of the applier have the whole statement in them.
_TOLD = 200
#: Servers' errors for a privilege that is missing.
_REFUSED = ("(error 1227)", "(error 1142)")
GAP = Gap(
    what="replication, if the server is a replica",
    figures=["database.replica_lag_s", "database.replica_appliers_stopped", "database.replica_receivers_stopped"],
    why="the account lacks the privilege to see it",
    remedy="GRANT REPLICATION CLIENT ON *.* TO the account of the url; in MariaDB since 10.5 GRANT SLAVE MONITOR",
)


@dataclass(frozen=True)
class Channel:
    """One connection of a replica to its source."""

    #: Empty for the one without a name.
    name: str
    #: Seconds; None while the server does not know it, because a thread does not run.
    lag_s: float | None
    receives: bool
    applies: bool
    #: Why a thread does not run, in the server's words and with its number; empty if it told nothing.
    receiver_error: str = ""
    applier_error: str = ""


@dataclass(frozen=True)
class Replication:
    """How a server is asked about its replication."""

    question: str | None
    #: Set if the account may not ask.
    gap: Gap | None = None

    def read(self, connection: Connection) -> tuple[Channel, ...]:
        """The channels; () of a server that is no replica. Errors: EngineError."""
        if self.question is None:
            return ()
        rows = connection.query(self.question)
        columns = [column.lower() for column in connection.columns] if rows else []
        return tuple(_channel(dict(zip(columns, row, strict=False))) for row in rows)


def find_replication(connection: Connection) -> tuple[Replication, tuple[Channel, ...]]:
    """The question that this server understands, and its answer. Errors: EngineError if the connection is lost."""
    refused = False
    for question in QUESTIONS:
        asked = Replication(question)
        try:
            return asked, asked.read(connection)
        except EngineError as error:
            refused |= any(sign in str(error) for sign in _REFUSED)
            connection.query("SELECT 1")
    return Replication(None, GAP if refused else None), ()


def figures_of(channels: tuple[Channel, ...]) -> dict[str, float]:
    """Figures of a replica's channels together: the largest lag, and how many threads do not run."""
    if not channels:
        return {}
    found = {
        "replica_appliers_stopped": float(sum(not one.applies for one in channels)),
        "replica_receivers_stopped": float(sum(not one.receives for one in channels)),
    }
    lags = [one.lag_s for one in channels if one.lag_s is not None]
    return found | ({"replica_lag_s": max(lags)} if lags else {})


def _channel(row: dict[str, str | None]) -> Channel:
    def word(names: tuple[str, ...]) -> str:
        return next((row[name] or "" for name in names if name in row), "")

    lag = word(_LAG)
    return Channel(
        name=word(_NAME)[:64],
        lag_s=float(lag) if lag.isdecimal() else None,
        receives=word(_RECEIVER) == "Yes",
        applies=word(_APPLIER) == "Yes",
        receiver_error=_line(*(row.get(name) or "" for name in _RECEIVER_ERROR)),
        applier_error=_line(*(row.get(name) or "" for name in _APPLIER_ERROR)),
    )


def _line(text: str, number: str) -> str:
    """An error as one line of a bearable length. Newer servers name it by its number alone."""
    line = " ".join(text.split())
    line = f"{line[:_TOLD]}..." if len(line) > _TOLD else line
    return f"{line} (error {number})" if number not in ("", "0") and number not in line else line
