"""The change buffer saves a disk's arm ways to pages of secondary indexes. Flash has no arm."""

from __future__ import annotations

from flatwater.advise.advice import Advice
from flatwater.advise.inside import contention_inside
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import on_flash

_NAME = "innodb_change_buffering"


class ChangeBuffering(Rule):
    """Sessions wait for each other on flash, and changes of secondary indexes are buffered: none."""

    name = "change-buffering"
    about = "changes that are buffered on flash while sessions wait for each other"
    source = "MDEV-27734: off in MariaDB, for rotating disks only and it writes more; none by default since MySQL 8.4"
    elsewhere = "MDEV-27734 gives no throughput with it and without it"

    def advise(self, case: Case) -> Advice | None:
        """None, where reads of pages do not bound the run."""
        found, server = contention_inside(case), case.server
        if found is None or server is None or not on_flash(case):
            return None
        # The buffer saves reads, so it stays where they bind.
        if server.word(_NAME) in ("", "none") or case.finding("cache misses", "device throughput") is not None:
            return None
        change = server.change("Change the pages of secondary indexes at once.", {_NAME: "none"})
        if change is None:
            return None
        return self.advice(
            "Sessions wait for each other inside the server, and changes are buffered in a tree that they share.",
            change,
            *found.evidence,
            f"{_NAME} = {server.word(_NAME)}",
            confidence="low",
            risk="more pages of secondary indexes are read; what is in the buffer is merged as its pages are read",
            relieves=found,
        )
