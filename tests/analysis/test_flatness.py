from __future__ import annotations

import numpy as np
import pytest

from flatwater.analysis.flatness import flatness


def test_a_ruler() -> None:
    figures = flatness(np.full(100, 500.0))
    assert (figures.mean, figures.stddev, figures.median, figures.flatness) == (500, 0, 500, 1)


def test_the_fifth_percentile_over_the_median() -> None:
    values = np.concatenate([np.full(90, 1000.0), np.full(10, 400.0)])
    assert flatness(values).flatness == pytest.approx(0.4)
    assert flatness(np.concatenate([np.full(99, 1000.0), [400.0]])).flatness == 1


def test_what_cannot_be_known_is_none() -> None:
    assert flatness(np.array([])).mean is None
    assert flatness(np.array([5.0])).stddev is None
    assert flatness(np.zeros(10)).flatness is None
