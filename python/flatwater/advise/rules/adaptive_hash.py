"""The adaptive hash index: a shortcut to rows, whose latches all sessions share."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Elsewhere
from flatwater.advise.inside import contention_inside
from flatwater.advise.rule import Case, Rule

_NAME = "innodb_adaptive_hash_index"


class AdaptiveHash(Rule):
    """Sessions wait for each other, and the adaptive hash index is on: off."""

    name = "adaptive-hash"
    about = "sessions that wait for each other while the adaptive hash index is on"
    source = (
        "MySQL manual, Adaptive Hash Index: a source of contention; off since MySQL 8.4 and MariaDB 10.5 (MDEV-20487)"
    )
    elsewhere = Elsewhere(
        0.93,
        1.07,
        "without the index: point selects of sysbench on MariaDB, and lookups of InnoDB on a memory appliance",
        "MDEV-17492, comments (2019); InnoDB on a Violin memory appliance (2008)",
    )

    def advise(self, case: Case) -> Advice | None:
        """Off, as in present servers."""
        found, server = contention_inside(case), case.server
        if found is None or server is None or server.on(_NAME) is not True:
            return None
        change = server.change(
            "Switch the adaptive hash index off; it can be done while the server runs.", {_NAME: False}
        )
        if change is None:
            return None
        return self.advice(
            "Sessions wait for each other inside the server, and the adaptive hash index is a place where they do.",
            change,
            *found.evidence,
            f"{_NAME} = ON",
            confidence="low",
            risk="lookups take more processor time where the index was of use",
            relieves=found,
        )
