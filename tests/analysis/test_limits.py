"""Each limit of the judgement at the limit itself: just inside and just outside, worked out by hand, none imported.

A limit that moves by a hundredth moves verdicts that people decide by; here it moves a test.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from flatwater.analysis.autocorrelation import Estimate, effective_samples, estimate_mean
from flatwater.analysis.dips import find_dips
from flatwater.analysis.flatness import flatness
from flatwater.analysis.stalls import find_stalls
from flatwater.analysis.verdict import judge
from flatwater.analysis.warmup import transient_samples
from flatwater.results.series import EMPTY

sys.path.insert(0, str(Path(__file__).parent))
from known_series import series

LEVEL = 1000.0


def verdict_of(values: np.ndarray, unit: str = "MiB/s") -> str | None:
    """The verdict on a second's values; MiB are no count, and have no scatter of counting."""
    return judge(series(values), 1.0, unit).verdict


class TestFlatness:
    def test_golden(self) -> None:
        """The 5th percentile of 1..101 is 6, their median 51; the deviation is that of a textbook's eight numbers."""
        figures = flatness(np.arange(1.0, 102.0))
        assert (figures.median, figures.flatness) == (51.0, pytest.approx(6 / 51))
        figures = flatness(np.array([2.0, 4, 4, 4, 5, 5, 7, 9]))
        assert (figures.mean, figures.stddev) == (5.0, pytest.approx(math.sqrt(32 / 7)))

    @pytest.mark.parametrize(("low", "verdict"), [(850, "flat"), (849, "dips"), (801, "dips"), (900, "flat")])
    def test_a_flat_line_keeps_85_per_cent(self, low: float, verdict: str) -> None:
        """One interval in ten is low, so the 5th percentile is; none is low enough to be a dip."""
        values = np.full(600, LEVEL)
        values[4::10] = low
        assert verdict_of(values) == verdict

    @pytest.mark.parametrize(("low", "verdict"), [(842, "flat"), (840, "dips")])
    @pytest.mark.parametrize(("unit", "a_second"), [("NOTPM", 60), ("tps", 1), ("IOPS", 1)])
    def test_a_thousand_a_second_scatter_by_a_thirtieth(
        self, low: float, verdict: str, unit: str, a_second: int
    ) -> None:
        """1 - hypot(0.15, 1.645 / sqrt(984)) = 0.841, for 984 a second on average."""
        values = np.full(600, LEVEL)
        values[4::10] = low
        assert verdict_of(values * a_second, unit) == verdict

    @pytest.mark.parametrize(("length", "verdict"), [(6, "flat"), (7, "dips")])
    def test_one_dip_may_take_a_hundredth_of_the_time(self, length: int, verdict: str) -> None:
        values = np.full(600, LEVEL)
        values[300 : 300 + length] = 500
        assert verdict_of(values) == verdict

    @pytest.mark.parametrize(("fall", "verdict"), [(0.099, "flat"), (0.101, "drifting")])
    @pytest.mark.parametrize("way", [1, -1])
    def test_a_level_may_creep_by_a_tenth(self, fall: float, verdict: str, way: int) -> None:
        """Ten rounds from end to end; each window of five moves by less than half of it."""
        rounds = LEVEL * (1 + way * fall * (np.arange(10) / 9 - 0.5))
        assert verdict_of(np.repeat(rounds, 60)) == verdict


class TestDips:
    @pytest.mark.parametrize(("low", "count"), [(800, 0), (799, 1)])
    def test_a_fifth_deep(self, low: float, count: int) -> None:
        values = np.full(100, LEVEL)
        values[50] = low
        assert len(find_dips(series(values), 1.0).dips) == count

    @pytest.mark.parametrize(("flank", "length_s"), [(900, 1), (899, 3)])
    def test_it_lasts_until_nine_tenths_are_there_again(self, flank: float, length_s: float) -> None:
        values = np.full(100, LEVEL)
        values[49:52] = [flank, 500, flank]
        (dip,) = find_dips(series(values), 1.0).dips
        assert (dip.length_s, dip.depth) == (length_s, 0.5)

    def test_the_usual_level_is_held_for_a_quarter_of_the_time(self) -> None:
        values = np.full(100, 700.0)
        values[:30] = LEVEL
        assert find_dips(series(values), 1.0).usual == LEVEL
        values[:30] = 700
        values[:20] = LEVEL
        assert find_dips(series(values), 1.0).usual == 700

    @pytest.mark.parametrize(("length", "count"), [(20, 1), (21, 0)])
    def test_cut_off_by_the_end_it_is_a_fifth_of_the_run_at_most(self, length: int, count: int) -> None:
        values = np.full(100, LEVEL)
        values[-length:] = 500
        assert len(find_dips(series(values), 1.0).dips) == count

    @pytest.mark.parametrize(("second", "period_s"), [(175, 100), (174, None)])
    def test_a_period_scatters_by_a_quarter(self, second: int, period_s: float | None) -> None:
        """Dips at 100, `second` and 300: 75 s and 125 s apart, a quarter off their median; or a second more."""
        values = np.full(600, LEVEL)
        values[[100, second, 300]] = 500
        assert find_dips(series(values), 1.0).period_s == period_s


class TestStalls:
    @pytest.mark.parametrize(("rate", "count"), [(10.0, 1), (9.9, 0)])
    def test_ten_requests_would_have_finished(self, rate: float, count: int) -> None:
        values = np.full(60, rate)
        values[30] = 0
        assert len(find_stalls(series(values), series(np.ones(60)), EMPTY, 1.0)) == count


class TestIntervals:
    def test_of_95_per_cent(self) -> None:
        """Student's t for ten degrees of freedom, from the tables."""
        assert Estimate(mean=0.0, error=1.0, freedom=10.0).ci95 == pytest.approx(2.2281, rel=0.002)

    def test_the_error_of_independent_numbers_is_the_textbooks(self) -> None:
        """Anticorrelated, so worth no more than the eight that they are: s / sqrt(8)."""
        estimate = estimate_mean(np.array([1.0, 3, 1, 3, 1, 3, 1, 3]))
        assert estimate is not None
        assert (estimate.mean, estimate.freedom) == (2.0, 7.0)
        assert estimate.error == pytest.approx(math.sqrt(8 / 7) / math.sqrt(8))

    def test_numbers_that_come_in_pairs_count_half(self) -> None:
        rng = np.random.default_rng(3)
        assert effective_samples(np.repeat(rng.normal(size=50_000), 2)) == pytest.approx(50_000, rel=0.05)


class TestTransient:
    @pytest.mark.parametrize(("batches", "cut"), [(10, 50), (11, None)])
    def test_one_that_takes_more_than_half_never_ended(self, batches: int, cut: int | None) -> None:
        """A step after so many of twenty batches of five."""
        values = np.full(100, LEVEL)
        values[: 5 * batches] = 2 * LEVEL
        assert transient_samples(values) == cut

    @pytest.mark.parametrize(("share", "cut"), [(0.019, 0), (0.021, 25)])
    def test_two_per_cent_change_nobodys_mind(self, share: float, cut: int) -> None:
        values = np.full(100, LEVEL)
        values[:25] *= 1 + share
        assert transient_samples(values) == cut
