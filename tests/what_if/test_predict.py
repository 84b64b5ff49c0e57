"""Predictions against what is true of stacks that are known, and the arithmetic of the interval."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from recorded import Hidden, intervals, recorded, throughput

from flatwater.what_if import Fitted, fit_twin, parse_changes, predict, read_base, usual_questions
from flatwater.what_if.noise import Z95
from flatwater.what_if.predict import half_width
from flatwater.what_if.twin import Twin

_SETTINGS = "database.settings."
CHANGES = {
    "innodb_buffer_pool_size": "192M",
    "innodb_log_file_size": "8M",
    "innodb_doublewrite": False,
}


def quiet(text: str) -> None:
    """Progress that nobody sees."""


@pytest.fixture(
    scope="module",
    params=[
        Hidden(),
        pytest.param(Hidden(cpu=2.0), marks=pytest.mark.slow),
        pytest.param(Hidden(storage=6.0), marks=pytest.mark.slow),
    ],
    ids=str,
)
def known(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hidden, Twin]]:
    hidden: Hidden = request.param
    with Twin(read_base(str(recorded(tmp_path_factory.mktemp("known") / "run", hidden)))) as twin:
        yield hidden, twin


@pytest.fixture(scope="module")
def fitted(known: tuple[Hidden, Twin]) -> Fitted:
    return fit_twin(known[1], quiet)


def test_the_interval_holds_what_is_true(known: tuple[Hidden, Twin], fitted: Fitted) -> None:
    hidden, twin = known
    written = [
        f"{_SETTINGS}{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in CHANGES.items()
    ]
    found = predict(twin, fitted, parse_changes(twin, written), quiet)
    for one, (name, value) in zip(found, CHANGES.items(), strict=True):
        truth = throughput(intervals(hidden, {name: value}))
        told = f"{name} = {value}: {one.throughput_low:.0f} to {one.throughput_high:.0f}, truth {truth:.0f} ({hidden})"
        assert one.throughput_low <= truth <= one.throughput_high, told
        # An interval that holds everything says nothing.
        assert one.high / one.low < 4, told


def test_an_effect_is_shown(known: tuple[Hidden, Twin], fitted: Fitted) -> None:
    _, twin = known
    (pool,) = predict(twin, fitted, parse_changes(twin, [f"{_SETTINGS}innodb_buffer_pool_size=24M"]), quiet)
    assert pool.ratio < 1 and pool.shown, "a quarter of the pool is slower"
    (same,) = predict(twin, fitted, parse_changes(twin, [f"{_SETTINGS}innodb_buffer_pool_size=96M"]), quiet)
    assert same.ratio == pytest.approx(1) and not same.shown


def test_the_usual_questions(known: tuple[Hidden, Twin], fitted: Fitted) -> None:
    _, twin = known
    asked = usual_questions(twin)
    assert {one.not_comparable for one in asked} == {()}, "each changes the stack, and nothing else"
    assert [one.name.partition(":")[0] for one in asked[:3]] == ["memory", "settings", "settings"]
    assert any(one.experiment.flash_cache is not None for one in asked)
    assert not any("synced once" in one.name for one in asked), "the run had that already"
    risky = next(one for one in asked if "doublewrite" in one.name)
    assert any(note.startswith("RISK") for note in risky.notes)
    found = predict(twin, fitted, asked, quiet)
    assert all(one.low <= one.ratio <= one.high for one in found)


def test_a_cache_has_a_card_that_it_fits_on(known: tuple[Hidden, Twin]) -> None:
    (change,) = parse_changes(known[1], ["cache.storage.device=intel-910-200,cache.size=8GiB"])
    cache = change.experiment.flash_cache
    assert cache is not None and cache.size == 8 << 30 and cache.warm
    assert any("4 times the cache" in note for note in change.notes)


class TestHalfWidth:
    """Four sources, each alone, computed by hand; and together as squares."""

    def test_seeds(self) -> None:
        # Variances of (0, 0.2) and (0.1, 0.1): 0.02 and 0; their mean is 0.01.
        assert half_width([[0.0, 0.2], [0.1, 0.1]], 0, 1, 0, 0, 0) == pytest.approx(Z95 * 0.1)

    def test_noise_of_what_was_measured_and_of_what_comes(self) -> None:
        assert half_width([[0.0]], 0.03, 1, 0, 0, 0) == pytest.approx(Z95 * 0.03 * math.sqrt(2))
        assert half_width([[0.0]], 0.03, 4, 0, 0, 0) == pytest.approx(Z95 * 0.03 * math.sqrt(1.25))

    def test_residual(self) -> None:
        assert half_width([[0.0]], 0, 1, 0.2, 0.5, 0) == pytest.approx(Z95 * 0.1)
        assert half_width([[0.0]], 0, 1, 0.2, -0.5, 0) == pytest.approx(Z95 * 0.1)
        assert half_width([[0.0]], 0, 1, 0.2, 0, 0.25) == pytest.approx(Z95 * 0.05)

    def test_together(self) -> None:
        parts = (half_width([[0.0, 0.2]], 0, 1, 0, 0, 0), half_width([[0.0]], 0.05, 1, 0.2, 0.3, 0.4))
        assert half_width([[0.0, 0.2]], 0.05, 1, 0.2, 0.3, 0.4) == pytest.approx(math.hypot(*parts))
