from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flatwater.analysis.verdict import Judgement, judge, quantity
from flatwater.results import Series

sys.path.insert(0, str(Path(__file__).parent))
from known_series import series

SEED = 2011
HOUR = np.arange(3600)


def line(length: int, level: float = 46_210.0, share: float = 0.01) -> np.ndarray:
    return level * (1 + share * np.random.default_rng(SEED).normal(size=length))


def judged(values: Any, interval_s: float = 1.0, **more: Any) -> Judgement:
    return judge(series(values, interval_s), interval_s, "IOPS", **more)


def test_flat() -> None:
    found = judged(line(600))
    assert found.verdict == "flat"
    assert found.text.startswith("Flat: 46,")
    assert "± " in found.text
    assert "(95 % CI), flatness 0.98, steady from the start." in found.text
    assert found.steady
    assert (found.warmup_end_s, found.steady_since_s) == (0, 0)


def test_rounds_of_a_short_phase_are_told() -> None:
    assert judged(line(60)).text.endswith("rounds of 12 s: the measured phase is shorter than 5 minutes.")
    assert "rounds of" not in judged(line(300)).text


def test_flat_after_a_transient() -> None:
    found = judged(line(1200) - 30_000 * np.exp(-np.arange(1200) / 60))
    assert found.verdict == "flat"
    assert found.warmup_end_s == pytest.approx(250, abs=100)
    assert "steady from " in found.text


def test_a_fresh_card_is_judged_by_its_steady_part_and_the_whole_mean_is_told() -> None:
    values = line(7200, 1.0) * np.where(np.arange(7200) < 1200, 1700, np.where(np.arange(7200) < 2400, 1000, 550))
    found = judged(values)
    assert found.verdict == "flat"
    assert found.steady_since_s == pytest.approx(2400, abs=60)
    assert "Flat: 550 IOPS" in found.text
    assert "Over the whole measured phase the mean is 8" in found.text


def test_the_labs_dips() -> None:
    found = judged(line(3600, 24_900) * np.where(HOUR % 1200 >= 1080, 17_700 / 24_900, 1))
    assert found.verdict == "dips"
    assert found.dip_period_s == pytest.approx(1200, abs=5)
    assert "Dips: 3 dips every 1,200 s, typically 120 s long" in found.text


def test_a_smooth_swing_is_dips_and_not_unsteady() -> None:
    found = judged(line(3600, 21_300) * (1 + 0.169 * np.sin(2 * np.pi * HOUR / 1200)))
    assert found.verdict == "dips"
    assert found.dip_period_s == pytest.approx(1200, abs=20)


def test_one_long_dip_makes_dips_and_one_short_dip_does_not() -> None:
    values = line(1800)
    values[900:960] /= 2
    assert judged(values).verdict == "dips"
    values = line(1800)
    values[900:903] /= 2
    found = judged(values)
    assert found.verdict == "flat"
    assert "1 dip, 3 s long and 51 % deep" in found.text


def test_scatter_without_a_pattern_is_not_flat() -> None:
    found = judged(line(1800, share=0.2))
    assert (found.verdict, found.dips) == ("dips", [])
    assert "one interval in twenty" in found.text


@pytest.mark.parametrize("length", [60, 600, 3600])
@pytest.mark.parametrize("a_second", [10, 30, 100, 1000])
def test_counting_alone_makes_no_dips(a_second: int, length: int) -> None:
    """Transactions that end independently, as the flattest line has them.

    A twentieth of 60 seconds is three: of so short runs one in ten may seem to dip, and of others none.
    """
    random = np.random.default_rng(SEED)
    verdicts = [judge(series(60.0 * random.poisson(a_second, length)), 1.0, "NOTPM").verdict for _ in range(50)]
    assert verdicts.count("dips") <= (5 if length == 60 else 0), f"seed {SEED}: {verdicts}"


def test_a_flat_line_of_few_transactions_says_why_it_scatters() -> None:
    found = judge(series(60.0 * np.random.default_rng(SEED).poisson(100, 600)), 1.0, "NOTPM")
    assert found.verdict == "flat"
    why = r"flatness 0\.8\d \(an interval has \d+ transactions, and such a number scatters by chance\)"
    assert re.search(why, found.text), found.text


