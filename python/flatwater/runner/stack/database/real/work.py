"""The work of a server's clients, from the counters of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flatwater.probe.server import Reading

#: Counters of `probe.server.names.PLACES`. A server counts a COMMIT and a ROLLBACK that a client sends, also those in
#: prepared statements and in stored programs, and those that a replica applies. It does not count the commit of a
#: statement that stands alone (autocommit).
TRANSACTIONS = ("commits", "rollbacks", "xa_commits", "xa_rollbacks")
WRITES = (
    *("inserts", "insert_selects", "updates", "multi_updates"),
    *("deletes", "multi_deletes", "replaces", "replace_selects"),
)
#: What each unit counts, in the server's own names.
COUNTED = {
    "tps": "Com_commit and Com_rollback (with those of XA): a statement that commits by itself is not among them",
    "qps": "Questions: the statements that clients send, without those of flatwater",
}
#: Clients that end their transactions themselves send no more than this many statements for each of them. tpcc-mysql
#: sends some 30, sysbench 18.
STATEMENTS_MAX = 100
#: The server counts its uptime in whole seconds.
_UPTIME_SLACK_S = 2.0


@dataclass(frozen=True)
class Done:
    """What clients did between two answers of the server."""

    seconds: float
    transactions: float
    statements: float
    #: Statements that change rows.
    writes: float
    commits: float
    deadlocks: float | None

    def count(self, unit: str) -> float:
        """In a unit of throughput, without its second."""
        return self.transactions if unit == "tps" else self.statements

    def changing_commits(self, unit: str) -> float:
        """Commits that change something, at most: no more than there were statements that change rows."""
        return min(self.commits, self.writes) if unit == "tps" else self.writes


def done_between(before: Reading, now: Reading) -> Done | None:
    """The work between two readings; None if the server was started anew, or its counters were reset."""
    if was_restarted(before, now) or now.at_s <= before.at_s:
        return None
    ours = now.asked - before.asked if now.session == before.session else now.asked
    delta = {name: value - before.figures.get(name, 0.0) for name, value in now.figures.items()}
    counters = (*TRANSACTIONS, *WRITES, "questions")
    if any(delta.get(name, 0.0) < 0 for name in counters):
        return None
    return Done(
        seconds=now.at_s - before.at_s,
        transactions=_sum(delta, TRANSACTIONS),
        statements=max(0.0, delta.get("questions", 0.0) - ours),
        writes=_sum(delta, WRITES),
        commits=delta.get("commits", 0.0) + delta.get("xa_commits", 0.0),
        deadlocks=delta.get("deadlocks"),
    )


def was_restarted(before: Reading, now: Reading) -> bool:
    """Whether another start of the server gave the second reading."""
    then, uptime = before.figures.get("uptime_s"), now.figures.get("uptime_s")
    if then is None or uptime is None:
        return False
    return uptime + _UPTIME_SLACK_S < then + (now.at_s - before.at_s)


def unit_of(figures: Mapping[str, float]) -> str:
    """The unit that fits a server's clients, from all that it has counted since its start.

    If commits are rarer than one in a hundred statements, most statements commit by themselves, and transactions would
    tell little of the work.
    """
    statements = _sum(figures, WRITES) + figures.get("selects", 0.0)
    ended = _sum(figures, TRANSACTIONS)
    return "tps" if ended and ended * STATEMENTS_MAX >= statements else "qps"


def _sum(figures: Mapping[str, float], names: tuple[str, ...]) -> float:
    return sum(figures.get(name, 0.0) for name in names)
