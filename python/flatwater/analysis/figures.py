"""A figure of a cell's summary by its name, and whether more of it is better."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from flatwater.results import CellSummary
from flatwater.results.phases import began_s

#: Figures of the summary's transition.
_OF_TRANSITION = ("fast", "steady", "transition_s", "transition_begin_s", "transition_end_s")


def lookup_figure(summary: CellSummary, metric: str) -> float | None:
    """A figure of the summary by its name: `mean`, `latency_us.p95`, `transition_s`. Of a series it is the mean, or
    with `.max` the maximum. Of dips it is the median (the depth is 0 if a series has none).
    """
    value: Any = summary
    series = summary.metrics.get(metric.removesuffix(".max"))
    if series is not None:
        value = series.max if metric.endswith(".max") else series.mean
    elif metric in ("dip_depth", "dip_length_s"):
        sizes = [dip.depth if metric == "dip_depth" else dip.length_s for dip in summary.dips]
        none = 0.0 if metric == "dip_depth" and summary.verdict is not None else None
        value = float(np.median(sizes)) if sizes else none
    elif metric in _OF_TRANSITION:
        value = _transition_figure(summary, metric)
    elif metric == "cv_pct":
        value = 100 * summary.stddev / summary.mean if summary.mean and summary.stddev is not None else None
    else:
        for part in metric.split("."):
            value = getattr(value, part, None)
    return float(value) if isinstance(value, int | float) else None


def _transition_figure(summary: CellSummary, metric: str) -> float | None:
    transition = summary.transition
    if transition is None:
        return None
    if metric in ("fast", "steady"):  # `steady` of the summary itself says whether the run was
        return transition.fast if metric == "fast" else transition.steady
    if metric == "transition_s":
        return transition.transition_s
    at_s = transition.begin_s if metric == "transition_begin_s" else transition.end_s
    return None if at_s is None else at_s - began_s(summary.phases)


#: Figures of which more is better, and of which less is. Times and latencies need no line: less of them is better.
_HIGHER = {
    *("mean", "median", "flatness", "operations", "fast", "steady"),
    *("workload.throughput", "workload.ops_per_s", "workload.bytes_per_s"),
    *("database.hit_ratio", "cache.hit_ratio"),
}
_LOWER = {
    *("client_cpu_us_per_op", "stddev", "cv_pct", "dip_depth", "dip_length_s"),
    *("errors", "workload.errors_per_s", "storage.write_amplification"),
    *("health.written_bytes_per_operation", "health.read_bytes_per_operation"),
}


def better_direction(metric: str) -> Literal["higher", "lower"] | None:
    """Whether more or less of a figure is better; None for one that is neither, as a checkpoint age."""
    name = metric.removesuffix(".max")
    if name in _HIGHER:
        return "higher"
    if name in _LOWER or "latency" in name or name.endswith(("_us", "_waits_per_s")):
        return "lower"
    return None


def figure_names(summary: CellSummary) -> set[str]:
    """The names of the figures that a summary has: those that `lookup_figure` finds."""
    names = {*_HIGHER, *_LOWER, "mean_ci95", "dip_period_s", *_OF_TRANSITION, *summary.metrics}
    names |= {f"latency_us.{name}" for name in ("p50", "p95", "p99", "p999", "max")}
    names |= {f"counters.{name}" for name in summary.counters}
    return {name for name in names if lookup_figure(summary, name) is not None}
