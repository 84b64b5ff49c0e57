"""Fitting a twin to its run: what no counter tells is either CPU time or waiting for the storage.

Counters tell what a transaction costs the server's CPU and the client's, how much of the cores others took, how many
pages are read and written, and how quickly the device answers. Then the twin should be as fast as the run. That it is
not has two plain explanations: a transaction holds cores, or waits for other threads, longer than is counted; or the
storage's answers take longer to reach a thread than the device says (the kernel, queues, locks that are held then).
A run cannot say which. So both are fitted, each alone, to the one figure of throughput, and every prediction is made
with both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from flatwater.errors import UserError
from flatwater.experiment import Experiment
from flatwater.what_if.base import Base
from flatwater.what_if.twin import Outcome, Scales, Twin

#: A scale is looked for between 1 / SCALE_MAX and SCALE_MAX.
SCALE_MAX = 16.0
#: Near enough to the measured throughput, a share of it.
CLOSE = 0.01
_STEPS_MAX = 12
#: By how much the storage is made slower to see what hangs on it.
_NUDGE = 1.25
#: Pages of which a transaction has fewer are not compared: they decide nothing.
LEAST_PAGES = 0.05
#: Figures by which the twin is judged.
_PAGES = ("pages read", "pages written")
#: One more seed than two, so that their spread says something.
SEEDS = (1, 2, 3)

#: Told what is being done.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Explanation:
    """One way to explain the measured throughput."""

    name: str
    scales: Scales
    #: Of each seed.
    outcomes: list[Outcome]

    @property
    def transactions_per_s(self) -> float:
        """The seeds' mean."""
        return sum(one.transactions_per_s for one in self.outcomes) / len(self.outcomes)


@dataclass(frozen=True)
class Compared:
    """A measured figure beside the twin's."""

    name: str
    unit: str
    measured: float
    model: float
    #: Whether it was fitted, or put in: then that it agrees says nothing.
    given: bool

    @property
    def error(self) -> float | None:
        """By what share the model's is larger; None where nothing was measured."""
        return self.model / self.measured - 1.0 if self.measured else None


@dataclass(frozen=True)
class Fitted:
    """The twin with its explanations."""

    experiment: Experiment
    explanations: list[Explanation]
    #: As recorded, with nothing fitted.
    unfitted: list[Outcome]
    compared: list[Compared]
    #: Root mean square of the logarithms of model / measured: pages read, pages written.
    residual: float
    #: By what share throughput falls for each share by which storage answers later.
    storage_share: float


def fit_twin(twin: Twin, progress: Progress) -> Fitted:
    """Fits a run's twin. Errors: UserError where the model cannot be made to do what was measured."""
    base = twin.base
    where = str(base.result.path)
    experiment = twin.experiment(twin.data(), where)
    target = base.throughput / base.unit_scale
    progress("the twin as recorded")
    unfitted = twin.runs([(experiment, Scales(), seed) for seed in SEEDS])
    explanations = []
    for name in ("CPU", "storage"):
        scales = _solve(twin, experiment, name, target, unfitted[0].transactions_per_s, progress)
        if scales is not None:
            outcomes = twin.runs([(experiment, scales, seed) for seed in SEEDS])
            explanations.append(Explanation(name, scales, outcomes))
    if not explanations:
        own = _mean(unfitted, "transactions_per_s") * base.unit_scale
        what = f"the model does {own:,.0f} {base.unit} where {base.throughput:,.0f} were measured, whatever is fitted"
        hint = "a run that is not limited by locks, the client or a rate"
        raise UserError(what, where=where, hint=hint)
    progress("what hangs on the storage")
    falls = [_fall(twin, experiment, one) for one in explanations]
    compared = _compare(base, unfitted, explanations)
    return Fitted(experiment, explanations, unfitted, compared, _residual(compared), sum(falls) / len(falls))


def _fall(twin: Twin, experiment: Experiment, one: Explanation) -> float:
    """The share by which throughput falls for each share by which the storage answers later, 0 to 1."""
    nudged = replace(one.scales, storage=one.scales.storage * _NUDGE)
    slower = twin.runs([(experiment, nudged, seed) for seed in SEEDS])
    fall = -math.log(_mean(slower, "transactions_per_s") / one.transactions_per_s) / math.log(_NUDGE)
    return min(1.0, max(0.0, fall))


def _solve(
    twin: Twin, experiment: Experiment, name: str, target: float, at_one: float, progress: Progress
) -> Scales | None:
    """The scale at which the twin does `target` transactions a second; None where none does."""

    def scales(log: float) -> Scales:
        return Scales(cpu=math.exp(log)) if name == "CPU" else Scales(storage=math.exp(log))

    def off(log: float) -> float:
        progress(f"fitting {name}: x {math.exp(log):.3g}")
        return math.log(twin.run(experiment, scales(log), SEEDS[0]).transactions_per_s / target)

    found = math.log(at_one / target)
    if abs(found) <= CLOSE:
        return Scales()
    # More time for everything never makes a server faster: away from 1 until the target is passed.
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
        # A straight line between the two, kept off the ends: throughput is smooth but for the seed's noise.
        share = min(0.9, max(0.1, low_off / (low_off - high_off)))
        middle = low + share * (high - low)
        middle_off = off(middle)
        if middle_off * low_off > 0:
            low, low_off = middle, middle_off
        else:
            high, high_off = middle, middle_off
    return scales(low if abs(low_off) < abs(high_off) else high)


def _mean(outcomes: list[Outcome], name: str) -> float:
    return sum(float(getattr(one, name)) for one in outcomes) / len(outcomes)


def _compare(base: Base, unfitted: list[Outcome], explanations: list[Explanation]) -> list[Compared]:
    def fitted(name: str) -> float:
        return sum(_mean(one.outcomes, name) for one in explanations) / len(explanations)

    unit = base.unit_scale
    return [
        Compared(
            "throughput, nothing fitted",
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


def _residual(compared: list[Compared]) -> float:
    # Throughput before the fit is not in it: the two explanations lie as far apart as that makes them.
    pages = [one for one in compared if one.name in _PAGES]
    # What nearly nothing is measured of decides nothing, unless the model has much of it.
    logs = [
        math.log(max(one.model, LEAST_PAGES) / max(one.measured, LEAST_PAGES))
        for one in pages
        if max(one.model, one.measured) > LEAST_PAGES
    ]
    return math.sqrt(sum(one * one for one in logs) / len(logs)) if logs else 0.0
