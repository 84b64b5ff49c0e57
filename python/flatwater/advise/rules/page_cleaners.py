"""Fewer page cleaners than instances of the buffer pool: one cleans several, one after another."""

from __future__ import annotations

from flatwater.advise.advice import Advice
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import busy_text, device_idles

_NAME, _INSTANCES = "innodb_page_cleaners", "innodb_buffer_pool_instances"


class PageCleaners(Rule):
    """Flushing is behind while the device idles, and instances share page cleaners: one for each."""

    name = "page-cleaners"
    about = "page cleaners that are fewer than the instances of the buffer pool, with flushing behind"
    source = "WL#6642: a page cleaner for each instance of the buffer pool; MySQL manual, innodb_page_cleaners"
    elsewhere = "WL#6642 tells of waits that end, and of no throughput"

    def advise(self, case: Case) -> Advice | None:
        """A cleaner for each instance, where the log is at its limit or pages are wanted."""
        found, server = case.finding("log limit", "free pages"), case.server
        if found is None or server is None or not server.has(_NAME) or not device_idles(case.evidence):
            return None
        cleaners, instances = server.number(_NAME), server.number(_INSTANCES)
        if cleaners is None or instances is None or cleaners >= instances:
            return None
        change = server.change("Give each instance of the pool a page cleaner.", {_NAME: int(instances)})
        if change is None:
            return None
        return self.advice(
            "Flushing is behind, and instances of the buffer pool share page cleaners.",
            change,
            f"{cleaners:g} page cleaners work for {instances:g} instances",
            busy_text(case.evidence),
            *found.evidence,
            confidence="medium",
            relieves=found,
        )
