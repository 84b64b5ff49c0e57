"""Commits that wait for the log to be synced: the price of durability, told with what it buys."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule

_NAME = "innodb_flush_log_at_trx_commit"


class CommitDurability(Rule):
    """The fsync path bounds the run, and each commit is synced."""

    name = "commit-durability"
    about = "commits that wait for the log to be synced"
    source = "MySQL manual, innodb_flush_log_at_trx_commit: 1 is required for full ACID compliance"
    elsewhere = "it depends on how long a sync takes and on how many sessions share one"

    def advise(self, case: Case) -> Advice | None:
        """A sync once a second, for those who can lose a second of commits, and a safe cache for the others."""
        found, server = case.finding("fsync path"), case.server
        if found is None or server is None or server.number(_NAME) != 1:
            return None
        text = (
            "Put the redo log on storage whose cache survives a power failure. Where a power failure may cost the last "
            "second of commits, let the log be synced once a second instead."
        )
        return self.advice(
            "Commits wait for the redo log to be synced.",
            Change("setting", text, server.lines({_NAME: 2}), (f"database.settings.{_NAME}=2",)),
            *found.evidence,
            confidence="high",
            risk="DURABILITY: with 2, a power failure or a crash of the system loses up to a second of commits",
            relieves=found,
        )
