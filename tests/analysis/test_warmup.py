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


def test_what_is_dead_behind_the_start_is_no_start() -> None:
    rng = np.random.default_rng(SEED)
    for begin, end in ((100, 140), (20, 23), (5, 120), (148, 150)):
        values = 1000 + rng.normal(size=300) * 30
        values[begin:end] = 0
        assert transient_samples(values) == 0, (begin, end)
    slow = 1000 - 900 * np.exp(-np.arange(300) / 10) + np.random.default_rng(SEED).normal(size=300) * 30
    slow[1:5] = 0
    slow[0] = 1000
    slow[150:170] = 0
    cut = transient_samples(slow)
    assert cut is not None and 10 <= cut <= 100, "a start that begins with nothing is one"
