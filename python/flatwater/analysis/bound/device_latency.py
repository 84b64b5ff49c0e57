"""The sessions wait for answers of the device, which could do more: each answer takes its time."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.storage_time import StorageTime, storage_time
from flatwater.analysis.bound.words import duration, each_second, figure


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time in requests, without the seconds in which the device was saturated."""
    storage = storage_time(evidence)
    if storage is None:
        return None
    if evidence.database is None:
        # A cache in front has bounds of its own.
        return _of_requests(evidence, storage) if evidence.cache is None else None
    database = evidence.database
    return found(
        "device latency",
        storage.share * storage.unsaturated,
        "time",
        _waiting(storage),
        each_second(database.pages_read_per_s, "pages read"),
        _busy(storage),
    )


def _of_requests(evidence: Evidence, storage: StorageTime) -> Finding | None:
    latency = evidence.load.latency_us.get("all")
    taken = f"half of them took at most {duration(latency.p50)}" if latency is not None and latency.p50 else None
    return found(
        "device latency",
        storage.share * storage.unsaturated,
        "time",
        f"{figure(storage.waiting)} of {figure(storage.time.sessions)} requests in flight were waiting for the device",
        taken,
        _busy(storage),
    )


def _waiting(storage: StorageTime) -> str:
    time = storage.time
    parts = [
        ("for a page to be read", time.reading, time.read_us),
        ("for a commit's sync", time.committing, time.sync_us),
    ]
    told = [
        f"{figure(number)} {what}" + (f" ({duration(took)} each)" if took is not None else "")
        for what, number, took in parts
        if number
    ]
    about = "" if time.seen else "about "
    return f"{about}{figure(storage.waiting)} of {figure(time.sessions)} sessions were waiting: {', '.join(told)}"


def _busy(storage: StorageTime) -> str | None:
    busy = storage.device.busy_pct
    return f"the device was busy for {busy.mean:.0f} % of the time" if busy is not None else None
