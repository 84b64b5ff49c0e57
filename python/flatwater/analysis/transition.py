"""The three phases of a write run from a fresh card: fast, a transition, steady.

A flash card that was never written accepts writes as fast as it can program them, until it has no erased block left.
Its collector must then move valid pages before it can erase a block again. The speed falls, over minutes to hours, to
the level that lasts (the laboratory's reviews of 2010-2013; SNIA PTS calls the last level steady state).
"""

from __future__ import annotations

import numpy as np

from flatwater.analysis.autocorrelation import Values
from flatwater.results.schema import Transition
from flatwater.results.series import Series

#: Three phases cannot be seen in fewer samples than this.
SAMPLES_MIN = 30
#: The line is averaged over this share of the run, so that single slow seconds are not a transition.
SMOOTHED_SHARE = 0.02
#: The transition begins when the line is lower than the fast level by more than this, and ends when it stays within
#: this of the steady level. 5 % is how far the rounds of a steady state differ in practice.
NEAR = 0.05
#: The steady level is that of the last fifth, because SNIA's window is the last five of 25 rounds.
LAST_SHARE = 0.2
#: A fall by less than this (a share of the fast level) does not make two levels.
FALL_MIN = 0.1
#: If the averaged line scatters by more than `NEAR` at the end, the steady level is reached within this many standard
#: deviations.
SCATTER = 3.0


def find_transition(throughput: Series) -> Transition | None:
    """The transition in the throughput of a measured phase; None if there is none.

    It begins when the averaged line leaves the fast level for good, and ends when it is near the steady level for good.
    """
    values = throughput.value
    if len(values) < SAMPLES_MIN:
        return None
    window = max(1, round(len(values) * SMOOTHED_SHARE))
    line = _smoothed(values, window)
    last = line[-max(2, round(len(line) * LAST_SHARE)) :]
    final = float(last.mean())
    # The first average is of the fast phase, unless there was none. The median of all averages that are as fast is its
    # level.
    fast = float(np.median(line[line >= line[0] * (1 - NEAR)]))
    begin = _after_last(line >= fast * (1 - NEAR))
    if begin is None or begin == 0 or final > fast * (1 - FALL_MIN):
        return None
    fast = float(np.median(values[: begin + window // 2])) if begin + window // 2 else fast
    begin_s = _time_at(throughput, begin, window)
    end = _end(line, last, final)
    if end is None or end <= begin:
        return Transition(fast=fast, begin_s=begin_s)
    end_s = _time_at(throughput, end, window)
    steady = float(values[end + window // 2 :].mean())
    return Transition(fast=fast, begin_s=begin_s, end_s=end_s, steady=steady, transition_s=end_s - begin_s)


def _smoothed(values: Values, window: int) -> Values:
    """Means of `window` neighbours; entry i is of samples i .. i + window - 1."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    means: Values = (sums[window:] - sums[:-window]) / window
    return means


def _end(line: Values, last: Values, final: float) -> int | None:
    """The first place from which the line stays near the final level; None if it was still falling at the end."""
    half = len(last) // 2
    if abs(float(last[:half].mean()) - float(last[half:].mean())) > NEAR * final:
        return None
    near = max(NEAR * final, SCATTER * float(last.std()))
    end = _after_last(np.abs(line - final) > near)
    # The line must have been there for (nearly) as long as the stretch from which the level was taken.
    return end if end is not None and end <= len(line) - half else None


def _after_last(there: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int | None:
    """The first place after the last one that is true; None when that is the end."""
    places = np.flatnonzero(there)
    after = int(places[-1]) + 1 if len(places) else 0
    return after if after < len(there) else None


def _time_at(series: Series, place: int, window: int) -> float:
    """The time of the middle of an average."""
    return float(series.time_s[min(place + window // 2, len(series) - 1)])
