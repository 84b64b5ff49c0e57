"""A low-water mark of dirty pages has pages written early, on a device that has no time for it."""

from __future__ import annotations

from flatwater.advise.advice import Advice
from flatwater.advise.requests import writes_pages
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import busy_text
from flatwater.analysis.bound.words import size

_NAME = "innodb_max_dirty_pages_pct_lwm"
#: Half of the age at which the server must flush: the log has room for pages to be written half as often.
_AGE_SHARE = 0.5


class DirtyLowWater(Rule):
    """The device is full, and the low-water mark makes the server flush: no mark."""

    name = "dirty-low-water"
    about = "an innodb_max_dirty_pages_pct_lwm at which pages are flushed early to a full device"
    source = "WL#9630: the mark of 8.0 gives up some peak throughput for a steadier one, and 0 switches it off"
    elsewhere = "nobody is known to have published the throughput without a mark"

    def advise(self, case: Case) -> Advice | None:
        """No mark, where the dirty share is above it, and nothing else makes the server flush."""
        found, server = case.finding("device throughput", "garbage collection"), case.server
        database = case.evidence.database
        if found is None or server is None or database is None or not writes_pages(case.evidence):
            return None
        mark, dirty = server.number(_NAME), database.dirty_pct
        age, redo = database.checkpoint_age_bytes, database.redo
        if not mark or dirty is None or age is None or redo is None or dirty.median < mark:
            return None
        if age.max >= _AGE_SHARE * redo.async_bytes or case.finding("log limit", "dirty limit", "free pages"):
            return None
        change = server.change("Let the dirty share alone make no page be written early.", {_NAME: 0})
        if change is None:
            return None
        return self.advice(
            "Pages are written because some are dirty, and the device has no time for it.",
            change,
            f"{dirty.median:.0f} % of the pages were dirty, and flushing begins at {mark:g} %",
            f"the checkpoint age was {size(age.max)} at most, and the log makes it flush from {size(redo.async_bytes)}",
            busy_text(case.evidence),
            confidence="low",
            risk="the throughput may vary more: flushing begins later, and is faster then",
            relieves=found,
        )
