"""Limits at the limit itself, and what cannot be judged."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.analysis.thresholds import Figures, Ratio, Told, failed_text, judge
from flatwater.experiment.thresholds import Thresholds
from flatwater.results.schema import CellSummary, LatencyUs, ThresholdResult


def summary(**more: Any) -> CellSummary:
    fields = {"cell": 0, "seed": 1, "status": "complete", "unit": "NOTPM", "samples": 60, "mean": 1000.0}
    return CellSummary.model_validate(fields | {"flatness": 0.9, "verdict": "flat"} | more)


def judged(limits: dict[str, Any], one: CellSummary | None = None, **more: Any) -> list[ThresholdResult]:
    cell = one or summary(latency_us=LatencyUs(p50=1e3, p95=5e3, p99=20_000.0, p999=50e3, max=1e6, count=9))
    values = {f"latency_us.{name}": value for name, value in (cell.latency_us or LatencyUs()).model_dump().items()}
    found: dict[str, Any] = {
        "checkpoint_age_pct": lambda: Told(80.0),
        "life_years": lambda: Told(5.0),
        "cost_per_unit": lambda: Told(0.25),
        "ratio": lambda: Ratio(1.0, 0.97, 1.03),
    }
    figures = Figures(summary=cell, lookup=values.get, **(found | more))
    return judge(Thresholds.model_validate(limits), figures)


@pytest.mark.parametrize(
    ("name", "at", "beyond", "value"),
    [
        ("mean_min", 1000.0, 1000.1, 1000.0),
        ("p99_max_s", 0.02, 0.0199, 0.02),
        ("p95_max_s", 0.005, 0.0049, 0.005),
        ("p999_max_s", 0.05, 0.0499, 0.05),
        ("flatness_min", 0.9, 0.91, 0.9),
        ("checkpoint_age_max_pct", 80.0, 79.9, 80.0),
        ("life_min_years", 5.0, 5.1, 5.0),
        ("cost_max", 0.25, 0.249, 0.25),
    ],
)
def test_the_limit_itself_passes_and_beyond_it_fails(name: str, at: float, beyond: float, value: float) -> None:
    (passed,) = judged({name: at})
    assert (passed.name, passed.limit, passed.passed, passed.judged) == (name, at, True, True)
    assert passed.value == pytest.approx(value)
    (failed,) = judged({name: beyond})
    assert not failed.passed and failed.judged and name in failed.text


@pytest.mark.parametrize(("limit", "told"), [(1000.1, "1,000.1"), (1000.0001, "1,000.0001"), (1e300, "1e+300")])
def test_a_limit_is_not_missed_by_nothing(limit: float, told: str) -> None:
    """ "1,000 NOTPM, below 1,000" is what nobody believes."""
    (failed,) = judged({"mean_min": limit})
    assert not failed.passed and failed.text == f"mean_min: 1,000 NOTPM, below {told}"
    (passed,) = judged({"mean_min": 1000.0})
    assert passed.text == "mean_min: 1,000 NOTPM, at least 1,000"


@pytest.mark.parametrize(
    ("words", "verdict", "passed"),
    [
        (["flat"], "flat", True),
        (["flat", "dips"], "dips", True),
        (["flat"], "stalls", False),
        (["jumps"], "stalls", True),
        (["jumps"], "drifting", False),
    ],
)
def test_verdicts(words: list[str], verdict: str, passed: bool) -> None:
    (one,) = judged({"verdict": words}, summary(verdict=verdict))
    assert one.passed is passed and one.value == verdict and one.limit == words


def test_the_whole_interval_of_a_ratio_counts() -> None:
    for limit, passed, known in ((0.97, True, True), (1.04, False, True), (1.0, False, False), (1.03, False, False)):
        (one,) = judged({"baseline": "b", "ratio_min": limit})
        assert (one.passed, one.judged) == (passed, known), limit
    assert "measure for longer" in judged({"baseline": "b", "ratio_min": 1.0})[0].text


def test_any_metric_with_both_ends() -> None:
    low, high = judged({"metrics": {"latency_us.p50": {"min": 2000.0, "max": 2000.0}}})
    assert (low.name, low.passed, high.name, high.passed) == ("latency_us.p50 min", False, "latency_us.p50 max", True)


@pytest.mark.parametrize(
    ("limits", "more", "why"),
    [
        ({"mean_min": 1.0}, {"mean": None}, "nothing was measured"),
        ({"p99_max_s": 1.0}, {}, "no latency was recorded"),
        ({"flatness_min": 0.1}, {"flatness": None, "samples": 3}, "too short: 3 samples of 1 s"),
        ({"verdict": "flat"}, {"verdict": None}, "the run is too short"),
        ({"metrics": {"storage.write_amplification": {"max": 1.0}}}, {}, "was not recorded in this run"),
    ],
)
def test_what_cannot_be_judged_fails_and_says_why(limits: dict[str, Any], more: dict[str, Any], why: str) -> None:
    (one,) = judged(limits, summary(**more))
    assert not one.passed and not one.judged and one.value is None
    assert "cannot be judged" in one.text and why in one.text


def test_what_is_dear_is_asked_only_where_there_is_a_limit() -> None:
    def never() -> Told:
        raise AssertionError("nobody asked")

    judged({"mean_min": 1.0}, cost_per_unit=never, life_years=never, checkpoint_age_pct=never)


def test_what_failed_in_a_line() -> None:
    assert failed_text(judged({"mean_min": 1.0})) == ""
    assert failed_text(judged({"mean_min": 2000.0, "flatness_min": 0.95})) == (
        "mean_min: 1,000 NOTPM, below 2,000; flatness_min: 0.9, below 0.95"
    )
