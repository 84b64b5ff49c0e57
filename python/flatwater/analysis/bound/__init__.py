"""What bounded a run: the evidence of one cell, one file a bound, and the diagnosis that ranks what they find.

evidence.py   what one cell's result says, typed; gather.py reads it; line.py is one quantity; redo.py the log's limits
sessions.py   where the sessions' time went; processors.py and storage_time.py: the parts of it that several bounds need
finding.py    what a bound finds; diagnosis.py ranks the findings
onset.py      what stalls and dips began with, and what ended them
still_moving.py  what had not settled when the run ended

To add a bound, write `NAME.py` with `find(evidence) -> Finding | None` and add it to BOUNDS below.
"""

from flatwater.analysis.bound import (
    cache_destaging,
    cache_misses,
    client,
    contention,
    cpu,
    device_latency,
    device_throughput,
    dirty_limit,
    free_pages,
    fsync_path,
    garbage_collection,
    log_limit,
    neighbour,
    rate_asked,
)
from flatwater.analysis.bound.diagnosis import NOT_TOLD, NOTHING, Diagnosis, Find, decide
from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding
from flatwater.analysis.bound.gather import experiment_of, gather, read_evidence, server_folder
from flatwater.analysis.bound.onset import with_interruptions
from flatwater.analysis.bound.still_moving import still_moving

__all__ = [
    "BOUNDS",
    "NOTHING",
    "NOT_TOLD",
    "Diagnosis",
    "Evidence",
    "Finding",
    "diagnose",
    "experiment_of",
    "gather",
    "read_evidence",
    "server_folder",
    "still_moving",
    "with_interruptions",
]

#: Every bound. A cause stands before what it causes.
BOUNDS: tuple[Find, ...] = (
    rate_asked.find,
    neighbour.find,
    client.find,
    log_limit.find,
    dirty_limit.find,
    free_pages.find,
    cache_destaging.find,
    garbage_collection.find,
    fsync_path.find,
    contention.find,
    cache_misses.find,
    device_throughput.find,
    device_latency.find,
    cpu.find,
)


def diagnose(evidence: Evidence) -> Diagnosis:
    """What bounded the cell."""
    return decide(evidence, BOUNDS)
