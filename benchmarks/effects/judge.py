"""Effects as measured and as predicted, and how well they agree."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.effects.cells import Outcome
from benchmarks.pairs import Target, log_half_width
from flatwater.what_if.noise import Z95

#: What the table is for. Shares and natural logarithms.
SIGNS_MIN, ERRORS_MIN, VERDICTS_MIN, PAGES_MIN = 0.95, 0.9, 0.9, 0.9
MEDIAN_ERROR_MAX = 0.1
#: A ratio agrees if its error is at most this; pages, if they are within this of the server's.
ERROR_WITHIN, PAGES_WITHIN = 0.25, 0.2
#: So many rounds tell by themselves how far they scatter.
ROUNDS_MIN = 3


@dataclass(frozen=True)
class Effect:
    """What one change did to a server, and what the model says. Ratios are changed / unchanged, of throughputs."""

    change: str
    measured: float
    #: The ends of the 95 % confidence interval.
    low: float
    high: float
    predicted: float
    real: Outcome
    model: Outcome
    #: The server's verdict of each round.
    verdicts: tuple[str, ...] = ()

    @property
    def is_outside_noise(self) -> bool:
        """Whether the server was surely faster, or surely slower."""
        return not self.low <= 1 <= self.high

    @property
    def has_right_sign(self) -> bool:
        """Whether the model says the same direction."""
        return (self.predicted > 1) == (self.measured > 1)

    @property
    def error(self) -> float:
        """How far the predicted ratio is off: the natural logarithm, 0 for a perfect one."""
        return abs(math.log(self.predicted / self.measured))

    @property
    def has_right_verdict(self) -> bool:
        """Whether both lines are flat, or both dip, and so on."""
        return self.real.verdict == self.model.verdict

    def own_verdicts(self) -> Iterator[bool]:
        """Whether the server had the same verdict again: each pair of its rounds."""
        for one, other in itertools.combinations(self.verdicts, 2):
            yield one == other

    def pages_ratios(self) -> Iterator[float]:
        """Pages read and written of a transaction, the model's over the server's; where the server had any."""
        for modelled, measured in (
            (self.model.pages_read, self.real.pages_read),
            (self.model.pages_written, self.real.pages_written),
        ):
            if measured > 0:
                yield modelled / measured


@dataclass(frozen=True)
class Goal:
    """One goal of the table, and how far it is reached; None where nothing could be counted."""

    name: str
    #: None for a figure that is shown beside the goals.
    target: Target | None
    value: float | None
    #: Effects, or figures, that were counted.
    count: int

    @property
    def verdict(self) -> str:
        """In the words of the other pages."""
        if self.target is None:
            return "shown only"
        if self.value is None:
            return "nothing to judge"
        return "met" if self.target.holds(self.value) else "**not met**"


def effects(
    names: Sequence[str],
    real: Sequence[Sequence[Outcome | None]],
    noises: Sequence[float],
    model: Sequence[Sequence[Outcome | None]],
) -> list[Effect]:
    """The effect of each change, where both sides have it. The first of `real`, `noises` and `model` is the unchanged
    server. A noise is the standard deviation of one run's mean, as a share of the mean.
    """
    found = []
    for name, changed, noise, predicted in zip(names, real[1:], noises[1:], model[1:], strict=True):
        rounds = _ratios(changed, real[0])
        model_rounds = _ratios(predicted, model[0])
        if not rounds or not model_rounds:
            continue
        low, high = interval(rounds, math.hypot(noises[0], noise))
        found.append(
            Effect(
                name,
                statistics.geometric_mean(rounds),
                low,
                high,
                statistics.geometric_mean(model_rounds),
                _middle(changed),
                _middle(predicted),
                tuple(one.verdict for one in changed if one is not None),
            )
        )
    return found


def _ratios(changed: Sequence[Outcome | None], unchanged: Sequence[Outcome | None]) -> list[float]:
    """Of the throughputs, round by round."""
    both = zip(changed, unchanged, strict=True)
    return [one.throughput / other.throughput for one, other in both if one is not None and other is not None]


def interval(ratios: Sequence[float], noise: float) -> tuple[float, float]:
    """The confidence interval of a ratio. From three rounds on: Student's t of the rounds' logarithms. Two say too
    little of how far they scatter: then `noise`, the standard deviation of the ratio of two runs, tells it.
    """
    half = log_half_width(ratios) if len(ratios) >= ROUNDS_MIN else None
    if half is None:
        half = Z95 * noise / math.sqrt(len(ratios))
    mean = statistics.geometric_mean(ratios)
    return mean * math.exp(-half), mean * math.exp(half)


def _middle(rounds: Sequence[Outcome | None]) -> Outcome:
    """The means of the rounds, and their most frequent verdict."""
    told = [one for one in rounds if one is not None]

    def mean(figure: Callable[[Outcome], float]) -> float:
        return statistics.fmean(map(figure, told))

    return Outcome(
        throughput=mean(lambda one: one.throughput),
        pages_read=mean(lambda one: one.pages_read),
        pages_written=mean(lambda one: one.pages_written),
        age_mib=mean(lambda one: one.age_mib),
        cpu_us=mean_of(one.cpu_us for one in told),
        write_amplification=mean_of(one.write_amplification for one in told),
        verdict=Counter(one.verdict for one in told).most_common(1)[0][0],
    )


def mean_of(figures: Iterable[float | None]) -> float | None:
    """The mean of those that are known; None if none is."""
    there = [figure for figure in figures if figure is not None]
    return statistics.fmean(there) if there else None


def goals(found: Sequence[Effect]) -> list[Goal]:
    """How far the goals are reached by these effects."""
    sure = [one for one in found if one.is_outside_noise]
    errors = [one.error for one in found]
    again = [same for one in found for same in one.own_verdicts()]
    pages = [abs(ratio - 1) <= PAGES_WITHIN for one in found for ratio in one.pages_ratios()]
    return [
        _share("right sign, of effects outside noise", SIGNS_MIN, [one.has_right_sign for one in sure]),
        Goal(
            "median error of ratios, abs ln",
            Target("at most", MEDIAN_ERROR_MAX),
            statistics.median(errors) if errors else None,
            len(errors),
        ),
        _share(
            f"error of ratios at most {ERROR_WITHIN:g}, abs ln",
            ERRORS_MIN,
            [error <= ERROR_WITHIN for error in errors],
        ),
        _share("the same verdict", VERDICTS_MIN, [one.has_right_verdict for one in found]),
        *([_share("the server's own verdict, of another round", None, again)] if again else []),
        _share(f"pages read and written within {100 * PAGES_WITHIN:.0f} %", PAGES_MIN, pages),
    ]


def _share(name: str, least: float | None, holds: Sequence[bool]) -> Goal:
    target = None if least is None else Target("at least", least)
    return Goal(name, target, sum(holds) / len(holds) if holds else None, len(holds))
