"""A flash card's collector moves valid pages, and writes of the host wait for it."""

from __future__ import annotations

from flatwater.analysis.bound import free_pages, log_limit
from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.storage_time import storage_time, waited_for
from flatwater.analysis.bound.words import figure, size


def find(evidence: Evidence) -> Finding | None:
    """The share of the time in which the collector kept writes out. A real card does not tell it."""
    device, _ = waited_for(evidence)
    if device is None or device.gc_share_pct is None:
        return None
    storage = storage_time(evidence)
    share = 1.0
    if storage is not None and evidence.database is not None:
        # Its pages are written behind the sessions. So what counts is the time that they spend in the storage, and the
        # time in which they must wait for pages to be written.
        behind = (log_limit.find(evidence), free_pages.find(evidence))
        share = max(storage.share, *(one.share for one in behind if one is not None), 0.0)
    amplification, moved = device.write_amplification, device.relocated_bytes_per_s
    return found(
        "garbage collection",
        share * device.gc_share_pct.mean / 100,
        "time",
        f"writes waited for the collector {device.gc_share_pct.mean:.0f} % of the time",
        f"write amplification {figure(amplification.mean)}" if amplification is not None else None,
        f"{size(moved.mean)} a second were moved" if moved is not None else None,
        f"{device.valid_pct.mean:.0f} % of the card's pages were valid" if device.valid_pct is not None else None,
    )
