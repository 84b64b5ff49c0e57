"""Pass or fail: the limits of `[thresholds]` beside a cell's figures.

A limit whose figure is missing, or not known well enough, fails too, and says why: a check in CI that passes because
nothing was measured is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flatwater.experiment.expected import agrees_with
from flatwater.experiment.thresholds import Thresholds
from flatwater.results.schema import CellSummary, ThresholdResult

#: Larger numbers are told with an exponent.
_READABLE_MAX = 1e15
#: Microseconds of a second.
US_PER_S = 1e6


@dataclass(frozen=True)
class Told:
    """A figure, or why there is none."""

    value: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Ratio:
    """The mean beside the baseline's, with its 95 % interval; or why there is none."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Figures:
    """What the limits are held against. What is dear to find out is a function: it is asked where there is a limit."""

    summary: CellSummary
    #: A figure of the summary by its name (`latency_us.p99`, `storage.write_amplification`).
    lookup: Callable[[str], float | None]
    #: The highest checkpoint age, % of the age at which users wait.
    checkpoint_age_pct: Callable[[], Told]
    life_years: Callable[[], Told]
    #: Cost for each unit of throughput.
    cost_per_unit: Callable[[], Told]
    ratio: Callable[[], Ratio]


def judge(thresholds: Thresholds, figures: Figures) -> list[ThresholdResult]:
    """Each limit that the experiment has, in the order of its fields."""
    return [
        *_of_throughput(thresholds, figures),
        *_of_latency(thresholds, figures),
        *_of_shape(thresholds, figures),
        *_of_stack(thresholds, figures),
        *_of_baseline(thresholds, figures),
        *_of_metrics(thresholds, figures),
    ]


def failed_text(results: list[ThresholdResult]) -> str:
    """What failed, in a line; empty where nothing did."""
    return "; ".join(one.text for one in results if not one.passed)


def _of_throughput(thresholds: Thresholds, figures: Figures) -> Iterator[ThresholdResult]:
    if thresholds.mean_min is not None:
        told = Told(figures.summary.mean, "nothing was measured")
        yield _least("mean_min", thresholds.mean_min, told, f" {figures.summary.unit}")


def _of_latency(thresholds: Thresholds, figures: Figures) -> Iterator[ThresholdResult]:
    for share in ("p95", "p99", "p999"):
        limit_s: float | None = getattr(thresholds, f"{share}_max_s")
        if limit_s is not None:
            value_us = figures.lookup(f"latency_us.{share}")
            why = "no latency was recorded (workload.record_latency, or a run that served nothing)"
            told = Told(None if value_us is None else value_us / US_PER_S, why)
            yield _most(f"{share}_max_s", limit_s, told, " s")


def _of_shape(thresholds: Thresholds, figures: Figures) -> Iterator[ThresholdResult]:
    summary = figures.summary
    short = f"the run is too short: {summary.samples} samples of {summary.interval_s:g} s"
    if thresholds.flatness_min is not None:
        yield _least("flatness_min", thresholds.flatness_min, Told(summary.flatness, short))
    if thresholds.verdict is not None:
        words: list[str] = [*thresholds.verdict]
        if summary.verdict is None:
            yield _unjudged("verdict", words, short)
        else:
            passed = agrees_with(thresholds.verdict, summary.verdict)
            text = f"verdict is {summary.verdict}, {'as' if passed else 'not'} {' or '.join(words)}"
            yield ThresholdResult(name="verdict", limit=words, value=summary.verdict, passed=passed, text=text)


def _of_stack(thresholds: Thresholds, figures: Figures) -> Iterator[ThresholdResult]:
    if thresholds.checkpoint_age_max_pct is not None:
        told = figures.checkpoint_age_pct()
        yield _most("checkpoint_age_max_pct", thresholds.checkpoint_age_max_pct, told, " % of the limit")
    if thresholds.life_min_years is not None:
        yield _least("life_min_years", thresholds.life_min_years, figures.life_years(), " years")
    if thresholds.cost_max is not None:
        yield _most("cost_max", thresholds.cost_max, figures.cost_per_unit(), f" for each {figures.summary.unit}")


def _of_baseline(thresholds: Thresholds, figures: Figures) -> Iterator[ThresholdResult]:
    """Passed where the whole interval is above the limit, failed where it is below, and else not judged."""
    limit = thresholds.ratio_min
    if limit is None:
        return
    found = figures.ratio()
    if found.value is None or found.low is None or found.high is None:
        yield _unjudged("ratio_min", limit, found.why)
        return
    told = f"{found.value:.4g}x the baseline (95 % CI {found.low:.4g} to {found.high:.4g})"
    if found.low < limit <= found.high:
        why = f"{told}: the interval contains {limit:g}; measure for longer, or repeat (repeat = N)"
        yield _unjudged("ratio_min", limit, why, found.value)
        return
    passed = found.low >= limit
    text = f"ratio_min: {told}, {'at least' if passed else 'below'} {limit:g}"
    yield ThresholdResult(name="ratio_min", limit=limit, value=found.value, passed=passed, text=text)


def _of_metrics(thresholds: Thresholds, figures: Figures) -> Iterator[ThresholdResult]:
    for name, limit in thresholds.metrics.items():
        told = Told(figures.lookup(name), "was not recorded in this run")
        if limit.min is not None:
            yield _least(f"{name} min", limit.min, told)
        if limit.max is not None:
            yield _most(f"{name} max", limit.max, told)


def _least(name: str, limit: float, told: Told, unit: str = "") -> ThresholdResult:
    if told.value is None:
        return _unjudged(name, limit, told.why)
    passed = told.value >= limit
    value, least = _apart(told.value, limit)
    text = f"{name}: {value}{unit}, {'at least' if passed else 'below'} {least}"
    return ThresholdResult(name=name, limit=limit, value=told.value, passed=passed, text=text)


def _most(name: str, limit: float, told: Told, unit: str = "") -> ThresholdResult:
    if told.value is None:
        return _unjudged(name, limit, told.why)
    passed = told.value <= limit
    value, most = _apart(told.value, limit)
    text = f"{name}: {value}{unit}, {'at most' if passed else 'above'} {most}"
    return ThresholdResult(name=name, limit=limit, value=told.value, passed=passed, text=text)


def _unjudged(name: str, limit: float | list[str], why: str, value: float | None = None) -> ThresholdResult:
    """A limit that cannot be judged has failed."""
    text = f"{name} cannot be judged: {why}"
    return ThresholdResult(name=name, limit=limit, value=value, passed=False, judged=False, text=text)


def _number(value: float) -> str:
    """Four digits; no exponent but of what nobody can read without one."""
    return f"{value:,.0f}" if 1000 <= abs(value) < _READABLE_MAX else f"{value:.4g}"


def _apart(value: float, limit: float) -> tuple[str, str]:
    """Both numbers with four digits, or with as many as show that they differ: no limit is missed by nothing."""
    texts = _number(value), _number(limit)
    for digits in (6, 9, 12, 17):
        if texts[0] != texts[1] or value == limit:
            break
        texts = f"{value:,.{digits}g}", f"{limit:,.{digits}g}"
    return texts
