"""The share of the sessions' time that the storage took, and whether it was at the end of its strength meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.analysis.bound.evidence import Device, Evidence
from flatwater.analysis.bound.sessions import SATURATED, SessionTime, session_time

#: From this utilisation on, a queue with random arrivals takes five times as long as one request alone (M/M/1,
#: 1 / (1 - utilisation)): four fifths of the time are spent waiting for others.
_FULL = 0.80
#: The kernel calls a device busy that has one request at least, whatever it could do beside it. So a real device must
#: be busy nearly all the time, and two requests must be in flight: on a device that does one at a time, one waits.
_QUEUED = 2.0
#: A volume whose credits are used up serves its baseline and no more.
_CREDITS_LEFT = 1.0


@dataclass(frozen=True)
class StorageTime:
    """Sessions that wait for the storage."""

    time: SessionTime
    device: Device
    #: Sessions in reads, in the syncs of commits, and in requests of fileio.
    waiting: float
    #: The share of the measured intervals in which the device did all that it can.
    saturated: float

    @property
    def share(self) -> float:
        """Of the sessions' time."""
        return self.time.of(self.waiting)


def storage_time(evidence: Evidence) -> StorageTime | None:
    """None where it is not known, or there is no device whose figures were recorded."""
    time, device = session_time(evidence), evidence.device
    if time is None or device is None or time.reading is None:
        return None
    return StorageTime(time, device, time.reading + (time.committing or 0.0), saturated_share(device))


def saturated_share(device: Device) -> float:
    """The share of the intervals in which the device could not do more."""
    spent = [one.value < _CREDITS_LEFT for one in (device.credits, device.byte_credits) if one is not None]
    if device.busy_pct is None:
        return 0.0
    if device.kind == "file":
        full = device.busy_pct.value >= 100 * SATURATED
        full &= device.queue_depth.value >= _QUEUED if device.queue_depth is not None else False
    else:
        full = device.busy_pct.value >= 100 * _FULL
    for one in spent:
        full |= one
    return device.busy_pct.share(full)
