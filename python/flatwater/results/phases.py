"""The phases of a cell's time, and the one place that says which samples were measured.

A cell that was resumed has several measured phases, with a repeated warm-up between them. Whoever wants what was
measured asks here (or `Cell.measured`, which asks here); nobody cuts it out by start and end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatwater.results.schema import Phase
from flatwater.results.series import EMPTY, Series

PRECONDITION, WARMUP, APPROACH, MEASURE, DRAIN, VERIFY = (
    "precondition",
    "warmup",
    "approach",
    "measure",
    "drain",
    "verify",
)
#: What the lines of a journal are marked with, in their order; which of them were the approach is found afterwards.
RECORDED = (PRECONDITION, WARMUP, MEASURE, DRAIN, VERIFY)

Values = np.ndarray[Any, np.dtype[np.float64]]


def measured_phases(phases: Sequence[Phase]) -> list[Phase]:
    """The measured ones, in their order: more than one where a run was resumed."""
    return [phase for phase in phases if phase.name == MEASURE]


def measured_s(phases: Sequence[Phase]) -> float:
    """Seconds that were measured, without what lies between the pieces."""
    return sum(phase.end_s - phase.start_s for phase in measured_phases(phases))


def measured_span(phases: Sequence[Phase]) -> tuple[float, float]:
    """From the first measured second to the last, seconds of the cell's time, to draw axes: what lies between may not
    have been measured. (0, inf) when nothing was.
    """
    found = measured_phases(phases)
    return (found[0].start_s, found[-1].end_s) if found else (0.0, math.inf)


def began_s(phases: Sequence[Phase]) -> float:
    """When what is judged began: the first measured second, or SNIA's approach to it; seconds of the cell's time."""
    return next((phase.start_s for phase in phases if phase.name in (APPROACH, MEASURE)), 0.0)


def measured_samples(series: Series, phases: Sequence[Phase]) -> Series:
    """The samples of the measured phases: no warm-up, also not the one that a resumed run repeats. None when nothing
    was measured; all of them when nobody said what the phases were.
    """
    if not phases:
        return series
    spans = [series.between(phase.start_s, phase.end_s) for phase in measured_phases(phases)]
    if not spans:
        return EMPTY
    if len(spans) == 1:
        return spans[0]
    return Series(np.concatenate([one.time_s for one in spans]), np.concatenate([one.value for one in spans]))


def lengths_s(samples: Series, phases: Sequence[Phase]) -> Values:
    """How long each of the measured samples is, seconds: from the one before it, or from its phase's start."""
    found = np.diff(samples.time_s, prepend=samples.time_s[:1])
    for phase in measured_phases(phases):
        first = np.searchsorted(samples.time_s, phase.start_s + 1e-3, side="left")
        if first < len(samples):
            found[first] = samples.time_s[first] - phase.start_s
    return found
