"""The limit on dirty pages makes the server write pages that the log would let it keep."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Elsewhere
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.words import size

_NAME = "innodb_max_dirty_pages_pct"
#: The default since MySQL 8.0 (WL#9707).
_PCT = 90


class DirtyLimit(Rule):
    """The dirty share is at its limit, and the log is not: a higher limit."""

    name = "dirty-limit"
    about = "an innodb_max_dirty_pages_pct at which the server flushes while the log has room"
    source = "MySQL manual, Configuring Buffer Pool Flushing; WL#9707 made 90 the default of 8.0"
    elsewhere = Elsewhere(
        0.91,
        1.12,
        "50 to 60 % and 60 to 75 %, tpcc-mysql, MySQL and Percona Server 5.5.8 on a FusionIO 160 GB SLC card",
        "MySQL 5.5.8 in search of stability (2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """The default of present servers, where the log has room and pages are free."""
        found, server, database = case.finding("dirty limit"), case.server, case.evidence.database
        if found is None or server is None or database is None or case.finding("log limit", "free pages") is not None:
            return None
        limit, age, redo = server.number(_NAME), database.checkpoint_age_bytes, database.redo
        if limit is None or limit >= _PCT or age is None or redo is None or age.max >= redo.async_bytes:
            return None
        change = server.change(f"Let {_PCT} % of the pages be dirty.", {_NAME: _PCT})
        if change is None:
            return None
        return self.advice(
            "The server flushes because of its limit on dirty pages, and not because of the log.",
            change,
            *found.evidence,
            f"the checkpoint age was {size(age.max)} at most, and the log makes it flush from {size(redo.async_bytes)}",
            confidence="medium",
            risk="a page that is read finds fewer clean pages to replace, and a clean shutdown takes longer",
            relieves=found,
        )
