"""What sysbench prints of a whole run, behind its reports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flatwater.results import LatencyUs, MetricSummary
from flatwater.results.importers.imported import Totals, bad_line
from flatwater.results.importers.sysbench_run import Run


def total_rate(totals: Mapping[str, float], unit: str) -> float | None:
    """The throughput in its totals, in the unit of its intervals; None if they do not tell it."""
    if unit == "IOPS" and "reads_per_s" in totals and "writes_per_s" in totals:
        return totals["reads_per_s"] + totals["writes_per_s"]
    if unit == "IOPS":
        return totals.get("requests_per_s")
    if unit == "tps":
        return totals.get("transactions_per_s", totals.get("events_per_s"))
    return None


def of_whole(totals: Totals, name: str) -> float:
    """The total count that belongs to a rate."""
    rate = totals.figures.get(f"workload.{name}")
    return (rate.mean or 0.0) * totals.length_s if rate else 0.0


def latency_of(totals: Mapping[str, float]) -> LatencyUs | None:
    """The percentiles of the run that sysbench printed: one, besides the maximum."""
    in_us = {
        name: totals[f"latency_{name}_ms"] * 1000 for name in ("p95", "p99", "max") if totals.get(f"latency_{name}_ms")
    }
    return LatencyUs.model_validate(in_us) if in_us else None


def whole_run(path: Path, run: Run) -> dict[str, MetricSummary]:
    """The rates of the whole run, from its totals."""
    totals = run.totals
    run.unit = "tps" if total_rate(totals, "tps") is not None else "IOPS"
    rate = total_rate(totals, run.unit)
    if rate is None and "events" in totals:
        run.unit, rate = "tps", totals["events"] / totals["total_time_s"]
    if rate is None:
        raise bad_line(path, *(run.broken.first or (run.line, "sysbench's totals have no throughput")))
    metrics: dict[str, float] = {}
    if run.unit == "IOPS" and "reads_per_s" in totals and "writes_per_s" in totals:
        metrics["workload.read_ops_per_s"] = totals["reads_per_s"]
        metrics["workload.write_ops_per_s"] = totals["writes_per_s"]
        if "read_mib_per_s" in totals and "written_mib_per_s" in totals:
            metrics["workload.bytes_per_s"] = (totals["read_mib_per_s"] + totals["written_mib_per_s"]) * 2**20
    metrics["workload.ops_per_s"] = metrics["workload.throughput"] = rate
    return {name: MetricSummary(mean=value, max=None) for name, value in metrics.items()}


def join_checkpoints(run: Run) -> list[str]:
    """Makes one of the totals at each checkpoint; what is told of it.

    sysbench sets its counters back at each: the last totals are of the time since the last checkpoint, but for their
    time, which goes on. Percentiles of parts are none of the whole.
    """
    if not run.checkpoints:
        return []
    blocks = [*run.earlier_totals, *([run.totals] if run.totals else [])]
    if len(blocks) <= run.checkpoints:
        run.totals = {}  # those at the end are missing
        return []
    joined: dict[str, float] = {}
    for name in ("events", "errors"):
        if found := [one[name] for one in blocks if name in one]:
            joined[name] = sum(found)
    if found := [one["latency_max_ms"] for one in blocks if "latency_max_ms" in one]:
        joined["latency_max_ms"] = max(found)
    ends_s = [one.get("total_time_s", 0.0) for one in blocks]
    lengths_s = [end_s - before_s for before_s, end_s in zip([0.0, *ends_s], ends_s, strict=False)]
    if min(lengths_s) > 0:
        joined["total_time_s"] = ends_s[-1]
        for name in blocks[-1]:
            if name.endswith("_per_s") and all(name in one for one in blocks):
                done = sum(one[name] * part_s for one, part_s in zip(blocks, lengths_s, strict=True))
                joined[name] = done / ends_s[-1]
    run.totals = joined
    parts = f"{len(blocks)} parts (--report-checkpoints)"
    return [f"its totals are those of {parts}, added up: percentiles of the whole run are not known"]
