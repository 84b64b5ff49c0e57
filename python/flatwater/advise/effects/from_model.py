"""The effects of changes of a modelled run: the same experiment is modelled with and without each change.

So is a run on an emulated device, whose model is known (`from_emulation.py`). A modelled run is a function of
experiment, seed and version, and cheap. So each change is made in a few runs of other seeds, and each run is compared
with the unchanged one of its seed. What that may cost in processor time is limited.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flatwater.advise.advice import Advice, Effect
from flatwater.advise.adviser import Consultation
from flatwater.advise.changed import changed_experiment
from flatwater.advise.effects.interval import Pair, effect_interval, pair_of
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment
from flatwater.experiment.cells import cell_seed
from flatwater.experiment.problem import quote
from flatwater.experiment.programs import programs_of
from flatwater.results import Cell, open_result
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment

#: The processor time that the effects of one consultation may take, if the user does not say otherwise: what-if takes
#: about as long for a measured run.
CPU_S = 120.0
#: Pairs of runs. Three are the fewest with a spread worth the name: Student's t is 4.3 for them, and 12.7 for two.
PAIRS_MIN, PAIRS_MAX = 3, 5
#: The number of the cell whose seed the pairs start from: none of the run's own cells has it.
_SEED_INDEX = 1_000_003
#: A run of this virtual length tells the price of longer ones.
_PROBE_S = 20.0
#: A run is shortened to no less than this measured time.
_SHORTEST_S = 20.0

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Subject:
    """What is modelled of a run, and what its effects' intervals allow for besides the seeds."""

    #: The experiment that is modelled, with a change and a seed.
    make: Callable[[Cell, Sequence[str], int | None], Experiment] = changed_experiment
    #: Who says so, as the advice prints it.
    source: str = "the model"
    #: Standard deviation of one run's mean, as a share, where the seeds do not show it: of a run in real time.
    noise: float = 0.0
    #: |logarithm| by which the unchanged modelled runs are off the run. Errors: UserError if they are too far off.
    #: None: the run is one of the same model, and only its seed is another.
    off: Callable[[Sequence[Cell]], float] | None = None


@dataclass(frozen=True)
class _Protocol:
    """How the pairs are run."""

    pairs: int
    #: The measured time, where it is shorter than that of the run; None for the whole.
    measure_s: float | None
    #: The whole measured time.
    whole_s: float
    #: How many changes the processor time is enough for.
    changes: int
    #: |logarithm| of the run's own throughput in the modelled seconds over that in all of them.
    shortened: float = 0.0

    @property
    def text(self) -> str:
        """How the pairs were run, as the advice prints it."""
        length = f"{self.whole_s:g} s" if self.measure_s is None else f"{self.measure_s:g} of its {self.whole_s:g} s"
        return f"{self.pairs} pairs of runs over {length}, with and without the change"


def model_effects(
    consultation: Consultation,
    progress: Progress,
    cpu_s: float = CPU_S,
    subject: Subject | None = None,
    *,
    programs: bool = False,
) -> Consultation:
    """The same advice with the modelled effect of each change that the experiment can make.

    `subject`: what is modelled; None for the experiment as it is. `programs`: those that it names may run.

    Changes that come first are modelled first; those that the processor time `cpu_s` is not enough for say so.
    Errors: Interrupted.
    """
    asked = [one for one in consultation.advice if one.effect is None and one.change.overrides]
    if not asked:
        return consultation
    experiment = consultation.evidence.experiment
    named = next(programs_of(experiment), None) if experiment is not None and not programs else None
    if named is not None:
        why = f"not predicted: {named[0]} names a program, {quote(named[1])}, which --trust lets run"
        told = [dataclasses.replace(one, no_effect=why) for one in asked]
        return _with_told(consultation, told)
    with tempfile.TemporaryDirectory(prefix="flatwater-effects-") as folder:
        modelling = _Modelling(consultation.cell, subject or Subject(), cpu_s, progress, programs=programs)
        told = modelling.effects(asked, Path(folder))
    return _with_told(consultation, told)


def _with_told(consultation: Consultation, told: Sequence[Advice]) -> Consultation:
    found = {one.rule: one for one in told}
    return dataclasses.replace(consultation, advice=tuple(found.get(one.rule, one) for one in consultation.advice))


