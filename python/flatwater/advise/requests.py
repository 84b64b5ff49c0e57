"""What the storage is asked for, from whichever layer recorded it."""

from __future__ import annotations

from flatwater.analysis.bound import Evidence
from flatwater.analysis.bound.evidence import Database
from flatwater.analysis.bound.line import Line
from flatwater.analysis.bound.sessions import log_syncs_per_s

#: Where fewer of the requests are writes of pages, writing fewer pages saves too little to see (our choice).
_WRITTEN_MIN_SHARE = 0.1


def requests_per_s(evidence: Evidence) -> tuple[float, float] | None:
    """Reads and writes a second that the (slow) device gets; None where nothing tells.

    A modelled array does not count its requests. Those of the workload then stand for them, without what a flash cache
    answered.
    """
    device, load, database, cache = evidence.device, evidence.load, evidence.database, evidence.cache
    if device is not None and device.write_ops_per_s is not None:
        return _mean(device.read_ops_per_s), device.write_ops_per_s.mean
    if database is not None:
        if database.pages_flushed_per_s is None:
            return None
        reads = _mean(database.pages_read_per_s)
        writes = database.pages_flushed_per_s.mean + _mean(database.log_writes_per_s)
    elif load.write_ops_per_s is not None:
        reads, writes = _mean(load.read_ops_per_s), load.write_ops_per_s.mean
    else:
        return None
    hits = (cache.read_hit_ratio or cache.hit_ratio) if cache is not None else None
    return reads * (1 - (hits.mean if hits is not None else 0.0)), writes


def writes_pages(evidence: Evidence) -> bool:
    """Whether a good part of what the server asks for is writes of pages, and not reads or syncs of the log."""
    database = evidence.database
    if database is None:
        return False
    written, read, syncs = _mean(database.pages_flushed_per_s), _mean(database.pages_read_per_s), _syncs(database)
    return written > 0 and written >= _WRITTEN_MIN_SHARE * (written + read + syncs)


def syncs_logs(evidence: Evidence) -> bool:
    """Whether most of what the server asks for is syncs of its logs, and not pages."""
    database = evidence.database
    if database is None:
        return False
    syncs = _syncs(database)
    return syncs > 0 and syncs >= _mean(database.pages_flushed_per_s) + _mean(database.pages_read_per_s)


def _syncs(database: Database) -> float:
    return log_syncs_per_s(database) or 0.0


def _mean(line: Line | None) -> float:
    return line.mean if line is not None else 0.0
