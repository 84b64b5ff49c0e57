"""Fitting a twin to its run: the time that no counter measures is CPU time, waiting for the storage, or other waiting.

Counters measure the CPU time of a transaction on the server and on the client, the cores that other programs used, the
pages read and written, and the latency of the device. With these the twin should be as fast as the run. If it is not,
there are three explanations. A transaction occupies cores longer than is counted; or an answer of the storage takes
longer to reach a thread than the device reports (because of the kernel, of queues, of locks that are held meanwhile);
or a statement waits for something else, such as a row lock, while cores are idle. A run cannot show which of them is
right. So each is fitted, alone, to the measured throughput, and every prediction is made with all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flatwater.analysis.twin_doubts import LEAST_PAGES, joined, level_doubt, pages_doubt
from flatwater.errors import UserError
from flatwater.experiment import Experiment
from flatwater.what_if.base import Base
from flatwater.what_if.twin import Outcome, Scales, Twin

#: The search for a scale is limited to 1 / SCALE_MAX .. SCALE_MAX, that for a wait to so many times a statement.
SCALE_MAX = 16.0
#: The fit ends when the twin's throughput is this near the measured one, as a share of it.
CLOSE = 0.01
_STEPS_MAX = 12
#: The storage is made slower by this factor to measure how much the throughput depends on it.
_NUDGE = 1.25
#: A twin on an emulated device whose throughput no factor brings to the measured one is used as it is up to this
#: logarithm (a third more or less): its error is then part of the interval. With a larger error it explains too little.
_DEVICE_OFF_MAX = 0.3
#: The figures whose error is the residual of the fit.
_PAGES = ("pages read", "pages written")
#: The level of the twin with all costs as they were recorded.
UNFITTED = "throughput, nothing fitted"
#: Three seeds, so that their spread can be estimated.
SEEDS = (1, 2, 3)

#: Is called with what is being done, in words.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Explanation:
    """One explanation of the measured throughput."""

    name: str
    scales: Scales
    #: One for each seed.
    outcomes: list[Outcome]

    @property
    def transactions_per_s(self) -> float:
        """The mean of the seeds."""
        return sum(outcome.transactions_per_s for outcome in self.outcomes) / len(self.outcomes)


@dataclass(frozen=True)
class Compared:
    """A measured figure beside the twin's."""

    name: str
    unit: str
    measured: float
    model: float
    #: Whether the twin was given this figure or fitted to it. Then its agreement is no evidence.
    given: bool

    @property
    def error(self) -> float | None:
        """The share by which the model's figure is larger; None if the measured one is 0."""
        return self.model / self.measured - 1.0 if self.measured else None


@dataclass(frozen=True)
class Fitted:
    """The twin with its explanations."""

    experiment: Experiment
    explanations: list[Explanation]
    #: The twin with all costs as they were recorded.
    unfitted: list[Outcome]
    compared: list[Compared]
    #: Root mean square of the logarithms of model / measured: pages read, pages written, weighted by the storage's time
    #: for them. Where nothing could be fitted, that of the throughput is added.
    residual: float
    #: Elasticity of the throughput to the storage's latency, 0 to 1: 0.5 is half a per cent less for one per cent more.
    storage_share: float

    @property
    def unreliable(self) -> str | None:
        """Why its ratios are marked, in a sentence; None if they are not."""
        return next((pages_doubt(figures) for figures in self.compared if figures.name == _PAGES[1]), None)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What the twin is not like its run in, a sentence each."""
        levels = (level_doubt(one.measured, one.model, one.unit) for one in self.compared if one.name == UNFITTED)
        return joined([*levels, self.unreliable])


def fit_twin(twin: Twin, progress: Progress) -> Fitted:
    """Fits a run's twin. Errors: UserError if no scale gives the measured throughput."""
    base = twin.base
    where = str(base.result.path)
    experiment = twin.experiment(twin.data(), where)
    target = base.throughput / base.unit_scale
    progress("the twin as recorded")
    unfitted = twin.runs([(experiment, Scales(), seed) for seed in SEEDS])
    explanations, left = [], 0.0
    off = math.log(_mean(unfitted, "transactions_per_s") / target)
    # What another run of the same could differ by needs no explanation. A scale that hardly changes the throughput, as
    # that of CPU where the device is at its limit, would be far from 1 for it.
    alike = abs(off) <= math.hypot(base.noise, _standard_error(unfitted))
    for name in () if alike and twin.emulated is not None else ("CPU", "storage", "waiting"):
        at_one = unfitted[0].transactions_per_s
        scales = Scales() if alike else _solve(twin, experiment, name, target, at_one, progress)
        if scales is not None:
            fitted = [(experiment, scales, seed) for seed in SEEDS]
            outcomes = unfitted if scales == Scales() else twin.runs(fitted)
            explanations.append(Explanation(name, scales, outcomes))
    if not explanations and twin.emulated is not None and abs(off) <= _DEVICE_OFF_MAX:
        # The device decides, and its model is known: nothing is left to be fitted, and the error stays.
        explanations, left = [Explanation("device", Scales(), unfitted)], off
    if not explanations:
        modelled = _mean(unfitted, "transactions_per_s") * base.unit_scale
        what = (
            f"the twin cannot be fitted: the run measured {base.throughput:,.0f} {base.unit}, the model has "
            f"{modelled:,.0f}, and no scale of CPU time or storage latency gives the measured figure"
        )
        hint = "use a run that is not limited by locks, the client or a rate"
        raise UserError(what, where=where, hint=hint)
    progress("how much the throughput depends on the storage")
    falls = [_storage_elasticity(twin, experiment, explanation) for explanation in explanations]
    compared = _compare(base, unfitted, explanations)
    residual = math.hypot(_residual(compared, base), left)
    return Fitted(experiment, explanations, unfitted, compared, residual, sum(falls) / len(falls))


