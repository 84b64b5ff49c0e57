"""Series with known truths."""

from __future__ import annotations

from typing import Any

import numpy as np

from flatwater.results.series import Series

Values = np.ndarray[Any, np.dtype[np.float64]]


def series(values: Any, interval_s: float = 1.0, start_s: float = 0.0) -> Series:
    values = np.asarray(values, dtype=np.float64)
    return Series(start_s + interval_s * (np.arange(len(values)) + 1.0), values)


def autoregressive(phi: float, runs: int, length: int, rng: np.random.Generator) -> Values:
    """`runs` stationary AR(1) series of mean 100 and standard deviation 10, one a row."""
    noise = rng.normal(size=(runs, length))
    noise[:, 1:] *= (1 - phi * phi) ** 0.5
    values = noise
    for index in range(1, length):
        values[:, index] += phi * values[:, index - 1]
    return 100 + 10 * values
