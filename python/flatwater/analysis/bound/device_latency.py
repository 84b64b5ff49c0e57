"""The sessions wait for answers of the device, which could do more: each answer takes its time."""

from __future__ import annotations

from flatwater.analysis.bound.below import chores_text, degraded_text, heat_text
from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.storage_time import StorageTime, storage_time
from flatwater.analysis.bound.words import counted, duration, each_second, figure


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time in reads (of fileio: in requests), without the seconds of a saturated device."""
    storage = storage_time(evidence)
    if storage is None:
        return None
    if evidence.database is None:
        # A cache in front has bounds of its own.
        return _of_requests(evidence, storage) if evidence.cache is None else None
    # The syncs of commits are the fsync path's.
    reading = storage.time.of(storage.time.with_queue(storage.time.reading)) * (1 - storage.foreign)
    return found(
        "device latency",
        reading * storage.unsaturated,
        "time",
        _waiting(storage),
        each_second(evidence.database.pages_read_per_s, "pages read"),
        _busy(storage),
        degraded_text(evidence),
        chores_text(evidence),
        heat_text(evidence),
    )


def _of_requests(evidence: Evidence, storage: StorageTime) -> Finding | None:
    latency = evidence.load.latency_us.get("all")
    # Syncs are the fsync path's, and whoever waits for another's write to the same file is not at the device.
    at_device = (storage.time.reading or 0.0) - (storage.time.write_locks or 0.0)
    taken = f"half of them took at most {duration(latency.p50)}" if latency is not None and latency.p50 else None
    return found(
        "device latency",
        storage.time.of(at_device) * (1 - storage.foreign) * storage.unsaturated,
        "time",
        f"{figure(at_device)} of {counted(storage.time.sessions, 'request')} in flight were waiting for the device",
        taken,
        _busy(storage),
        degraded_text(evidence),
        chores_text(evidence),
        heat_text(evidence),
    )


def _waiting(storage: StorageTime) -> str:
    time = storage.time
    took = f" ({duration(time.read_us)} each)" if time.read_us is not None else ""
    return f"{figure(time.reading or 0.0)} of {counted(time.sessions, 'session')} waited for a page to be read{took}"


def _busy(storage: StorageTime) -> str | None:
    busy = storage.device.busy_pct
    return f"{storage.name} was busy for {busy.mean:.0f} % of the time" if busy is not None else None