def _storage_elasticity(twin: Twin, experiment: Experiment, explanation: Explanation) -> float:
    """The share by which throughput falls for each share by which the storage's latency rises, 0 to 1."""
    nudged = replace(explanation.scales, storage=explanation.scales.storage * _NUDGE)
    slower = twin.runs([(experiment, nudged, seed) for seed in SEEDS])
    fall = -math.log(_mean(slower, "transactions_per_s") / explanation.transactions_per_s) / math.log(_NUDGE)
    return min(1.0, max(0.0, fall))


def _solve(
    twin: Twin, experiment: Experiment, name: str, target: float, at_one: float, progress: Progress
) -> Scales | None:
    """The scales at which the twin does `target` transactions a second; None if there are none."""
    base = twin.base
    # The time from one statement of a connection to the next.
    statement_us = 1e6 * base.experiment.transactions.connections / (target * max(base.statements, 1.0))

    def scales(log: float) -> Scales:
        if name == "waiting":
            return Scales(wait_us=statement_us * (math.exp(log) - 1))
        return Scales(cpu=math.exp(log)) if name == "CPU" else Scales(storage=math.exp(log))

    def off(log: float) -> float:
        progress(f"fitting {name}: x {math.exp(log):.3g}")
        return math.log(twin.run(experiment, scales(log), SEEDS[0]).transactions_per_s / target)

    found = math.log(at_one / target)
    if abs(found) <= CLOSE:
        return Scales()
    if name == "waiting" and found < 0:
        return None  # nobody waits for less than no time
    # More time for everything never makes a server faster. So the search moves away from 1 until it passes the target.
    step, limit = (math.log(2.0), math.log(SCALE_MAX)) if found > 0 else (-math.log(2.0), -math.log(SCALE_MAX))
    near, near_off = 0.0, found
    far, far_off = near, near_off
    while far_off * found > 0:
        if abs(far) >= abs(limit):
            return None
        near, near_off = far, far_off
        far = far + step
        far_off = off(far)
    low, low_off, high, high_off = near, near_off, far, far_off
    for _ in range(_STEPS_MAX):
        if min(abs(low_off), abs(high_off)) <= CLOSE:
            break
        # Linear interpolation, kept away from both ends: throughput is smooth apart from the noise of the seed.
        share = min(0.9, max(0.1, low_off / (low_off - high_off)))
        middle = low + share * (high - low)
        middle_off = off(middle)
        if middle_off * low_off > 0:
            low, low_off = middle, middle_off
        else:
            high, high_off = middle, middle_off
    return scales(low if abs(low_off) < abs(high_off) else high)


def _standard_error(outcomes: list[Outcome]) -> float:
    """Of the mean throughput of seeds, as a share of it."""
    rates = np.array([outcome.transactions_per_s for outcome in outcomes])
    return float(np.std(rates, ddof=1) / np.mean(rates) / math.sqrt(len(rates)))


def _mean(outcomes: list[Outcome], name: str) -> float:
    return sum(float(getattr(outcome, name)) for outcome in outcomes) / len(outcomes)


def _compare(base: Base, unfitted: list[Outcome], explanations: list[Explanation]) -> list[Compared]:
    def fitted(name: str) -> float:
        return sum(_mean(explanation.outcomes, name) for explanation in explanations) / len(explanations)

    unit = base.unit_scale
    return [
        Compared(
            UNFITTED,
            base.unit,
            base.throughput,
            _mean(unfitted, "transactions_per_s") * unit,
            given=False,
        ),
        Compared("throughput, fitted", base.unit, base.throughput, fitted("transactions_per_s") * unit, given=True),
        Compared(_PAGES[0], "a transaction", base.pages_read, fitted("pages_read"), given=False),
        Compared(_PAGES[1], "a transaction", base.pages_written, fitted("pages_written"), given=False),
        Compared("redo", "bytes a transaction", base.redo_bytes, fitted("redo_bytes"), given=True),
        Compared("pool's hit ratio", "", base.hit_ratio, fitted("hit_ratio"), given=False),
    ]


def _residual(compared: list[Compared], base: Base) -> float:
    """The error in pages, each kind weighted by the time that the storage takes for its pages of a transaction.

    A tenth of a page that is read too much is nothing beside eight that are written. The error of the throughput before
    the fit is left out: it is in the distance between the two explanations.
    """
    each_us = dict(zip(_PAGES, (base.storage.read_us, base.storage.write_us), strict=True))
    weights, squares = [], []
    for figures in compared:
        # Figures that are small both in the run and in the model do not matter.
        if figures.name in _PAGES and max(figures.model, figures.measured) > LEAST_PAGES:
            log = math.log(max(figures.model, LEAST_PAGES) / max(figures.measured, LEAST_PAGES))
            weights.append(each_us[figures.name] * max(figures.model, figures.measured))
            squares.append(log * log)
    total = sum(weights)
    return math.sqrt(sum(map(math.prod, zip(weights, squares, strict=True))) / total) if total else 0.0
