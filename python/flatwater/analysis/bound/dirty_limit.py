"""The share of dirty pages is at its limit, and the server flushes to stay below it."""

from __future__ import annotations

import numpy as np

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.storage_time import writes_wait_text
from flatwater.analysis.bound.words import each_second, percent

#: Of an interval's change of the dirty share: samples are taken once an interval, and the server looks in between.
_CHANGE_PCT = 95
#: No sample further away than this many points of a percent is at the limit.
_WITHIN_MAX = 5.0


def find(evidence: Evidence) -> Finding | None:
    """The share of the seconds in which the dirty share was at innodb_max_dirty_pages_pct."""
    database = evidence.database
    if database is None or database.dirty_pct is None:
        return None
    limit = database.variables.number("innodb_max_dirty_pages_pct")
    if limit is None or limit <= 0:
        return None
    dirty = database.dirty_pct
    changes = np.abs(np.diff(dirty.value[np.isfinite(dirty.value)]))
    within = min(float(np.percentile(changes, _CHANGE_PCT)), _WITHIN_MAX, limit / 2) if len(changes) else 0.0
    share = dirty.share_at_least(limit - within)
    return found(
        "dirty limit",
        share,
        "seconds",
        f"{dirty.mean:.1f} % of the pages were dirty on average and {dirty.max:.1f} % at most, with "
        f"innodb_max_dirty_pages_pct = {limit:g}",
        f"they were at the limit in {percent(share)} of the seconds",
        each_second(database.pages_flushed_per_s, "pages flushed"),
        writes_wait_text(evidence),
    )