@pytest.mark.parametrize("a_second", [30, 100, 1000])
def test_what_scatters_more_than_counts_do_dips(a_second: int) -> None:
    """One second in ten does a third of the work, whatever the number."""
    rate = np.where(np.arange(600) % 10 == 4, a_second / 3, a_second)
    found = judge(series(60.0 * np.random.default_rng(SEED).poisson(rate)), 1.0, "NOTPM")
    assert found.verdict == "dips", f"seed {SEED}: {found.text}"


def test_requests_are_counted_where_the_unit_is_bytes() -> None:
    values = np.random.default_rng(SEED).poisson(50, 600).astype(float)
    assert judge(series(values), 1.0, "MiB/s").verdict == "dips"
    assert judge(series(values), 1.0, "MiB/s", completed=series(values)).verdict == "flat"
    assert judge(series(values), 1.0, "MiB/s", completed=series(1000 * values)).verdict == "dips"


def test_not_steady() -> None:
    found = judged(line(300) * np.linspace(1, 2, 300))
    assert found.verdict == "not steady"
    assert found.steady is False
    assert found.steady_since_s is None
    assert "SNIA allows 20 %" in found.text


def test_drifting() -> None:
    found = judged(line(3600) * np.linspace(1, 0.6, 3600))
    assert found.verdict == "drifting"
    assert "falls by 49 % in 3,600 s" in found.text


def test_stalls_come_first() -> None:
    values = line(300) * np.linspace(1, 2, 300)
    values[100:102] = 0
    found = judged(values, in_flight=series(np.full(300, 8.0)))
    assert found.verdict == "stalls"
    assert "at 100 s nothing finished for 2 s while requests waited" in found.text


def test_a_stall_to_the_end_is_not_the_level() -> None:
    values = line(120)
    values[40:] = 0
    found = judged(values, in_flight=series(np.full(120, 8.0)))
    assert found.verdict == "stalls"
    assert f"mean of the whole measured phase {quantity(values.mean())} IOPS" in found.text
    assert "warmup_s" not in found.text
    assert "steady" not in found.text


def test_with_a_stall_the_mean_is_that_of_the_whole_phase_also_after_a_transient() -> None:
    """What looks like a transient may be the stall itself."""
    values = line(300)
    values[:60] *= 0.5
    assert judged(values).warmup_end_s == pytest.approx(60, abs=5)
    values[200:205] = 0
    found = judged(values, in_flight=series(np.full(300, 8.0)))
    assert found.verdict == "stalls" and found.warmup_end_s == pytest.approx(60, abs=5)
    assert f"mean of the whole measured phase {quantity(values.mean())} IOPS" in found.text


def test_too_few_samples_and_none_at_all() -> None:
    for count in (0, 1, 9):
        found = judged(line(count))
        assert found.verdict is None
        assert found.text.startswith(f"Not enough samples: {count} of 1 s")
    assert judged(line(10)).verdict == "flat"


def test_nothing_finished() -> None:
    assert judged(np.zeros(60)).verdict is None
    assert judged(np.zeros(60), in_flight=series(np.ones(60))).verdict == "stalls"


@pytest.mark.parametrize("interval_s", [0.1, 1.0, 10.0])
def test_the_verdict_does_not_depend_on_the_interval(interval_s: float) -> None:
    assert judged(line(round(600 / interval_s), share=0.03), interval_s).verdict == "flat"


def test_a_dip_of_whole_rounds_is_judged_by_the_rounds_it_fills() -> None:
    # Ten seconds, four of them low: rounds of 2 s without the dip would be too few to judge.
    values = [3388, 3949, 3803, 4459, 1602, 2452, 1591, 2462, 3927, 4595]
    found = judge(Series(np.arange(1.0, 11.0), np.array(values, dtype=float)), 1.0, "IOPS")
    assert found.verdict == "not steady"
    assert "range over" in found.text and "too few" not in found.text


@pytest.mark.parametrize(
    ("length", "begin", "end"), [(300, 100, 140), (60, 23, 26), (120, 10, 13), (120, 50, 55), (300, 20, 24)]
)
def test_a_dead_second_looks_dead(length: int, begin: int, end: int) -> None:
    """Also where nobody recorded that something waited, as in an import: it is not cut off as a start."""
    values = line(length, 1000, 0.03)
    values[begin:end] = 0
    found = judged(values)
    assert found.verdict in ("dips", "not steady") and found.dips, found.text
    assert found.dips[0].start_s == pytest.approx(begin, abs=2)
