"""Something else uses the machine: its processors, those of the host, or the device."""

from __future__ import annotations

import numpy as np

from flatwater.analysis.bound.evidence import Device, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.processors import Processors, processors
from flatwater.analysis.bound.storage_time import storage_time
from flatwater.analysis.bound.words import figure, percent, size


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time that others cost, on the processors and on the device together."""
    if evidence.layers.virtual:
        return None
    used = processors(evidence)
    if used is None:
        return None
    on_cpu = used.time.of(used.waited(used.others + used.stolen))
    foreign = _foreign_share(evidence)
    storage = storage_time(evidence)
    on_device = foreign * storage.share if foreign is not None and storage is not None else 0.0
    return found("neighbour", min(on_cpu + on_device, 1.0), "time", *_evidence(evidence, used, foreign))


def _evidence(evidence: Evidence, used: Processors, foreign: float | None) -> list[str | None]:
    waited = used.waited(used.others + used.stolen)
    device = evidence.device
    return [
        f"other processes used {figure(used.others)} of the machine's {used.cores} cores"
        if used.others > 0 and used.cores
        else None,
        f"the host gave {figure(used.stolen)} cores to others (steal)" if used.stolen >= 0.01 else None,
        f"{figure(waited)} of {figure(used.time.sessions)} sessions waited for a processor because of that"
        if waited > 0
        else None,
        f"{percent(foreign)} of the {size(_moved(device))} a second on the device were not this run's"
        if foreign and device is not None
        else None,
    ]


def _moved(device: Device) -> float:
    return sum(one.mean for one in (device.read_bytes_per_s, device.write_bytes_per_s) if one is not None)


def _written_late(evidence: Evidence) -> float:
    """Bytes a second by which the kernel's dirty memory shrank over the measured phase."""
    dirty = evidence.machine.memory_dirty_bytes
    known = dirty.value[np.isfinite(dirty.value)] if dirty is not None else np.empty(0)
    span_s = evidence.interval_s * len(known)
    return max(0.0, float(known[0] - known[-1])) / span_s if span_s > 0 else 0.0


def _foreign_share(evidence: Evidence) -> float | None:
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
    moved = _moved(device)
    return foreign / moved if moved > 0 else None
