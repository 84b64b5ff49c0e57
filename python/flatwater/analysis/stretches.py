"""Runs of consecutive intervals that share a property."""

from __future__ import annotations

from typing import Any

import numpy as np


def stretches(marked: np.ndarray[Any, np.dtype[np.bool_]], merge_gap: int = 0) -> list[tuple[int, int]]:
    """The [first, last) indices of each run of True; runs at most `merge_gap` intervals apart are one."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marked, [False])).astype(np.int8)))
    found: list[tuple[int, int]] = []
    for first, last in edges.reshape(-1, 2).tolist():
        if found and first - found[-1][1] <= merge_gap:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found
