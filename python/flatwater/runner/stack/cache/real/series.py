"""The series of a real cache in each interval, computed from its counters. They have the names of a modelled cache
(crates/model/src/storage/cached/series.rs).
"""

from __future__ import annotations

from flatwater.cache.messages import Statistics
from flatwater.plan.cache import EngineSettings

#: Series -> the counters whose change in an interval is divided by its length.
_RATES: dict[str, tuple[str, ...]] = {
    "write_back_bytes_per_s": ("write_back_bytes",),
    "fast_written_bytes_per_s": ("fast_bytes_written",),
    "metadata_bytes_per_s": ("metadata_bytes_written",),
    "user_written_bytes_per_s": ("user_bytes_cached",),
    "uncached_per_s": ("uncached_reads", "uncached_writes"),
    "fills_per_s": ("fills",),
    "evictions_per_s": ("replacements",),
    "write_backs_per_s": ("cleanings",),
    "starved_per_s": ("starved",),
    "fast_syncs_per_s": ("fast_syncs",),
    "slow_syncs_per_s": ("slow_syncs",),
}
#: Series -> the counters of the part, and those of the whole.
_RATIOS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "hit_ratio": (("read_hits", "write_hits"), ("reads", "writes")),
    "read_hit_ratio": (("read_hits",), ("reads",)),
    "write_hit_ratio": (("write_hits",), ("writes",)),
    "write_amplification": (("fast_bytes_written",), ("user_bytes_cached",)),
}


def cache_series(before: Statistics, now: Statistics, settings: EngineSettings, interval_s: float) -> dict[str, float]:
    """The series of an interval, without their layer. `before` and `now` are the engine's statistics at its ends."""

    def since(names: tuple[str, ...]) -> float:
        return float(sum(max(0, now[name] - before[name]) for name in names))

    slots = max(1, now["slots"])
    series = {
        "dirty_blocks": float(now["dirty_blocks"]),
        "dirty_pct": 100.0 * now["dirty_blocks"] / slots,
        "dirty_high_pct": float(settings["dirty_high_pct"]),
        "dirty_low_pct": float(settings["dirty_low_pct"]),
        "used_pct": 100.0 * (now["dirty_blocks"] + now["clean_blocks"]) / slots,
        "dirty_age_oldest_s": float(now["dirty_age_oldest_s"]),
        "dirty_age_mean_s": float(now["dirty_age_mean_s"]),
        "in_flight": float(now["requests_under_way"]),
    }
    for name, (parts, wholes) in _RATIOS.items():
        whole = since(wholes)
        if whole > 0:  # otherwise there is no ratio
            series[name] = since(parts) / whole
    return series | {name: since(counts) / max(interval_s, 1e-9) for name, counts in _RATES.items()}
