"""Years of life, by hand: a year has 31,557,600 seconds."""

from __future__ import annotations

from flatwater.cost.life import SECONDS_PER_YEAR, Life, Wearing, life_of

MB = 1e6


def test_by_rating_and_by_cells() -> None:
    # 1 MB/s is 31.5576 TB a year.
    found = life_of(Wearing(MB, 2.0), rated_bytes=315.576e12, cell_bytes=631.152e12)
    assert found.rated_years is not None and found.cell_years is not None
    assert round(found.rated_years, 9) == 10.0
    assert round(found.cell_years, 9) == 10.0
    assert SECONDS_PER_YEAR == 31_557_600


def test_the_shorter_one_counts() -> None:
    assert Life(10.0, 4.0).years == 4.0
    assert Life(None, 4.0).years == 4.0
    assert Life(None, None).years is None


def test_nothing_is_made_up() -> None:
    assert life_of(Wearing(None, 2.0), 1e15, 1e15) == Life(None, None)
    assert life_of(Wearing(0.0, 2.0), 1e15, 1e15) == Life(None, None), "what nobody writes to does not wear"
    assert life_of(Wearing(MB, None), None, 1e15) == Life(None, None), "without write amplification no cells"
    assert life_of(Wearing(MB, None), 1e15, 1e15).cell_years is None
