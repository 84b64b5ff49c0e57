"""Fast, transition, steady: of series whose phases are known."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from flatwater.analysis import find_transition

sys.path.insert(0, str(Path(__file__).parent))
from known_series import series


def curve(fast: float, steady: float, begin: int, length: int, count: int, noise: float, seed: int) -> object:
    """Falls in a straight line, as it does between the writing of the last erased block and the steady state."""
    rng = np.random.default_rng(seed)
    at = np.arange(count)
    level = fast + (steady - fast) * np.clip((at - begin) / length, 0, 1)
    return series(level * (1 + noise * rng.standard_normal(count)))


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_a_known_curve(noise: float, seed: int) -> None:
    found = find_transition(curve(1000, 400, 600, 1800, 7200, noise, seed))
    assert found is not None and found.steady is not None and found.end_s is not None, f"seed {seed}"
    assert found.fast == pytest.approx(1000, rel=0.02)
    assert found.steady == pytest.approx(400, rel=0.02)
    # 5 % under the fast level is a twelfth of the fall, 5 % above the steady one another thirtieth.
    assert found.begin_s == pytest.approx(600 + 1800 / 12, abs=100), f"seed {seed}"
    assert found.end_s == pytest.approx(600 + 1800 * 29 / 30, abs=150), f"seed {seed}"
    assert found.transition_s == pytest.approx(found.end_s - found.begin_s)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.full(1000, 500.0), "flat"),
        (np.linspace(100, 1000, 1000), "rising"),
        (np.full(20, 5.0), "too short"),
        (np.concatenate([np.full(500, 100.0), np.full(500, 93.0)]), "a fall that nobody would call two levels"),
        (np.concatenate([np.full(400, 100.0), np.full(100, 10.0), np.full(500, 100.0)]), "a dip"),
        (np.zeros(100), "dead"),
        (np.empty(0), "nothing"),
    ],
)
def test_none(values: object, why: str) -> None:
    assert find_transition(series(values)) is None, why


def test_one_that_was_not_over() -> None:
    found = find_transition(series(np.concatenate([np.full(300, 1000.0), np.linspace(1000, 300, 700)])))
    assert found is not None
    assert (found.end_s, found.steady, found.transition_s) == (None, None, None)
    assert found.fast == pytest.approx(1000, rel=0.01)


def test_times_are_those_of_the_series() -> None:
    later = series(np.concatenate([np.full(200, 100.0), np.full(800, 50.0)]), interval_s=0.5, start_s=1000.0)
    found = find_transition(later)
    assert found is not None and found.end_s is not None
    assert 1000 + 80 < found.begin_s <= found.end_s < 1000 + 120


def test_slow_seconds_in_the_fast_phase_do_not_begin_it() -> None:
    values = np.concatenate([np.full(1000, 100.0), np.full(2000, 40.0)])
    values[300:305] = 0.0
    found = find_transition(series(values))
    assert found is not None
    assert found.begin_s == pytest.approx(1000, abs=40)
