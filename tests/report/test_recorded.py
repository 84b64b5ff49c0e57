from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from flatwater.report.charts import WANTED
from flatwater.report.recorded import FINE_BUCKETS, Recorded, buckets_for, encode_times, encode_values, read
from flatwater.results import open_result


def test_reads_what_the_charts_draw_and_nothing_else(recorded: Recorded) -> None:
    assert "workload.throughput" in recorded
    assert recorded.lines.keys().isdisjoint(WANTED.undrawn)
    assert recorded.unclaimed == [
        "cache.ghost_ratio",
        "database.bloat_pct",
        "database.heap_bytes",
        "storage.compression_ratio",
    ]
    assert (recorded.span_s, recorded.clock.unit, recorded.unit) == (1200.0, "min", "MiB/s")


def test_what_is_stacked_shares_its_times(recorded: Recorded) -> None:
    parts = [recorded.lines[f"machine.cpu_{part}_pct"].time_s for part in ("user", "system", "iowait", "steal")]
    assert all(part is parts[0] for part in parts)


def test_stacked_series_of_other_times_are_drawn_alone(tmp_path: Path) -> None:
    path = synthetic.unfinished(tmp_path / "result", 5)
    journal = path / "cells" / "0000" / "journal.jsonl"
    text = journal.read_text().replace('"machine.cpu_steal_pct"', '"gone.gone"', 1)
    journal.write_text(text)
    found = read(open_result(path).cells[0], WANTED, 100)
    assert len(found.lines["machine.cpu_steal_pct"].value) == 4
    assert len(found.lines["machine.cpu_user_pct"].value) == 5


def test_the_times_of_equal_axes_are_embedded_once(recorded: Recorded) -> None:
    found = recorded.lines_as_json()
    tables, places = found["times"], {name: line["t"] for name, line in found["lines"].items()}
    assert tables[places["workload.throughput"]] == {"unit": 1.0, "first": 1, "count": 1200}
    assert len(tables) < 3
    assert places.keys() == recorded.lines.keys()


def test_missing_intervals_are_breaks(tmp_path: Path) -> None:
    found = read(open_result(synthetic.unfinished(tmp_path / "result", 90)).cells[0], WANTED, 100)
    line = found.lines["workload.throughput"]
    assert line.time_s[np.isnan(line.value)].tolist() == [51.0]


def test_many_cells_share_the_page() -> None:
    assert buckets_for(1, 20) == FINE_BUCKETS
    assert buckets_for(50, 20) * 50 * 20 * 4 <= 850_000
    assert buckets_for(10_000, 20) >= 50


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=50, unique=True))
def test_times_come_back_to_the_millisecond(ms: list[int]) -> None:
    time_s = np.array(sorted(ms)) / 1000
    table = encode_times(time_s)
    ticks = table["first"] + np.concatenate([[0], np.cumsum(table.get("steps", [1] * (table.get("count", 1) - 1)))])
    assert np.abs(ticks * table["unit"] - time_s).max() < 2e-3


@pytest.mark.parametrize("interval", [0.1, 0.5, 1.0, 10.0])
def test_regular_times_cost_nothing(interval: float) -> None:
    table = encode_times(np.arange(1, 5000) * interval)
    assert table == {"unit": interval, "first": 1, "count": 4999}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=30))
def test_values_keep_five_digits(values: list[float]) -> None:
    for value, short in zip(values, encode_values(np.array(values)), strict=True):
        assert short == pytest.approx(value, rel=5.1e-5, abs=1e-300)


def test_values_are_short_and_missing_ones_are_null() -> None:
    found = encode_values(np.array([0.3, 1 / 3, 12345678.0, np.nan, np.inf, 0.0, -2.5, 7.0]))
    assert found == [0.3, 0.33333, 12346000, None, None, 0, -2.5, 7]
    assert [type(one) for one in found[5:]] == [int, float, int]
