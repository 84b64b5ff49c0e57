"""Modelled flash cards through the engine, from a device's file to what a run tells."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from typing import Any

import pytest

from flatwater import _engine
from flatwater.engine_json import as_data
from flatwater.experiment.device import SsdDevice, Use
from flatwater.plan.device import write_device

#: A PCIe card of 2010, in its proportions.
CARD = """
kind = "ssd"
title = "a card"
capacity = "400GB"
[geometry]
raw = "512GiB"
channels = 16
dies_per_channel = 16
planes_per_die = 2
page = "4KiB"
pages_per_block = 64
unit_blocks = 8
[timing]
channel_mib_per_s = 150
[link]
read_mib_per_s = 1200
write_mib_per_s = 1200
[controller]
synchronous_us = 10
parallel = 4
latency_us = 20
write_mib_per_s = 1000
read_mib_per_s = 1100
[buffer]
size = "8MiB"
[collector]
relocation_mib_per_s = 700
[wear]
cell = "SLC"
"""
BLOCK = 16384
USE = Use(align_bytes=BLOCK, scale=0.02)


@dataclass
class Ran:
    """What a run told."""

    mib_per_s: float = 0.0
    latency: _engine.Histogram = field(default_factory=_engine.Histogram)
    storage: list[dict[str, float]] = field(default_factory=list)
    failure: str | None = None

    def p_us(self, quantile: float) -> float:
        return self.latency.quantile_ns(quantile) / 1000

    def mean(self, series: str) -> float:
        return sum(own[series] for own in self.storage) / len(self.storage)


def card(**tables: Any) -> SsdDevice:
    data = tomllib.loads(CARD)
    for name, value in tables.items():
        data[name] = data[name] | value if isinstance(value, dict) else value
    return SsdDevice.model_validate(data)


def run(
    device: SsdDevice,
    use: Use = USE,
    *,
    threads: int,
    read_pct: float = 0,
    fill: float = 1,
    seconds: int = 2,
    seed: int = 1,
) -> Ran:
    used = int(device.usable_bytes(use) * fill) // BLOCK * BLOCK
    spec = {
        "workload": {
            "sequential": False,
            "read_pct": read_pct,
            "block_sizes": [[BLOCK, 100.0]],
            "files": 1,
            "file_bytes": used,
            "fsync_every": 0,
            "fsync": "none",
            "distribution": {"kind": "uniform"},
            "limit_bytes": 0,
            "seed": seed,
        },
        "device": as_data(write_device(device, use)),
        "threads": threads,
        "queue_depth": 1,
        "sync": False,
        "exclusive_writes": False,
        "rate_per_s": 0.0,
        "poisson": False,
        "continue_on_error": False,
        "interval_ms": 500,
    }
    engine, told, byte_count = _engine.Run.modelled(json.dumps(spec)), Ran(), 0
    for _ in range(2 * seconds):
        interval = engine.next_interval(1.0)
        assert interval is not None
        told.storage.append(interval["storage"])
        byte_count += sum(own[1] for own in interval["totals"].values())
        for histogram in interval["histograms"].values():
            told.latency.merge(_engine.Histogram.from_v2(histogram))
    told.mib_per_s = byte_count / seconds / 2**20
    told.failure = engine.failure()
    return told


def test_a_fuller_card_writes_more_slowly_by_the_law_of_its_collector() -> None:
    alone = run(card(), threads=16, fill=0.2)
    assert alone.mib_per_s == pytest.approx(1000, rel=0.02)
    before = alone.mib_per_s
    for fill in (0.7, 0.85, 1.0):
        ran = run(card(), threads=16, fill=fill)
        law = 1 / (1 / 1000 + (ran.mean("write_amplification") - 1) / 700)
        assert ran.mib_per_s == pytest.approx(law, rel=0.03)
        assert ran.mib_per_s < before
        before = ran.mib_per_s


def test_more_readers_read_more_up_to_the_link_and_then_only_wait() -> None:
    threads = (1, 4, 16, 64)
    ran = [run(card(), threads=own, read_pct=100, seconds=1) for own in threads]
    assert ran[1].mib_per_s > 3 * ran[0].mib_per_s
    assert ran[3].mib_per_s == pytest.approx(1100, rel=0.02)
    assert ran[0].p_us(0.95) == pytest.approx(ran[0].p_us(0.5), rel=0.01)
    assert ran[1].p_us(0.95) > 1.1 * ran[1].p_us(0.5), "reads collide at dies"
    assert ran[3].p_us(0.5) > 3 * ran[2].p_us(0.5)


def test_most_writes_are_quick_and_some_meet_a_collection() -> None:
    ran = run(card(), threads=8)
    assert ran.p_us(0.5) < 200
    assert ran.p_us(0.99) > 1500
    assert ran.mean("gc_share_pct") > 40


def test_a_collector_that_spreads_its_work_has_flat_latency() -> None:
    ran = run(card(collector={"pace": "spread"}), threads=8)
    assert ran.p_us(0.99) < 3 * ran.p_us(0.5)


def test_reserved_space_is_as_good_as_space_that_is_not_used() -> None:
    reserved = run(card(), Use(align_bytes=BLOCK, scale=0.02, reserve=0.25), threads=16)
    less = run(card(), threads=16, fill=0.75)
    assert reserved.mib_per_s == pytest.approx(less.mib_per_s, rel=0.02)


def test_a_jump_to_the_steady_state_is_where_simulation_gets() -> None:
    ran = [run(card(), Use(align_bytes=BLOCK, scale=0.02, simulate_initial=own), threads=16) for own in (False, True)]
    assert ran[0].mib_per_s == pytest.approx(ran[1].mib_per_s, rel=0.03)


def test_the_first_writes_of_a_fresh_card_are_the_fastest() -> None:
    fresh = Use(align_bytes=BLOCK, scale=0.02, initial="fresh")
    ran = run(card(), fresh, threads=16, seconds=50)
    written = [own["host_written_bytes_per_s"] / 2**20 for own in ran.storage]
    steady = run(card(), threads=16).mib_per_s
    assert written[0] == pytest.approx(1000, rel=0.02)
    # Three capacities of random writes leave one page of twenty unwritten, which is still spare.
    assert sum(written[-4:]) / 4 == pytest.approx(steady, rel=0.1)


def test_a_scaled_card_writes_as_the_larger_one() -> None:
    ran = [run(card(), Use(align_bytes=BLOCK, scale=scale), threads=16, fill=0.9) for scale in (0.01, 0.05)]
    assert ran[0].mib_per_s == pytest.approx(ran[1].mib_per_s, rel=0.03)


def test_a_run_is_its_seed() -> None:
    ran = [run(card(), threads=8, read_pct=50, seconds=1, seed=seed) for seed in (1, 1, 2)]
    same, other = (ran[0].storage == own.storage and ran[0].latency.to_v2() == own.latency.to_v2() for own in ran[1:])
    assert same
    assert not other


def test_wear_is_told() -> None:
    worn = run(card(), Use(align_bytes=BLOCK, scale=0.02, life_used=0.5), threads=8, seconds=1)
    assert worn.storage[-1]["media_wearout"] == pytest.approx(50.5, abs=0.5)
    assert worn.storage[-1]["available_reserve_pct"] == 100
    assert worn.failure is None
