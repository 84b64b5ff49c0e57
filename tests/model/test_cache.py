"""The flash cache in virtual time: what theory says that it must do, whatever its engine decides."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from driven import BLOCK_BYTES, Driven, drive

GIB = 2**30
#: Blocks that a cache of so many bytes has, about: metadata take the rest.
SLOT_SHARE = 0.98


def memory(capacity: int, latency_us: float, mib_per_s: float = 2000) -> dict[str, Any]:
    rate = mib_per_s * 2**20
    figures = {"latency_ns": round(latency_us * 1000), "read_bytes_per_s": rate, "write_bytes_per_s": rate}
    return {"kind": "memory", "capacity_bytes": capacity} | figures


def cached(size: int = GIB, *, warm: bool = False, preset: str | None = None, **settings: Any) -> dict[str, Any]:
    """A cache on appliances: 50 us in front of 5 ms."""
    return {
        "kind": "cached",
        "fast": memory(2 * GIB, 50),
        "slow": memory(16 * GIB, 5000, 100),
        "fast_bytes": size,
        "block_bytes": BLOCK_BYTES,
        "preset": preset,
        "settings": {name: str(value) for name, value in settings.items()},
        "warm": warm,
    }


LRU = {"policy": "lru", "admission": "all", "sequential_bytes": 0}


def mean(run: Driven, series: str) -> float:
    return float(np.mean([told[series] for told in run.storage if series in told]))


@pytest.mark.parametrize("size", [GIB // 4, GIB // 2, GIB])
@pytest.mark.parametrize("policy", ["lru", "fifo", "s3-fifo", "flashcache"])
def test_uniform_reads_hit_as_often_as_the_cache_is_a_share_of_the_data(size: int, policy: str) -> None:
    spec = cached(size, warm=True, **(LRU | {"policy": policy}))
    run = drive(spec, reads=True, size_bytes=4 * GIB, threads=16, seconds=5)
    assert mean(run, "cache.hit_ratio") == pytest.approx(size * SLOT_SHARE / (4 * GIB), rel=0.06)
    assert mean(run, "cache.used_pct") > 97


def che_hit_ratio(share: np.ndarray, slots: int) -> float:
    """Che, Tung and Wang (2002): a block is in an LRU cache if it was asked for within the characteristic time."""
    low, high = 0.0, 1e12
    for _ in range(200):
        time = (low + high) / 2
        if float(np.sum(-np.expm1(-share * time))) < slots:
            low = time
        else:
            high = time
    return float(np.sum(share * -np.expm1(-share * low)))


@pytest.mark.parametrize("theta", [0.8, 1.0])
def test_zipf_hits_as_theory_says(theta: float) -> None:
    blocks, size = 4 * GIB // BLOCK_BYTES, GIB // 2
    run = drive(
        cached(size, warm=True, **LRU),
        reads=True,
        size_bytes=4 * GIB,
        threads=16,
        seconds=10,
        distribution={"kind": "zipf", "theta": theta},
    )
    share = 1 / np.arange(1, blocks + 1) ** theta
    expected = che_hit_ratio(share / share.sum(), round(size / BLOCK_BYTES * SLOT_SHARE))
    assert mean(run, "cache.hit_ratio") == pytest.approx(expected, abs=0.02)


def test_through_writes_at_the_slow_devices_rate_and_back_above_it() -> None:
    rates = {}
    for mode in ("write-through", "write-back", "write-around"):
        run = drive(cached(mode=mode, **LRU), reads=False, size_bytes=GIB // 2, threads=8, seconds=5)
        rates[mode] = run.mean
    alone = drive(memory(16 * GIB, 5000, 100), reads=False, size_bytes=GIB // 2, threads=8, seconds=5).mean
    assert rates["write-through"] <= alone * 1.01
    assert rates["write-around"] <= alone * 1.01
    assert rates["write-through"] > alone / 2
    assert rates["write-back"] > 5 * alone


@pytest.mark.parametrize("high", [10.0, 30.0])
@pytest.mark.parametrize("preset", ["flashcache", "vcache"])
def test_what_is_dirty_stays_at_the_marks(preset: str, high: float) -> None:
    spec = cached(GIB // 4, preset=preset, dirty_high_pct=high, dirty_low_pct=high * 0.9)
    # Fewer writes than the slow device takes, four at a time.
    run = drive(spec, reads=False, size_bytes=2 * GIB, threads=4, seconds=30, warmup_s=30, rate_per_s=300)
    dirty = [told["cache.dirty_pct"] for told in run.storage]
    assert max(dirty) < high + 1, dirty
    assert min(dirty) > high * 0.8, dirty
    assert mean(run, "cache.write_back_bytes_per_s") == pytest.approx(300 * BLOCK_BYTES, rel=0.15)


def test_more_writes_than_the_slow_device_takes_go_on_at_its_rate() -> None:
    spec = cached(GIB // 4, preset="vcache")
    run = drive(spec, reads=False, size_bytes=4 * GIB, threads=16, seconds=10, warmup_s=10)
    assert run.errors == 0
    assert min(run.rates) > 0.3 * run.mean > 0


def test_flushing_by_time_bounds_the_age_and_is_even() -> None:
    period_s = 10
    spec = cached(preset="vcache", flush_period_s=period_s)
    run = drive(spec, reads=False, size_bytes=GIB // 2, threads=4, seconds=40, warmup_s=40, rate_per_s=300)
    ages = [told["cache.dirty_age_oldest_s"] for told in run.storage]
    # The bound is a period; a block that is written again while it is on its way waits for the next one.
    assert max(ages) < 2.1 * period_s, ages
    back = np.array([told["cache.write_back_bytes_per_s"] for told in run.storage])
    assert back.std() / back.mean() < 0.5, back
    assert back.mean() == pytest.approx(mean(run, "cache.user_written_bytes_per_s"), rel=0.25)


def test_writes_cost_the_cache_device_a_little_more_than_they_are() -> None:
    run = drive(cached(**LRU), reads=False, size_bytes=GIB // 4, threads=8, seconds=5)
    assert 1 < mean(run, "cache.write_amplification") < 1.5
    assert mean(run, "cache.metadata_bytes_per_s") < 0.3 * mean(run, "cache.fast_written_bytes_per_s")


def test_hits_grow_with_the_size() -> None:
    zipf = {"kind": "zipf", "theta": 0.9}
    sizes = [GIB // 8, GIB // 4, GIB // 2, GIB]
    runs = [
        drive(cached(size, warm=True, **LRU), reads=True, size_bytes=4 * GIB, threads=8, seconds=3, distribution=zipf)
        for size in sizes
    ]
    hits = [mean(run, "cache.hit_ratio") for run in runs]
    assert np.all(np.diff(hits) > 0.02), hits


def test_a_seed_gives_the_same_run() -> None:
    spec = cached(GIB // 4, warm=True)
    runs = [drive(spec, reads=False, size_bytes=GIB, threads=8, seconds=3, seed=seed) for seed in (7, 7, 8)]
    told = [(run.rates, run.storage) for run in runs]
    assert told[0] == told[1]
    assert told[0] != told[2]


def test_series_of_the_slow_device_stay_the_storages() -> None:
    run = drive(cached(), reads=True, size_bytes=GIB, threads=4, seconds=1)
    names = set(run.storage[-1])
    assert {"queue_depth", "link_busy_pct", "cache.fast_queue_depth", "cache.fast_link_busy_pct"} <= names


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"block_bytes": 5000}, "blocks are"),
        ({"fast_bytes": 4 * GIB}, "does not fit"),
        ({"preset": "bcache"}, "bcache"),
        ({"settings": {"mode": "sideways"}}, "sideways"),
        ({"settings": {"dirty_low_pct": "90"}}, "dirty_low_pct"),
        ({"fast_bytes": 65536}, "leaves room for"),
    ],
)
def test_what_cannot_be_is_told_in_words(change: dict[str, Any], word: str) -> None:
    with pytest.raises(Exception, match=word) as caught:
        drive(cached() | change, reads=True, size_bytes=GIB, seconds=1)
    assert type(caught.value).__name__ == "EngineError"
