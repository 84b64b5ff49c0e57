from __future__ import annotations

import numpy as np

from flatwater.analysis.warmup import transient_samples

SEED = 5


def test_a_transient_ends_where_it_ends() -> None:
    rng = np.random.default_rng(SEED)
    seconds = np.arange(600)
    values = 10_000 - 6000 * np.exp(-seconds / 20) + rng.normal(size=600) * 100
    cut = transient_samples(values)
    assert cut is not None
    assert 60 <= cut <= 200


def test_a_fast_start_of_a_fresh_card_is_a_transient_too() -> None:
    values = np.concatenate([np.full(100, 1700.0), np.full(500, 550.0)]) + np.random.default_rng(SEED).normal(size=600)
    assert transient_samples(values) == 100


def test_stationary_noise_has_none() -> None:
    rng = np.random.default_rng(SEED)
    found = [transient_samples(1000 + rng.normal(size=300) * 30) for _ in range(200)]
    assert np.mean([cut == 0 for cut in found]) > 0.97


def test_one_that_lasts_beyond_the_half_never_ended() -> None:
    values = np.concatenate([np.full(400, 1700.0), np.full(200, 550.0)])
    assert transient_samples(values) is None


def test_too_short_to_have_one() -> None:
    assert transient_samples(np.arange(19.0)) == 0
    assert transient_samples(np.array([])) == 0
