"""How long a modelled server's requests take: from the figures of its devices, and the requests in their queues."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.analysis.bound.device import Device
from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.line import Line
from flatwater.analysis.bound.unloaded import Unloaded, unloaded
from flatwater.experiment import ModelledStorage
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.database.placement import Part
from flatwater.experiment.device import Device as DeviceFile

#: M/M/1: from here on an answer takes twenty times as long as it does alone, and the mean no longer says more.
_BUSY_MAX = 0.95
#: Kinds that take about as long for a write as for a read, so that one mean time stands for both. A card is not among
#: them: it programs for longer than it reads.
_ALIKE = ("hdd", "raid", "volume")


@dataclass(frozen=True)
class ModelledTime:
    """Times of one request, microseconds, queues included."""

    #: A read of a page.
    read_us: float
    #: A sync of the redo log, and of the binary log.
    redo_us: float
    binlog_us: float


def modelled_time(evidence: Evidence) -> ModelledTime | None:
    """None where the file of a device does not tell."""
    experiment, database = evidence.experiment, evidence.database
    if experiment is None or database is None or not isinstance(experiment.storage, ModelledStorage):
        return None
    slow = _queued(experiment.storage.modelled_device, evidence.device)
    if slow is None:
        return None
    read_us, sync_us = max(slow.read_us, _in_queue_us(evidence.device, database)), slow.sync_us
    flash = experiment.flash_cache
    if flash is not None and evidence.cache is not None:
        fast = _queued(flash.storage.modelled_device, None) if isinstance(flash.storage, ModelledStorage) else None
        ratio = evidence.cache.read_hit_ratio or evidence.cache.hit_ratio
        if fast is None or ratio is None:
            return None
        # A miss is read from the slow device; a write ends on the fast one.
        read_us, sync_us = ratio.mean * fast.read_us + (1 - ratio.mean) * slow.read_us, fast.sync_us
    return ModelledTime(read_us, _own_sync_us(evidence, "log", sync_us), _own_sync_us(evidence, "binlog", sync_us))


def away_us(evidence: Evidence) -> float:
    """The network's and the client's part of a modelled statement's round trip."""
    asked = evidence.experiment.database if evidence.experiment is not None else None
    if not isinstance(asked, InnodbModel):
        return 0.0
    own = asked.cpu.round_trip_us
    return own if own is not None else asked.hardware.round_trip_us


def _own_sync_us(evidence: Evidence, part: Part, otherwise: float) -> float:
    """A sync of a log that has a device of its own."""
    own = next((one for one in evidence.own_devices if part in one.holds.parts), None)
    if own is None or own.model is None:
        return otherwise
    # Its syncs come one after another: what keeps it busy is this log, and no queue before it.
    found = unloaded(own.model)
    return otherwise if found is None else found.sync_us


def _queued(file: DeviceFile, device: Device | None) -> Unloaded | None:
    """M/M/1: at a utilisation u, an answer takes 1 / (1 - u) times as long as it does alone."""
    found = unloaded(file)
    busy = device.busy_pct.mean / 100 if device is not None and device.busy_pct is not None else 0.0
    longer = 1 / (1 - min(busy, _BUSY_MAX))
    return None if found is None else Unloaded(found.read_us * longer, found.sync_us * longer)


def _in_queue_us(device: Device | None, database: Database) -> float:
    """Little's law: requests in the queue for each request a second; 0 where the queue is not known."""
    if device is None or device.queue_depth is None or device.kind not in _ALIKE:
        return 0.0
    counted = (database.pages_read_per_s, database.pages_flushed_per_s, database.log_writes_per_s)
    rate = sum(_mean(one) for one in counted)
    return 1e6 * device.queue_depth.mean / rate if rate > 0 else 0.0


def _mean(line: Line | None) -> float:
    return line.mean if line is not None else 0.0