class _Modelling:
    """Runs the model of one cell, and counts what that takes."""

    def __init__(self, cell: Cell, subject: Subject, cpu_s: float, progress: Progress, *, programs: bool) -> None:
        self.cell = cell
        self.subject = subject
        self.progress = progress
        self.programs = programs
        #: The processor time allowed, and taken so far.
        self.cpu_s = cpu_s
        self.spent_s = 0.0

    def effects(self, asked: Sequence[Advice], folder: Path) -> list[Advice]:
        """The advice that is asked about with its effect, or with the reason why there is none. Errors: Interrupted."""
        too_long = f"modelling it takes more than --cpu-s {self.cpu_s:g}"
        try:
            protocol = self._choose(len(asked), folder / "probe")
            if not protocol.changes:
                return [_without(one, too_long) for one in asked]
            self.progress("modelling the run without a change")
            before = self._runs((), protocol, folder / "before")
            off, own = protocol.shortened, 0.0
            if self.subject.off is not None:
                off += self.subject.off(before)
            else:
                own = _over_own(before, self.cell, protocol)
        except Interrupted:
            raise
        except FlatwaterError as error:
            return [_without(one, error.what) for one in asked]
        told = []
        for number, advice in enumerate(asked):
            # The price was an estimate.
            if number >= protocol.changes or (number and self.spent_s > self.cpu_s):
                told.append(_without(advice, too_long))
                continue
            self.progress(f"modelling {advice.rule} ({number + 1} of {len(asked)})")
            try:
                after = self._runs(advice.change.overrides, protocol, folder / f"after-{number}")
                found = effect_interval(_pairs(before, after), off, self.subject.noise, own)
            except Interrupted:
                raise
            except FlatwaterError as error:
                told.append(_without(advice, error.what))
                continue
            effect = Effect(found.low, found.high, f"{self.subject.source}: {protocol.text}", found.ratio)
            told.append(dataclasses.replace(advice, effect=effect, no_effect=""))
        return told

    def _choose(self, changes: int, folder: Path) -> _Protocol:
        """As many pairs of whole runs as the processor time is enough for; else fewer changes; else shorter runs."""
        timing = self.subject.make(self.cell, (), None).workload
        warmup_s, whole_s = timing.warmup_s, timing.longest_s - timing.warmup_s
        self.progress("how long a modelled run takes")
        fixed, a_second = self._prices(timing.longest_s, folder)
        each = fixed + a_second * timing.longest_s
        left = self.cpu_s - self.spent_s
        for told in range(changes, 0, -1):
            pairs = int(left / (each * (1 + told))) if each > 0 else PAIRS_MAX
            if pairs >= PAIRS_MIN:
                return _Protocol(min(pairs, PAIRS_MAX), None, whole_s, told)
        afford_s = (left / (2 * PAIRS_MIN) - fixed) / a_second - warmup_s if a_second > 0 else 0.0
        if afford_s < _SHORTEST_S or timing.steady_state == "snia":
            return _Protocol(0, None, whole_s, 0)
        measure_s = float(math.floor(min(afford_s, whole_s)))
        return _Protocol(PAIRS_MIN, measure_s, whole_s, 1, _shortened(self.cell, measure_s))

    def _prices(self, longest_s: float, folder: Path) -> tuple[float, float]:
        """Processor seconds of a run before its first second, and of each virtual second, by short runs of it."""
        probe_s = min(longest_s, _PROBE_S)
        price = self._price(probe_s, folder / "short")
        if probe_s == longest_s or 2 * PAIRS_MIN * price * longest_s / probe_s <= self.cpu_s:
            # It is cheap enough, even if nothing of the price came before the first second.
            return 0.0, price / probe_s
        longer_s = min(longest_s, 3 * probe_s)
        a_second = max(0.0, self._price(longer_s, folder / "longer") - price) / (longer_s - probe_s)
        return max(0.0, price - a_second * probe_s), a_second

    def _price(self, length_s: float, folder: Path) -> float:
        """Processor seconds of one run of so much virtual time."""
        before_s = self.spent_s
        shorter = ("workload.warmup_s=0", f"workload.duration_s={length_s}", 'workload.steady_state="none"')
        self._run(self.subject.make(self.cell, ("repeat=1", *shorter), None), folder)
        return self.spent_s - before_s

    def _runs(self, overrides: Sequence[str], protocol: _Protocol, folder: Path) -> list[Cell]:
        """A run for each seed."""
        shorter = () if protocol.measure_s is None else (f"workload.duration_s={protocol.measure_s}",)
        seed = cell_seed(self.cell.plan.seed, _SEED_INDEX)
        asked = (*overrides, f"repeat={protocol.pairs}", *shorter)
        return self._run(self.subject.make(self.cell, asked, seed), folder)

    def _run(self, experiment: Experiment, folder: Path) -> list[Cell]:
        """Errors: Interrupted; FlatwaterError if a cell failed."""
        if self.programs:
            experiment = experiment.letting_programs_run()
        outcome = run_experiment(experiment, folder, SilentReporter(), lambda *_: None)
        self.spent_s += outcome.cells_took.cpu_s
        if outcome.status == "interrupted":
            raise Interrupted("interrupted")
        if outcome.status == "failed":
            raise FlatwaterError(f"the modelled run failed: {outcome.error}")
        return open_result(folder).cells


def _without(advice: Advice, why: str) -> Advice:
    return dataclasses.replace(advice, no_effect=f"not predicted: {why}; --verify measures it")


def _shortened(cell: Cell, measure_s: float) -> float:
    return abs(math.log(_throughput(cell, measure_s) / _throughput(cell)))


def _over_own(before: Sequence[Cell], own: Cell, protocol: _Protocol) -> float:
    """Logarithm of the throughput of unchanged runs over that of the run that was advised on, in the same seconds."""
    logarithms = [math.log(_throughput(cell)) for cell in before]
    return sum(logarithms) / len(logarithms) - math.log(_throughput(own, protocol.measure_s))


def _throughput(cell: Cell, measure_s: float | None = None) -> float:
    """Mean throughput of the first `measure_s` that were measured; None: of all. Errors: UserError if there is none."""
    series = cell.measured("workload", "throughput")
    if measure_s is not None:
        began_s = cell.measured_span()[0]
        series = series.between(began_s, began_s + measure_s)
    if not len(series) or not series.value.mean() > 0:
        raise UserError("the run's throughput was not recorded")
    return float(series.value.mean())


def _pairs(before: Sequence[Cell], after: Sequence[Cell]) -> list[Pair]:
    return [pair_of(_halves(one), _halves(other)) for one, other in zip(before, after, strict=True)]


def _halves(cell: Cell) -> tuple[float, float]:
    """Mean throughput of each half of the measured phase. Errors: FlatwaterError if one of them is 0."""
    first, second = np.array_split(cell.measured("workload", "throughput").value, 2)
    if not len(second) or min(first.mean(), second.mean()) <= 0:
        raise FlatwaterError("the modelled run did nothing in half of its time")
    return float(first.mean()), float(second.mean())
