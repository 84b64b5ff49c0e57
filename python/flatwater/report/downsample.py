"""Fewer points for the screen, with the extremes kept.

M4 (Jugel, Jerzak, Hackenbroich, Markl: "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014) keeps of
each bucket the first, the lowest, the highest and the last sample. A line through those has the pixels of the line
through all samples, as long as there is a bucket for each pixel column. No dip or stall is ever lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.intp]]

#: The most samples that M4 keeps of a bucket.
KEPT_OF_BUCKET = 4
#: A gap this many times longer than the usual interval breaks the line.
GAP_INTERVALS = 1.5
#: Intervals that are used to find the usual interval.
INTERVALS_LOOKED_AT = 1001


@dataclass(frozen=True)
class Line:
    """One drawn series: a NaN in `value` breaks the line.

    `low` and `high` are the extremes of all samples, and are among the drawn samples; NaN if no sample is finite.
    """

    time_s: Floats
    value: Floats
    low: float
    high: float
    #: The lowest sample above zero, which a logarithmic axis must include. NaN if there is none.
    low_positive: float = np.nan


def kept(value: Floats, buckets: int) -> Places:
    """The samples to draw: all of them if they are few, otherwise at most 4 of each of `buckets` equal buckets."""
    count = len(value)
    if count <= KEPT_OF_BUCKET * buckets:
        return np.arange(count)
    size = -(-count // buckets)
    rows = -(-count // size)
    first = np.arange(rows) * size
    last = np.minimum(first + size, count) - 1
    # The tail is filled with its last sample: argmin and argmax find the earliest, so never the filling.
    padded = np.full(rows * size, value[-1])
    padded[:count] = value
    if np.isfinite(padded).all():
        low = high = padded
    else:
        low = np.where(np.isfinite(padded), padded, np.inf)
        high = np.where(np.isfinite(padded), padded, -np.inf)
    lowest = first + low.reshape(rows, size).argmin(axis=1)
    highest = first + high.reshape(rows, size).argmax(axis=1)
    return np.unique(np.concatenate([first, lowest, highest, last]))


def lines(time_s: Floats, values: list[Floats], buckets: int) -> list[Line]:
    """Series with common times, drawn at the same moments (so that they can be stacked).

    `time_s` and each of `values` have one length; the times do not decrease. All samples that any series keeps are
    kept.
    """
    if not len(time_s):
        return [Line(time_s, value, np.nan, np.nan) for value in values]
    places = kept(values[0], buckets)
    for value in values[1:]:
        places = np.union1d(places, kept(value, buckets))
    intervals = np.diff(time_s)
    usual_s = float(np.median(intervals[:INTERVALS_LOOKED_AT])) if len(intervals) else 0.0
    gap_s = GAP_INTERVALS * usual_s
    if len(places) < len(time_s):
        # A gap that is narrower than a bucket is not visible.
        gap_s = max(gap_s, float(time_s[-1] - time_s[0]) / buckets)
    before = np.flatnonzero(intervals > gap_s)
    places = np.union1d(places, np.concatenate([before, before + 1])) if len(before) else places
    breaks = np.searchsorted(places, before) + 1
    drawn_s = np.insert(time_s[places], breaks, time_s[before] + usual_s)
    found = []
    for value in values:
        finite = value[np.isfinite(value)] if not np.isfinite(value).all() else value
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (np.nan, np.nan)
        positive = finite[finite > 0] if low <= 0 else finite
        low_positive = float(positive.min()) if len(positive) else np.nan
        drawn = np.insert(value[places], breaks, np.nan)
        drawn[~np.isfinite(drawn)] = np.nan
        found.append(Line(drawn_s, drawn, low, high, low_positive))
    return found
