"""The phases of a cell's time. Only this file decides which samples were measured.

A resumed cell has several measured phases, with a repeated warm-up between them. So the measured samples come from
here (or from `Cell.measured`, which calls this), and never from a cut by start and end.
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
#: The phases that the lines of a journal have, in their order. The approach is determined later.
RECORDED = (PRECONDITION, WARMUP, MEASURE, DRAIN, VERIFY)

Values = np.ndarray[Any, np.dtype[np.float64]]


def measured_phases(phases: Sequence[Phase]) -> list[Phase]:
    """The measured phases in their order: more than one if the cell was resumed."""
    return [phase for phase in phases if phase.name == MEASURE]


def measured_s(phases: Sequence[Phase]) -> float:
    """Measured seconds, without the gaps between the phases."""
    return sum(phase.end_s - phase.start_s for phase in measured_phases(phases))


def measured_span(phases: Sequence[Phase]) -> tuple[float, float]:
    """From the first measured second to the last, seconds of the cell's time, for the axes of charts: the range may
    include gaps. (0, inf) if nothing was measured.
    """
    found = measured_phases(phases)
    return (found[0].start_s, found[-1].end_s) if found else (0.0, math.inf)


def began_s(phases: Sequence[Phase]) -> float:
    """Start of the judged time, seconds of the cell's time: the first measured second, or that of SNIA's approach."""
    return next((phase.start_s for phase in phases if phase.name in (APPROACH, MEASURE)), 0.0)


def measured_samples(series: Series, phases: Sequence[Phase]) -> Series:
    """The samples of the measured phases, without any warm-up, also the one that a resumed run repeats. Empty if
    nothing was measured; all samples if there are no phases.
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
    """Length of each measured sample, seconds: from the sample before it, or from the start of its phase."""
    found = np.diff(samples.time_s, prepend=samples.time_s[:1])
    for phase in measured_phases(phases):
        first = np.searchsorted(samples.time_s, phase.start_s + 1e-3, side="left")
        if first < len(samples):
            found[first] = samples.time_s[first] - phase.start_s
    return found
