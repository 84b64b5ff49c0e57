"""Page cleaners free fewer pages in a second than are read."""

from __future__ import annotations

import math

from flatwater.advise.advice import Advice
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import busy_text, device_idles
from flatwater.analysis.bound.words import figure

_NAME = "innodb_lru_scan_depth"
_STEP = 1024


class LruScanDepth(Rule):
    """Sessions wait for free pages, and the page cleaner frees too few: a deeper scan."""

    name = "lru-scan-depth"
    about = "page cleaners that free fewer pages than are read, while the device idles"
    source = "MySQL manual, innodb_lru_scan_depth: more only with spare I/O capacity; WL#5580"
    elsewhere = "nobody is known to have published it alone, with all else unchanged"

    def advise(self, case: Case) -> Advice | None:
        """As many pages for each instance of the pool as are read into it in a second."""
        found, server, database = case.finding("free pages"), case.server, case.evidence.database
        if found is None or server is None or database is None or database.pages_read_per_s is None:
            return None
        # MariaDB's cleaner has not worked once a second since 10.5.
        depth = server.number(_NAME)
        if depth is None or server.is_mariadb((10, 5, 0)) or not device_idles(case.evidence):
            return None
        instances = server.number("innodb_buffer_pool_instances") or 1
        each = database.pages_read_per_s.mean / database.servers / instances
        if each <= depth:
            return None
        wanted = math.ceil(each / _STEP) * _STEP
        change = server.change(f"Let the page cleaner free up to {wanted} pages a second.", {_NAME: wanted})
        if change is None:
            return None
        return self.advice(
            "Sessions wait for free pages, because the page cleaner frees fewer than are read.",
            change,
            f"{figure(each)} pages were read a second into each instance of the pool, with {_NAME} = {depth:g}",
            busy_text(case.evidence),
            *found.evidence,
            confidence="medium",
            risk="the page cleaner scans more pages each second, whether they are wanted or not",
            relieves=found,
        )
