"""How long a drive lasts, with numbers worked out by hand."""

from __future__ import annotations

import pytest
from recordings import NOW_S

from flatwater.health.drive import Gauges, Reading
from flatwater.health.history import DAY_S, Entry
from flatwater.health.life import (
    YEAR_S,
    Rate,
    life_at,
    life_by_rating,
    lifetime_write_amplification,
    rate_of_history,
    rate_of_life,
    write_amplification,
)
from flatwater.health.words import bytes_text, day_text, life_text, span_text

TB = 1e12
A_YEAR_H = YEAR_S / 3600


def test_the_mean_over_its_hours() -> None:
    # A quarter of its life took a year: three more are left; if it stood at 26 %, 74 / 26; at 24 %, 76 / 24.
    gauges = Gauges(used_pct=25, host_written_bytes=100 * TB, power_on_hours=A_YEAR_H)
    rate = rate_of_life(gauges)
    assert rate is not None and rate.host_bytes_per_s == pytest.approx(100 * TB / YEAR_S)
    life = life_at(gauges, rate, NOW_S)
    assert life is not None
    assert (life.years, life.low, life.high) == (pytest.approx(3), pytest.approx(74 / 26), pytest.approx(76 / 24))
    assert life.ends_at_s == pytest.approx(NOW_S + 3 * YEAR_S)
    assert "amplified in future as in the past" in life.basis


def test_another_rate_shortens_it_in_proportion() -> None:
    gauges = Gauges(used_pct=20, host_written_bytes=100 * TB)
    # 400 TB are left: at 100 TB a year four years.
    life = life_at(gauges, Rate(100 * TB / YEAR_S), NOW_S)
    assert life is not None and life.years == pytest.approx(4)


def test_flash_writes_come_first_where_they_are_told() -> None:
    # 10 % took 30 TB of flash: 270 TB are left. This workload writes 1 TB and its flash 9 TB a year.
    gauges = Gauges(used_pct=10, host_written_bytes=10 * TB, nand_written_bytes=30 * TB)
    life = life_at(gauges, Rate(TB / YEAR_S, 9 * TB / YEAR_S), NOW_S)
    assert life is not None and life.years == pytest.approx(30)
    assert life.basis == "from what was written to its flash"


def test_a_new_drive_has_a_lower_bound_only() -> None:
    gauges = Gauges(used_pct=0, host_written_bytes=TB, power_on_hours=A_YEAR_H)
    rate = rate_of_life(gauges)
    assert rate is not None
    life = life_at(gauges, rate, NOW_S)
    assert life is not None
    # At most 1 % in a year: 99 years at least.
    assert (life.years, life.low, life.high, life.ends_at_s) == (None, pytest.approx(99), None, None)
    assert life_text(life).startswith("at least 99 years")


def test_at_one_percent_there_is_no_upper_bound() -> None:
    life = life_at(Gauges(used_pct=1, host_written_bytes=TB), Rate(TB / YEAR_S), NOW_S)
    assert life is not None and (life.years, life.low, life.high) == (pytest.approx(99), pytest.approx(49), None)


@pytest.mark.parametrize("used", [100, 126, 255])
def test_what_is_used_up(used: float) -> None:
    life = life_at(Gauges(used_pct=used, host_written_bytes=TB), Rate(1.0), NOW_S)
    assert life is not None and (life.years, life.ends_at_s) == (0, NOW_S)
    assert life_text(life) == "the rated life is used up"


def test_nothing_written_has_no_end() -> None:
    life = life_at(Gauges(used_pct=9, host_written_bytes=TB), Rate(0.0, over="over the last day"), NOW_S)
    assert life is not None and life.years is None
    assert life_text(life) == "nothing was written over the last day"


def test_a_drive_that_tells_no_bytes_is_judged_by_its_hours() -> None:
    gauges = Gauges(used_pct=20, power_on_hours=2 * A_YEAR_H)
    rate = rate_of_life(gauges)
    assert rate is not None
    life = life_at(gauges, rate, NOW_S)
    assert life is not None and life.years == pytest.approx(8)
    # A workload's rate says nothing of it.
    assert life_at(gauges, Rate(1e9), NOW_S) is None


def test_without_an_account_of_wear_nothing_is_said() -> None:
    assert life_at(Gauges(host_written_bytes=TB, power_on_hours=5), Rate(1e6), NOW_S) is None
    assert rate_of_life(Gauges(power_on_hours=0)) is None
    assert rate_of_life(Gauges()) is None


