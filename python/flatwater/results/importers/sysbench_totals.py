"""What sysbench prints of a whole run, behind its reports."""

from __future__ import annotations

from collections.abc import Mapping

from flatwater.results import LatencyUs
from flatwater.results.importers.imported import Totals


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
