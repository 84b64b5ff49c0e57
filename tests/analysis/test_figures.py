from __future__ import annotations

from flatwater.analysis.figures import better_direction, figure_names, lookup_figure
from flatwater.results import CellSummary, Dip, LatencyUs, MetricSummary


def summary() -> CellSummary:
    return CellSummary(
        cell=0,
        seed=1,
        status="complete",
        unit="tps",
        mean=50.0,
        stddev=5.0,
        verdict="dips",
        dips=[Dip(start_s=1, length_s=2, depth=0.5), Dip(start_s=9, length_s=4, depth=0.3)],
        latency_us=LatencyUs(p99=700),
        counters={"deadlocks": 3},
        metrics={"database.dirty_pct": MetricSummary(mean=40, max=70)},
    )


def test_figures_by_their_names() -> None:
    wanted = {
        "mean": 50, "latency_us.p99": 700, "cv_pct": 10, "dip_length_s": 3, "dip_depth": 0.4,
        "database.dirty_pct": 40, "database.dirty_pct.max": 70,
    }  # fmt: skip
    assert {name: lookup_figure(summary(), name) for name in wanted} == wanted
    for name in ("nothing", "latency_us", "latency_us.p95", "verdict", "metrics", "model_dump", "fast", ""):
        assert lookup_figure(summary(), name) is None


def test_every_name_that_is_told_is_found() -> None:
    names = figure_names(summary())
    assert {"mean", "latency_us.p99", "cv_pct", "database.dirty_pct"} <= names
    assert all(lookup_figure(summary(), name) is not None for name in names)


def test_what_is_better() -> None:
    wanted = {
        "mean": "higher", "flatness": "higher", "latency_us.p99": "lower", "workload.latency_p95_us.max": "lower",
        "client_cpu_us_per_op": "lower", "cv_pct": "lower", "storage.read_await_us": "lower",
        "database.checkpoint_age_bytes": None, "database.dirty_pct": None,
    }  # fmt: skip
    assert {name: better_direction(name) for name in wanted} == wanted
