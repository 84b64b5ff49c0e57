"""Thresholds: limits for the figures of each cell, to pass or fail in CI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from flatwater.experiment.expected import VerdictWord
from flatwater.experiment.problem import Problem, Table, raise_problems
from flatwater.experiment.published import check_metric
from flatwater.experiment.units import SomeSeconds


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


#: The limits that are one number: how they read, and what they are in.
_WORDS = {
    "mean_min": ("at least", ", in the run's unit"),
    "p95_max_s": ("at most", " s"),
    "p99_max_s": ("at most", " s"),
    "p999_max_s": ("at most", " s"),
    "flatness_min": ("at least", ""),
    "checkpoint_age_max_pct": ("at most", " % of the age at which users wait"),
    "life_min_years": ("at least", " years"),
    "cost_max": ("at most", " for each unit of throughput"),
}


def _told(name: str, word: str, unit: str, limit: float | None) -> str:
    """The limit in words; empty if there is none."""
    if limit is None:
        return ""
    number = f"{limit:,.0f}" if abs(limit) >= 1000 and limit == round(limit) else f"{limit:.6g}"
    return f"{name}: {word} {number}{unit}"


class Limit(Table):
    """`[thresholds.metrics]`: the minimum of a figure, the maximum, or both."""

    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.min is None and self.max is None:
            raise_problems("limit", [Problem("max", "there is neither min nor max", "max = 3")])
        if self.min is not None and self.max is not None and self.min > self.max:
            raise_problems("limit", [Problem("min", f"is above max ({self.max:g})", "min is the least")])
        return self


class Thresholds(Table):
    """`[thresholds]`: absent limits are not checked."""

    #: The mean throughput, in the run's unit.
    mean_min: Annotated[float, Field(gt=0)] | None = None
    #: Percentiles of the latency of all requests.
    p95_max_s: SomeSeconds | None = None
    p99_max_s: SomeSeconds | None = None
    p999_max_s: SomeSeconds | None = None
    flatness_min: Annotated[float, Field(gt=0, le=1)] | None = None
    #: The accepted verdicts.
    verdict: Annotated[list[VerdictWord], BeforeValidator(_listed), Field(min_length=1)] | None = None
    #: The highest checkpoint age, in % of the age at which the server makes its users wait.
    checkpoint_age_max_pct: Annotated[float, Field(gt=0, le=200)] | None = None
    #: Years until a drive is worn out, as `flatwater cost` computes them.
    life_min_years: Annotated[float, Field(gt=0, le=1000)] | None = None
    #: Cost of `cost.years` for each unit of throughput, as `flatwater cost` computes it, in the currency of the prices.
    cost_max: Annotated[float, Field(gt=0)] | None = None
    #: A result to compare each cell with.
    baseline: Annotated[str, Field(min_length=1)] | None = None
    #: The ratio of the mean to the baseline's, with 95 % confidence.
    ratio_min: Annotated[float, Field(gt=0, le=1000)] | None = None
    #: Any other figure by its name: `storage.write_amplification`, `database.dirty_pct.max`, `latency_us.p50`.
    metrics: dict[Annotated[str, AfterValidator(check_metric)], Limit] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _no_conflicts(self) -> Self:
        raise_problems("thresholds", self._conflicts(), within="thresholds")
        return self

    def _conflicts(self) -> Iterator[Problem]:
        if (self.baseline is None) != (self.ratio_min is None):
            given, missing = ("baseline", "ratio_min") if self.ratio_min is None else ("ratio_min", "baseline")
            hint = "ratio_min = 0.95" if missing == "ratio_min" else 'baseline = "results/main"'
            yield Problem(f"thresholds.{given}", f"says nothing without {missing}", hint)

    @property
    def told(self) -> list[str]:
        """Each limit in words, in the order of the fields: `p99_max_s: at most 0.02 s`."""
        found = [_told(name, word, unit, getattr(self, name)) for name, (word, unit) in _WORDS.items()]
        if self.verdict is not None:
            found.append(f"verdict: {' or '.join(self.verdict)}")
        if self.ratio_min is not None:
            found.append(f"ratio_min: at least {self.ratio_min:g} of {self.baseline} (the whole 95 % interval)")
        for name, limit in self.metrics.items():
            found += [_told(name, "at least", "", limit.min), _told(name, "at most", "", limit.max)]
        return [text for text in found if text]

    @property
    def says_nothing(self) -> bool:
        """Whether there is no limit at all."""
        return self == Thresholds()
