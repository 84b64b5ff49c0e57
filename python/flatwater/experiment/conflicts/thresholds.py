"""Limits that cannot be checked in a run of the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flatwater.experiment.experiment import Experiment
from flatwater.experiment.problem import Problem

#: Limits of latencies.
_LATENCIES = ("p95_max_s", "p99_max_s", "p999_max_s")


def threshold_conflicts(experiment: Experiment, left_out: Iterable[str] = ()) -> Iterator[Problem]:
    """Limits for figures that the experiment does not record: reported before the run.

    `left_out` are the fields with problems of their own.
    """
    thresholds = experiment.thresholds
    if thresholds is None:
        return
    if thresholds.says_nothing and not any(name.startswith("thresholds.") for name in left_out):
        yield Problem("thresholds", "has no limit", "mean_min = 1000")
    if thresholds.checkpoint_age_max_pct is not None and experiment.database.REALITY == "none":
        about = ("thresholds.checkpoint_age_max_pct", "database.kind", "workload.kind")
        yield Problem(about[0], "there is no database, so that nothing has a checkpoint age", "take it out", about)
    if not getattr(experiment.workload, "record_latency", True):
        for name in _LATENCIES:
            if getattr(thresholds, name) is not None:
                rests_on = (f"thresholds.{name}", "workload.record_latency")
                yield Problem(rests_on[0], "no latency is recorded", "workload.record_latency = true", rests_on)