def _reading(**gauges: float) -> Reading:
    return Reading("/dev/sda", NOW_S, gauges=Gauges(**gauges))


def _entry(days_ago: float, written: float, flash: float | None = None) -> Entry:
    return Entry(NOW_S - days_ago * DAY_S, "k", "", host_written_bytes=written, nand_written_bytes=flash)


def test_the_present_rate_is_that_of_the_last_month() -> None:
    reading = _reading(host_written_bytes=100 * TB, nand_written_bytes=300 * TB)
    before = [_entry(400, 1 * TB), _entry(10, 90 * TB, 280 * TB), _entry(5, 99 * TB)]
    rate = rate_of_history(reading, before)
    assert rate is not None
    assert rate.host_bytes_per_s == pytest.approx(10 * TB / (10 * DAY_S))
    assert rate.nand_bytes_per_s == pytest.approx(20 * TB / (10 * DAY_S))
    assert rate.over == "over the last 10 days"


def test_of_an_old_history_the_newest_counts() -> None:
    rate = rate_of_history(_reading(host_written_bytes=100 * TB), [_entry(400, 1 * TB), _entry(100, 90 * TB)])
    assert rate is not None and rate.host_bytes_per_s == pytest.approx(10 * TB / (100 * DAY_S))


def test_less_than_a_day_is_no_rate() -> None:
    assert rate_of_history(_reading(host_written_bytes=100 * TB), [_entry(0.99, 1 * TB)]) is None
    assert rate_of_history(_reading(host_written_bytes=100 * TB), [_entry(1.0, 1 * TB)]) is not None
    assert rate_of_history(_reading(host_written_bytes=100 * TB), []) is None
    assert rate_of_history(_reading(), [_entry(10, 1 * TB)]) is None


def test_a_warranty_in_bytes() -> None:
    life = life_by_rating(Gauges(host_written_bytes=40 * TB), Rate(20 * TB / YEAR_S), 100 * TB, NOW_S)
    assert life is not None and life.years == pytest.approx(3)
    over = life_by_rating(Gauges(host_written_bytes=140 * TB), Rate(20 * TB / YEAR_S), 100 * TB, NOW_S)
    assert over is not None and over.years == 0
    assert life_by_rating(Gauges(), Rate(1.0), TB, NOW_S) is None


def test_write_amplification_between_two_readings() -> None:
    before = Gauges(host_written_bytes=0, nand_written_bytes=0, host_step_bytes=512_000, nand_step_bytes=1)
    after = Gauges(host_written_bytes=1e9, nand_written_bytes=3.5e9, host_step_bytes=512_000, nand_step_bytes=1)
    assert write_amplification(before, after) == pytest.approx(3.5)
    # Twenty steps are the least: a counter of 32 MiB says nothing of 600 MB.
    coarse = Gauges(host_written_bytes=600e6, nand_written_bytes=3e9, host_step_bytes=32 * 2**20, nand_step_bytes=1)
    assert write_amplification(before, coarse) is None
    assert write_amplification(after, before) is None
    assert write_amplification(before, Gauges(host_written_bytes=1e9)) is None


def test_counters_that_do_not_count_the_same_are_no_amplification() -> None:
    assert lifetime_write_amplification(Gauges(host_written_bytes=10, nand_written_bytes=4)) is None
    assert lifetime_write_amplification(Gauges(host_written_bytes=10, nand_written_bytes=5)) == 0.5
    assert lifetime_write_amplification(Gauges(life_write_amplification=3.1)) == 3.1


@pytest.mark.parametrize(
    ("years", "text"),
    [
        (0.001, "8.8 hours"),
        (0.1, "37 days"),
        (0.5, "6 months"),
        (2.34, "2.3 years"),
        (42, "42 years"),
        (5e9, "more than 100 years"),
    ],
)
def test_spans_in_words(years: float, text: str) -> None:
    assert span_text(years) == text


def test_bytes_and_days_in_words() -> None:
    assert [bytes_text(count) for count in (0, 999, 1.5e12, 999.6e12, 3.2e15)] == [
        "0 B",
        "999 B",
        "1.5 TB",
        "1,000 TB",
        "3.2 PB",
    ]
    assert day_text(0) == "on 1970-01-01"
    assert day_text(1e30) == "on 9999-01-01"
