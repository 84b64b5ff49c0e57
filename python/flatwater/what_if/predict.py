"""The predicted throughput of a changed stack, and its interval.

The prediction takes from the twin a ratio, not a level: throughput with the change / without it, for the same
explanation and the same seed. The predicted throughput is the measured one times this ratio. 19 in 20 runs of the
changed stack, as long as the measured one, are expected within the interval (docs/what-if.md):

- it spans the ratios of all explanations, because nothing shows which of them is right;
- it is wider than that by 1.96 standard deviations (of the logarithm) of everything else that is random or wrong: the
  spread of the seeds; the noise of the measured run and of the run to come; and the error of the fitted twin in pages
  read and written, once as a share of the predicted effect, once as a share of the throughput's dependence on the
  storage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flatwater.what_if.changes import Change
from flatwater.what_if.fitting import SEEDS, Fitted, Progress
from flatwater.what_if.noise import Z95
from flatwater.what_if.refusal import far_doubt
from flatwater.what_if.twin import Twin


@dataclass(frozen=True)
class Prediction:
    """The predicted effect of a change. Ratios are to the measured run; throughputs are in its unit."""

    change: Change
    ratio: float
    low: float
    high: float
    throughput: float
    throughput_low: float
    throughput_high: float
    #: The ratio of each explanation, by its name.
    ratios: dict[str, float]
    #: Pages a transaction and the hit ratio on the changed stack: the mean of the explanations.
    pages_read: float
    pages_written: float
    hit_ratio: float
    notes: list[str]

    @property
    def shown(self) -> bool:
        """Whether an effect is shown: the interval does not contain 1."""
        return self.low > 1 or self.high < 1

    @property
    def doubt(self) -> str | None:
        """Why this ratio is not to be relied on, in a sentence; None if nothing is known against it."""
        return far_doubt(list(self.ratios.values()))


def predict(twin: Twin, fitted: Fitted, changes: Sequence[Change], progress: Progress) -> list[Prediction]:
    """The prediction for each change, in their order. Errors: UserError for a change that the model cannot run."""
    predictions = []
    for number, change in enumerate(changes):
        progress(f"{change.name} ({number + 1} of {len(changes)})")
        predictions.append(_predict(twin, fitted, change))
    return predictions


def _predict(twin: Twin, fitted: Fitted, change: Change) -> Prediction:
    base = twin.base
    logs: dict[str, list[float]] = {}
    outcomes = []
    for explanation in fitted.explanations:
        changed = twin.runs([(change.experiment, explanation.scales, seed) for seed in SEEDS])
        outcomes += changed
        logs[explanation.name] = [
            math.log(after.transactions_per_s / before.transactions_per_s)
            for after, before in zip(changed, explanation.outcomes, strict=True)
        ]
    centres = {name: _mean(by_seed) for name, by_seed in logs.items()}
    low, high = min(centres.values()), max(centres.values())
    centre = (low + high) / 2
    width = half_width(list(logs.values()), base.noise, base.runs, fitted.residual, centre, fitted.storage_share)
    low, high = low - width, high + width
    ratio = math.exp(centre)
    notes = [*change.notes, *_notes(twin, change, [outcome.device_bytes_per_s for outcome in outcomes])]
    return Prediction(
        change=change,
        ratio=ratio,
        low=math.exp(low),
        high=math.exp(high),
        throughput=base.throughput * ratio,
        throughput_low=base.throughput * math.exp(low),
        throughput_high=base.throughput * math.exp(high),
        ratios={name: math.exp(value) for name, value in centres.items()},
        pages_read=_mean([outcome.pages_read for outcome in outcomes]),
        pages_written=_mean([outcome.pages_written for outcome in outcomes]),
        hit_ratio=_mean([outcome.hit_ratio for outcome in outcomes]),
        notes=notes,
    )


def half_width(
    logs: Sequence[Sequence[float]], noise: float, runs: int, residual: float, centre: float, storage_share: float
) -> float:
    """By how much the interval reaches beyond the explanations on each side, as a logarithm.

    `logs`: for each explanation, the logarithm of changed / unchanged of each seed. `noise`: standard deviation of one
    run's mean, as a share; `runs` were measured, and one is to come. `residual`: the fit's error in pages. `centre`:
    the predicted effect, as a logarithm. `storage_share`: the throughput's dependence on the storage (`Fitted`).
    """
    seeds = _mean([float(np.var(by_seed, ddof=1)) if len(by_seed) > 1 else 0.0 for by_seed in logs])
    measured = noise * noise * (1 + 1 / runs)
    fit = (residual * centre) ** 2 + (residual * storage_share) ** 2
    return Z95 * math.sqrt(seeds + measured + fit)


def _notes(twin: Twin, change: Change, bytes_per_s: Sequence[float]) -> list[str]:
    measured = twin.base.storage.peak_bytes_per_s
    needed = _mean(bytes_per_s)
    # A modelled device has its limits.
    known = twin.emulated is not None or not twin.is_own(change.experiment)
    if known or change.experiment.flash_cache is not None:
        return []
    if measured and needed > measured:
        peak = f"the busiest second of the run had {measured / 1e6:,.0f}"
        return [f"needs {needed / 1e6:,.0f} MB/s of the storage; {peak}"]
    return []


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
