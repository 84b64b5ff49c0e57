"""The load generator: it runs, or waits for a processor that it uses itself, while the stack has nothing to do."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.processors import processors
from flatwater.analysis.bound.words import duration, figure


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time that the load generator took for itself."""
    used = processors(evidence)
    if used is None or used.time.client_cpu is None or evidence.layers.virtual:
        return None
    spent = used.time.client_cpu + used.waited(used.client)
    per_op = evidence.load.client_cpu_us_per_op
    return found(
        "client",
        used.time.of(spent),
        "time",
        f"the load generator used {figure(used.client)} cores"
        + (f", {duration(per_op)} of processor time for each of its operations" if per_op is not None else ""),
        used.busy_text,
    )
