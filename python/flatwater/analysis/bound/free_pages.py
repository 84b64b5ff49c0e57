"""No frame of the buffer pool is free: a session that reads a page waits until another page was written and evicted."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.sessions import session_time
from flatwater.analysis.bound.storage_time import writes_wait_text
from flatwater.analysis.bound.words import counted, each_second, figure, percent


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time that a model tells, or the share of the page reads that found no free frame."""
    database = evidence.database
    if database is None or database.free_page_waits_per_s is None or database.pages_read_per_s is None:
        return None
    waits, reads = database.free_page_waits_per_s.mean, database.pages_read_per_s.mean
    if reads <= 0:
        return None
    time = session_time(evidence)
    if evidence.layers.virtual and time is None:
        return None  # a model that did not record where its sessions were
    frames = time.frames if time is not None else None
    share = time.of(time.with_queue(frames)) if time is not None and frames is not None else waits / reads
    lru, flushed = database.flushed_lru_per_s, database.pages_flushed_per_s
    freed = lru.mean / flushed.mean if lru is not None and flushed is not None and flushed.mean > 0 else None
    return found(
        "free pages",
        share,
        "time",
        f"{figure(frames)} of {counted(time.sessions, 'session')} waited for free pages" if time and frames else None,
        f"{figure(waits)} times a second a session found no free page, at {figure(reads)} page reads a second"
        if waits
        else None,
        f"{percent(min(freed, 1.0))} of the pages were flushed to free their frames" if freed is not None else None,
        each_second(database.pages_flushed_per_s, "pages flushed"),
        writes_wait_text(evidence),
        f"{figure(database.free_pages.mean)} pages were free on average" if database.free_pages is not None else None,
    )
