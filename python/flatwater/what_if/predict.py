"""What the twin says of a changed stack, and how far that can be believed.

The twin is not believed in its level but in its ratios: changed / unchanged, with the same explanation and the same
seed, times what was measured. The interval is where 19 in 20 runs of the changed stack, as long as the measured one,
are expected (docs/what-if.md):

- its ends lie as far apart as the explanations do: nothing tells which of them is right;
- it is wider by 1.96 standard deviations, of the logarithm, of all that is random or wrong otherwise: the seeds; the
  noise of the measured run and of the one to come; and the fit's residual error in pages read and written, once as a
  share of the predicted effect and once as a share of what hangs on the storage at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flatwater.what_if.base import Z95
from flatwater.what_if.changes import Change
from flatwater.what_if.fitting import SEEDS, Fitted, Progress
from flatwater.what_if.twin import Twin


@dataclass(frozen=True)
class Prediction:
    """A change and what comes of it. Ratios are to the measured run; throughputs in its unit."""

    change: Change
    ratio: float
    low: float
    high: float
    throughput: float
    throughput_low: float
    throughput_high: float
    #: By explanation.
    ratios: dict[str, float]
    #: Pages of a transaction, and the hit ratio, on the changed stack: the explanations' mean.
    pages_read: float
    pages_written: float
    hit_ratio: float
    notes: list[str]

    @property
    def shown(self) -> bool:
        """Whether there is an effect: the interval leaves 1 out."""
        return self.low > 1 or self.high < 1


def predict(twin: Twin, fitted: Fitted, changes: Sequence[Change], progress: Progress) -> list[Prediction]:
    """Every change, in the order of the changes. Errors: UserError for what the model cannot do."""
    told = []
    for number, change in enumerate(changes):
        progress(f"{change.name} ({number + 1} of {len(changes)})")
        told.append(_predict(twin, fitted, change))
    return told


def _predict(twin: Twin, fitted: Fitted, change: Change) -> Prediction:
    base = twin.base
    logs: dict[str, list[float]] = {}
    outcomes = []
    for one in fitted.explanations:
        found = twin.runs([(change.experiment, one.scales, seed) for seed in SEEDS])
        outcomes += found
        pairs = zip(found, one.outcomes, strict=True)
        logs[one.name] = [math.log(after.transactions_per_s / before.transactions_per_s) for after, before in pairs]
    centres = {name: sum(each) / len(each) for name, each in logs.items()}
    low, high = min(centres.values()), max(centres.values())
    centre = (low + high) / 2
    width = half_width(list(logs.values()), base.noise, base.runs, fitted.residual, centre, fitted.storage_share)
    low, high = low - width, high + width
    ratio = math.exp(centre)
    notes = [*change.notes, *_notes(twin, change, [one.device_bytes_per_s for one in outcomes])]
    return Prediction(
        change=change,
        ratio=ratio,
        low=math.exp(low),
        high=math.exp(high),
        throughput=base.throughput * ratio,
        throughput_low=base.throughput * math.exp(low),
        throughput_high=base.throughput * math.exp(high),
        ratios={name: math.exp(value) for name, value in centres.items()},
        pages_read=_mean([one.pages_read for one in outcomes]),
        pages_written=_mean([one.pages_written for one in outcomes]),
        hit_ratio=_mean([one.hit_ratio for one in outcomes]),
        notes=notes,
    )


def half_width(
    logs: Sequence[Sequence[float]], noise: float, runs: int, residual: float, centre: float, storage_share: float
) -> float:
    """Half of the interval beyond the explanations, as a logarithm.

    `logs`: of each explanation, each seed's logarithm of changed / unchanged. `noise`: standard deviation of one run's
    mean, a share, of which `runs` were measured and one is to come. `residual`: of the fit, `centre`: the effect.
    """
    seeds = _mean([float(np.var(each, ddof=1)) if len(each) > 1 else 0.0 for each in logs])
    noisy = noise * noise * (1 + 1 / runs)
    wrong = (residual * centre) ** 2 + (residual * storage_share) ** 2
    return Z95 * math.sqrt(seeds + noisy + wrong)


def _notes(twin: Twin, change: Change, bytes_per_s: Sequence[float]) -> list[str]:
    seen = twin.base.storage.peak_bytes_per_s
    asked = _mean(bytes_per_s)
    if change.experiment.modelled.device != str(twin.device) or change.experiment.flash_cache is not None:
        return []
    if seen and asked > seen:
        return [f"asks the storage for {asked / 1e6:,.0f} MB/s; the run's busiest second had {seen / 1e6:,.0f}"]
    return []


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
