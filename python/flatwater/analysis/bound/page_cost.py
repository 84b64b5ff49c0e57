"""The part of a server's processor time that goes into pages that are not in the pool.

A page that is read is checked and found a frame for, and a dirty page that must leave the pool is written first. What
both cost, beside a statement, was measured (`workloads/`, by least squares over many cells). Only the proportions are
used here, so the speed of this machine's cores does not matter.
"""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Evidence
from flatwater.experiment.database.measured import default_workload

#: Of TPC-C, whose statements were measured. TPROC-C calls procedures: nobody counts the statements in them.
_MEASURED = ("", "tpcc-mysql")


def share_of_misses(evidence: Evidence) -> float | None:
    """The share of the server's processor time, 0 to 1; None where it cannot be told."""
    database, queries = evidence.database, evidence.load.queries_per_s
    if database is None or queries is None or evidence.load.kind not in ("tpcc", "oltp"):
        return None
    if database.pages_read_per_s is None or evidence.load.variant not in _MEASURED:
        return None
    version = ".".join(str(part) for part in database.release)
    cost = default_workload(evidence.load.kind, f"{database.flavour}-{version}").cpu_us
    evicted = database.flushed_lru_per_s.mean if database.flushed_lru_per_s is not None else 0.0
    misses = database.pages_read_per_s.mean * cost.page_read.value + evicted * cost.page_written.value
    written = database.pages_flushed_per_s.mean if database.pages_flushed_per_s is not None else evicted
    others = max(0.0, written - evicted) * cost.page_written.value
    whole = misses + others + queries.mean * cost.statement.value
    return misses / whole if whole > 0 else None
