"""What is kept of a run for its charts: few parts, and nothing of what was low or high is lost."""

from __future__ import annotations

import math

import pytest

from flatwater.terminal.history import INTERVALS_WIDE, PARTS_MAX, History


def filled(count: int, special: dict[int, float] | None = None) -> History:
    history = History(["a"])
    for at in range(count):
        history.add(at + 1.0, {"a": (special or {}).get(at, 5.0), "b": 1.0})
    return history


def test_nothing_yet() -> None:
    history = History(["a"])
    assert not history and "a" not in history and history.top("a") == 0.0
    assert history.spans("a", 3) == [None, None, None]


def test_a_few_intervals_begin_at_the_left() -> None:
    history = filled(3, {1: 9.0})
    assert history.spans("a", INTERVALS_WIDE) == [(5.0, 5.0), (9.0, 9.0), (5.0, 5.0)] + [None] * (INTERVALS_WIDE - 3)
    assert (history.first_s, history.last_s, history.top("a")) == (1.0, 3.0, 9.0)
    assert "b" not in history and history.last == {"a": 5.0}


@pytest.mark.parametrize("count", [INTERVALS_WIDE, PARTS_MAX, PARTS_MAX + 1, 3 * PARTS_MAX + 7, 100_000])
@pytest.mark.parametrize("columns", [1, 7, 60, 200])
def test_a_second_that_is_low_or_high_is_never_lost(count: int, columns: int) -> None:
    for at in {0, count // 2, count - 1}:
        spans = filled(count, {at: 0.5}).spans("a", columns)
        low = [column for column, span in enumerate(spans) if span is not None and span[0] == 0.5]
        assert low, (count, columns, at)
        assert abs((low[0] + low[-1]) / 2 / columns - at / count) <= 2 / columns + 2 / INTERVALS_WIDE
    high = filled(count, {count // 3: 99.0})
    assert max(span[1] for span in high.spans("a", columns) if span is not None) == high.top("a") == 99.0


def test_a_long_run_needs_no_more_memory() -> None:
    history = filled(100_000)
    assert len(history._parts) <= PARTS_MAX
    assert None not in history.spans("a", 100)


def test_what_was_not_recorded_is_a_gap() -> None:
    history = History(["a"])
    for at in range(60):
        history.add(float(at), {"a": math.nan if at == 30 else 1.0} if at < 50 else {"a": None})
    spans = history.spans("a", 60)
    assert spans[30] is None and spans[29] == spans[31] == (1.0, 1.0) and spans[50:] == [None] * 10
    assert history.last == {}


def test_another_cell_begins_with_nothing() -> None:
    history = filled(2000)
    history.clear()
    assert not history and history.last == {}
    history.add(1.0, {"a": 2.0})
    assert history.spans("a", 2)[0] == (2.0, 2.0)
