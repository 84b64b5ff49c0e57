"""How busy a volume is by its requests: it serves so many a second and no more, whatever its link could carry."""

from __future__ import annotations

import numpy as np

from flatwater.analysis.bound.line import Line, Values
from flatwater.errors import UserError
from flatwater.experiment import ModelledStorage
from flatwater.experiment.device.volume import Iops, VolumeDevice


def requests_busy(
    storage: ModelledStorage, burst_credits: Line | None, requests: Line | None, step_s: float
) -> Line | None:
    """Requests, percent of the most that a modelled volume serves in a second; None of any other storage.

    Credits tell the requests exactly: each takes one, and the baseline's number comes back in a second. Without them it
    is what was asked for.
    """
    try:
        device = storage.modelled_device
    except UserError:
        return None
    if not isinstance(device, VolumeDevice):
        return None
    iops = device.iops
    served = _by_credits(burst_credits, iops, step_s) if burst_credits is not None else None
    rate = served if served is not None else requests.value if requests is not None else None
    if rate is None or not np.isfinite(rate).any():
        return None
    return Line(np.clip(100 * rate / (iops.burst or iops.baseline), 0.0, 100.0))


def busier(one: Line | None, other: Line | None) -> Line | None:
    """The higher of two in each interval."""
    if one is None or other is None:
        return one if other is None else other
    return Line(np.fmax(one.value, other.value))


def _by_credits(burst_credits: Line, iops: Iops, step_s: float) -> Values | None:
    left = burst_credits.value
    # Full and empty credits do not move: what was served then is not told by them.
    known = (left > 0) & (left < iops.credits_max)
    if step_s <= 0 or not known.any():
        return None
    served = iops.baseline - np.diff(left, prepend=np.nan) / step_s
    found: Values = np.where(known, np.maximum(served, 0.0), np.nan)
    return found if np.isfinite(found).any() else None
