"""How many independent samples a series contains, and so how certain its mean is.

Seconds of a run are not independent: a slow second is followed by slow seconds. The textbook standard error
stddev/sqrt(n) is then too small, by a factor of three if neighbouring seconds correlate by 0.8. This module divides by
the *effective* sample size n / tau instead. tau is the integrated autocorrelation time by Geyer's initial monotone
positive sequence (C. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7, 1992, section 3.3), which
needs no tuning constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[np.float64]]

#: The confidence of every interval that flatwater prints.
CONFIDENCE = 0.95
#: Fewer effective samples than this do not determine the spread: the interval is then unknown, not narrow.
EFFECTIVE_MIN = 2.0


@dataclass(frozen=True)
class Estimate:
    """A mean, its standard error and the degrees of freedom behind that error, in the unit of the series."""

    mean: float
    error: float
    freedom: float

    @property
    def ci95(self) -> float:
        """Half-width of the 95 % confidence interval."""
        return student_quantile(0.5 + CONFIDENCE / 2, self.freedom) * self.error


def effective_samples(values: Values) -> float:
    """How many independent samples `values` (n numbers, evenly spaced in time) contain, 1..n.

    Never more than n: anticorrelated seconds could count as more, but short series overstate this.
    """
    n = len(values)
    if n < 4:
        return float(n)
    centred = values - values.mean()
    # Zero-padded to twice the length, so that the FFT's circular correlation is the plain one.
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    covariance = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:n]
    if covariance[0] <= n * (np.finfo(float).eps * np.abs(values).max()) ** 2:
        return float(n)  # constant: there is no error to widen
    correlation = covariance / covariance[0]
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: negative[0] if len(negative) else len(pairs)])
    tau = max(2.0 * float(kept.sum()) - 1.0, 1.0)
    return max(n / tau, 1.0)


def estimate_mean(values: Values) -> Estimate | None:
    """The mean with an error that accounts for autocorrelation; None if the error cannot be known."""
    if len(values) < 2:
        return None
    effective = effective_samples(values)
    if effective < EFFECTIVE_MIN:
        return None
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(effective), effective - 1.0)


def student_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t for `freedom` >= 1 degrees (fractions allowed).

    From 3 degrees on the expansion in 1/freedom of Abramowitz & Stegun, Handbook of Mathematical Functions, 26.7.5
    (within 0.2 % for 95 % intervals); exact at 1 and 2 degrees, and interpolated in 1/freedom between these three.
    """
    if freedom < 3:
        at_one = math.tan(math.pi * (probability - 0.5))
        p = 2 * probability - 1
        at_two = p * math.sqrt(2 / (1 - p * p))
        if freedom <= 2:
            share = 2 - 2 / max(freedom, 1.0)
            return at_one + share * (at_two - at_one)
        share = (1 / 2 - 1 / freedom) * 6
        return at_two + share * (student_quantile(probability, 3) - at_two)
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))
