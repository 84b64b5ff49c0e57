"""Something else uses the machine: its processors, those of the host, or the device."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.processors import Processors, processors
from flatwater.analysis.bound.storage_time import foreign_share, moved_bytes, storage_time
from flatwater.analysis.bound.words import counted, figure, percent, size


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time that others cost, on the processors and on the device together."""
    if evidence.layers.virtual:
        return None
    used = processors(evidence)
    if used is None:
        return None
    on_cpu = used.time.of(used.waited(used.others + used.stolen))
    storage = storage_time(evidence)
    foreign = foreign_share(evidence)
    on_device = storage.time.of(storage.waiting) * storage.foreign if storage is not None else 0.0
    return found("neighbour", min(on_cpu + on_device, 1.0), "time", *_evidence(evidence, used, foreign))


def _evidence(evidence: Evidence, used: Processors, foreign: float | None) -> list[str | None]:
    waited = used.waited(used.others + used.stolen)
    device = evidence.device
    return [
        f"other processes used {figure(used.others)} of the machine's {used.cores} cores"
        if used.others > 0 and used.cores
        else None,
        f"the host gave {figure(used.stolen)} cores to others (steal)" if used.stolen >= 0.01 else None,
        f"{figure(waited)} of {counted(used.time.sessions, 'session')} waited for a processor because of that"
        if waited > 0
        else None,
        f"{percent(foreign)} of the {size(moved_bytes(device))} a second on the device were not this run's"
        if foreign and device is not None
        else None,
    ]
