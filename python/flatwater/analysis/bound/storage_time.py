"""The share of the sessions' time that the storage took, and whether it was at the end of its strength meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flatwater.analysis.bound.device import Device, OwnDevice
from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.sessions import SATURATED, SessionTime, session_time

#: From this utilisation on, a queue with random arrivals takes five times as long as one request alone (M/M/1,
#: 1 / (1 - utilisation)): four fifths of the time are spent waiting for others.
_FULL = 0.80
#: The kernel calls a device busy that has one request at least, whatever it could do beside it. So a real device must
#: be busy nearly all the time. And two requests must be in flight, on average: of one at a time (a log's syncs, one
#: thread that reads) each takes its time, and none waits for another.
_QUEUED = 2.0
#: A device that is busy for half of its time is no device that idles (`advise.storage.device_idles`).
_BUSY_MIN_PCT = 50
#: A volume whose credits are used up serves its baseline and no more.
_CREDITS_LEFT = 1.0


@dataclass(frozen=True)
class StorageTime:
    """Sessions that wait for the storage."""

    time: SessionTime
    #: The one that they wait for (`waited_for`), and what it is called.
    device: Device
    name: str
    #: Sessions in reads, in the syncs of commits, and in requests of fileio.
    waiting: float
    #: The share of the measured intervals in which the device did all that it can.
    saturated: float
    #: The share of the device's bytes that this run did not ask for; 0 where that cannot be told.
    foreign: float

    @property
    def unsaturated(self) -> float:
        """The share of the time in which the device could have done more: neither full, nor kept by its collector."""
        collected = self.device.gc_share_pct.mean / 100 if self.device.gc_share_pct is not None else 0.0
        return (1 - self.saturated) * (1 - collected)

    @property
    def share(self) -> float:
        """Of the sessions' time, without what others made of it who used the device meanwhile."""
        return self.time.of(self.waiting) * (1 - self.foreign)


def storage_time(evidence: Evidence) -> StorageTime | None:
    """None where it is not known, or there is no device whose figures were recorded."""
    time, (device, name) = session_time(evidence), waited_for(evidence)
    if time is None or device is None or time.reading is None:
        return None
    waiting = time.reading + (time.committing or 0.0)
    return StorageTime(time, device, name, waiting, saturated_share(device), foreign_share(evidence) or 0.0)


def is_cache(evidence: Evidence, device: Device) -> bool:
    """Whether it is the own device of a flash cache."""
    return evidence.cache is not None and device is evidence.cache.fast


def waited_for(evidence: Evidence) -> tuple[Device | None, str]:
    """The device that requests wait for, and what it is called: with a flash cache, the busier one of its two."""
    device, fast = evidence.device, evidence.cache.fast if evidence.cache is not None else None
    if fast is None or fast.busy_pct is None:
        return device, "the device"
    if device is None or device.busy_pct is None or device.busy_pct.mean < fast.busy_pct.mean:
        return fast, "the cache's own device"
    return device, "the device behind the cache"


def saturated_share(device: Device) -> float:
    """The share of the intervals in which the device could not do more."""
    spent = [one.value < _CREDITS_LEFT for one in (device.credits, device.byte_credits) if one is not None]
    if device.busy_pct is None:
        return 0.0
    queue = device.queue_depth
    if device.kind == "file":
        full = device.busy_pct.value >= 100 * SATURATED
        full &= queue.value >= _QUEUED if queue is not None else False
    else:
        full = device.busy_pct.value >= 100 * _FULL
        # A model tells the number of one moment.
        full &= queue is None or queue.mean >= _QUEUED
    for one in spent:
        full |= one
    return device.busy_pct.share(full)


def fullest_own(evidence: Evidence) -> OwnDevice | None:
    """Of the devices that parts of a modelled server have to themselves, the one that is full most of the time.

    A device of logs only is not among them: it writes one thing at a time, and the fsync path tells how long it takes.
    None if there is none, or the device of the data is saturated no less.
    """
    holding = [one for one in evidence.own_devices if one.holds.tables or "doublewrite" in one.holds.parts]
    found = max(holding, key=own_saturated_share, default=None)
    whole = saturated_share(evidence.device) if evidence.device is not None else 0.0
    return found if found is not None and own_saturated_share(found) > whole else None


def own_saturated_share(own: OwnDevice) -> float:
    """The share of the intervals in which a part's own device could not do more."""
    if own.holds.tables:
        return saturated_share(own.device)
    busy = own.device.busy_pct
    # One batch of the doublewrite buffer is written at a time, and all others wait for it outside of the device.
    return busy.share_at_least(100 * _FULL) if busy is not None else 0.0


def writes_wait_text(evidence: Evidence) -> str | None:
    """That pages wait for the doublewrite buffer's own device, the busier one; None if it is not."""
    device = evidence.device
    own = next((one for one in evidence.own_devices if "doublewrite" in one.holds.parts), None)
    if own is None or own.device.busy_pct is None or device is None or device.busy_pct is None:
        return None
    busy, whole = own.device.busy_pct.mean, device.busy_pct.mean
    if busy < _BUSY_MIN_PCT or busy < 2 * whole:
        return None
    return f"{own.text} was busy for {busy:.0f} % of the time, that of the data for {whole:.0f} %"


def moved_bytes(device: Device) -> float:
    """Bytes a second that the device read and wrote."""
    return sum(one.mean for one in (device.read_bytes_per_s, device.write_bytes_per_s) if one is not None)


def _written_late(evidence: Evidence) -> float:
    """Bytes a second by which the kernel's dirty memory shrank over the measured phase."""
    dirty = evidence.machine.memory_dirty_bytes
    known = dirty.value[np.isfinite(dirty.value)] if dirty is not None else np.empty(0)
    span_s = evidence.interval_s * len(known)
    return max(0.0, float(known[0] - known[-1])) / span_s if span_s > 0 else 0.0


def foreign_share(evidence: Evidence) -> float | None:
    """The share of the device's bytes that this run did not ask for; None where that cannot be told.

    A file system adds writes of its own to each sync, so only what is more than twice what was asked for is foreign;
    and what the kernel had not written yet when the measurement began (the copy of the data) is this run's.
    """
    device, database = evidence.device, evidence.database
    if device is None or device.kind != "file" or device.read_bytes_per_s is None or device.write_bytes_per_s is None:
        return None
    if database is not None:
        reads, writes = database.data_read_bytes_per_s, database.data_written_bytes_per_s
        redo = database.redo_bytes_per_s
    else:
        reads, writes, redo = evidence.load.read_bytes_per_s, evidence.load.write_bytes_per_s, None
    if reads is None or writes is None:
        return None
    if evidence.experiment is not None and not getattr(evidence.experiment.workload, "direct", True):
        return None  # the kernel reads ahead and writes later, both by its own rules
    own_writes = writes.mean + (redo.mean if redo is not None else 0.0) + _written_late(evidence)
    foreign = max(0.0, device.read_bytes_per_s.mean - reads.mean) + max(
        0.0, device.write_bytes_per_s.mean - 2 * own_writes
    )
    moved = moved_bytes(device)
    return foreign / moved if moved > 0 else None
