"""A real cache and a modelled one tell the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

from flatwater.runner.stack.cache.real.series import cache_series

RUST = Path(__file__).parents[4] / "crates/model/src/storage/cached/series.rs"
COUNTS = [
    *("reads", "writes", "read_hits", "write_hits", "fast_bytes_written", "user_bytes_cached", "write_back_bytes"),
    *("metadata_bytes_written", "uncached_reads", "uncached_writes", "fills", "replacements", "cleanings", "starved"),
    *("fast_syncs", "slow_syncs", "requests_under_way", "dirty_blocks", "clean_blocks"),
]
GAUGES = {"slots": 100, "dirty_age_oldest_s": 3.0, "dirty_age_mean_s": 1.0}
SETTINGS = {"dirty_high_pct": 50, "dirty_low_pct": 40}


def counted(value: int) -> dict[str, float]:
    return dict.fromkeys(COUNTS, value) | GAUGES


def test_the_names_are_the_models() -> None:
    told = set(cache_series(counted(0), counted(10), SETTINGS, 1.0))
    named = set(re.findall(r'(?:tell\(|\()"([a-z_]+)"', RUST.read_text()))
    assert told == named


def test_rates_and_ratios() -> None:
    before = counted(0)
    now = counted(10) | {"reads": 40, "writes": 10, "read_hits": 30, "write_hits": 5, "write_back_bytes": 2**20}
    found = cache_series(before, now, SETTINGS, 2.0)
    assert found["hit_ratio"] == 35 / 50
    assert found["read_hit_ratio"] == 30 / 40
    assert found["write_back_bytes_per_s"] == 2**19
    assert found["dirty_pct"] == 10.0
    assert json.dumps(found)


def test_a_ratio_of_nothing_is_absent_and_counts_never_run_backwards() -> None:
    found = cache_series(counted(10), counted(10), SETTINGS, 1.0)
    assert "hit_ratio" not in found
    # A restarted server counts from zero.
    assert min(cache_series(counted(10), counted(0), SETTINGS, 1.0).values()) >= 0
