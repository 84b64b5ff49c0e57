"""A flash cache is full of dirty blocks: it writes them back, and new ones wait for room."""

from __future__ import annotations

import numpy as np

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.words import each_second, percent, size


def find(evidence: Evidence) -> Finding | None:
    """The share of the seconds in which dirty blocks were at the high mark, or a write found no slot."""
    cache = evidence.cache
    if cache is None or cache.dirty_pct is None or cache.dirty_high_pct is None:
        return None
    dirty, high = cache.dirty_pct, cache.dirty_high_pct.mean
    full = dirty.value >= high
    starved = cache.starved_per_s
    if starved is not None:
        full |= np.nan_to_num(starved.value) > 0
    back = cache.write_back_bytes_per_s
    return found(
        "cache destaging",
        dirty.share(full),
        "seconds",
        f"{dirty.mean:.1f} % of the cache was dirty on average, and it writes back at full rate from {high:g} % on",
        f"{size(back.mean)} a second were written back" if back is not None else None,
        each_second(starved, "writes found no slot") if starved is not None and starved.max > 0 else None,
        f"the slow device was busy for {evidence.device.busy_pct.mean:.0f} % of the time"
        if evidence.device is not None and evidence.device.busy_pct is not None
        else None,
        f"at the mark in {percent(dirty.share(full))} of the seconds",
    )
