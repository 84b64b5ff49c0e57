"""Results of modelled storage as a run would leave them: a card in transition, an array that loses a member."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import synthetic

from flatwater.results import Event, Phase
from flatwater.results.schema import Transition

EXPERIMENT = """\
name = "write-curve"
title = "Two hours of random writes"

[workload]
kind = "fileio"
mode = "rndwr"

[storage]
kind = "{kind}"
device = "{device}"
"""
CACHE = """
[cache]
kind = "flash"
size = "80GiB"

[cache.storage]
kind = "ssd"
device = "example-400-slc"
"""
CARD = "Example 400 GB SLC card (devices/example-400-slc.toml)"
ARRAY = "Eight disks in RAID 10 (devices/example-raid10.toml)"
DISK = "A disk of 7,200 rpm (devices/example-disk.toml)"


def _throughput(values: np.ndarray) -> synthetic.Columns:
    """What fileio records of itself in virtual time: no processor is told."""
    return {
        "workload.throughput": values,
        "workload.ops_per_s": values * 64,
        "workload.bytes_per_s": values * 2**20,
        "workload.in_flight": np.full(len(values), 32.0),
        "workload.latency_p50_us": 3e4 / values,
        "workload.latency_p95_us": 6e4 / values,
        "workload.latency_p99_us": 9e4 / values,
        "workload.latency_max_us": 3e5 / values,
    }


def card(path: Path, count: int = 1800) -> Path:
    """Fast, a transition, steady."""
    at = np.arange(count, dtype=np.float64)
    fall = np.clip((at - count / 6) / (count / 3), 0, 1)
    mib = 1000 - 600 * fall + 5 * np.sin(at)
    found = _throughput(mib) | {
        "storage.write_amplification": 1 + 1.5 * fall,
        "storage.gc_share_pct": 55 * fall,
        "storage.dies_busy_pct": np.full(count, 80.0),
        "storage.link_busy_pct": 60 - 30 * fall,
        "storage.host_written_bytes_per_s": mib * 2**20,
        "storage.relocated_bytes_per_s": mib * 2**20 * 1.5 * fall,
        "storage.erases_per_s": mib / 2,
        "storage.read_errors_per_s": np.zeros(count),
        "storage.free_blocks": np.maximum(4000 - at * 12, 40),
        "storage.utilisation_pct": np.minimum(at / count * 300, 78),
        "storage.media_wearout": 100 - at / count,
        "storage.available_reserve_pct": np.full(count, 100.0),
        "storage.bad_blocks": np.floor(at / 600),
        "storage.erase_count_mean": at / 100,
        "storage.erase_count_max": at / 90,
        "storage.buffer_bytes": np.full(count, 3e7),
    }
    text = EXPERIMENT.format(kind="ssd", device="example-400-slc")
    layers = {"workload": "modelled", "database": "none", "cache": "none", "storage": "modelled", "device": CARD}
    transition = Transition(fast=1000, begin_s=count / 6, end_s=count / 2, steady=400, transition_s=count / 3)
    cell = synthetic.summary(
        0,
        {},
        520.0,
        count,
        layers=layers,
        transition=transition,
        client_cpu_us_per_op=None,
        phases=[Phase(name="measure", start_s=0, end_s=count)],
    )
    return _write(path, text, found, cell)


def array(path: Path, count: int = 900, members: int = 8) -> Path:
    """A relearn, then a member fails, is replaced and rebuilt, while a patrol read goes on."""
    at = np.arange(count, dtype=np.float64)
    through = (at > 100) & (at < 200)
    lost = (at >= 300) & (at < 800)
    rebuild = np.where((at >= 400) & (at < 800), (at - 400) / 4, np.nan)
    found = _throughput(np.where(through, 20.0, 90.0) - 20 * lost + np.sin(at)) | {
        "storage.write_back": np.where(through, 0.0, 1.0),
        "storage.cache_dirty_bytes": np.where(through, 0.0, 2e8),
        "storage.queue_depth": 30 + np.sin(at),
        "storage.members_working": np.where(lost, members - 1.0, members),
        "storage.rebuild_pct": rebuild,
        "storage.patrol_pct": np.where(at > 500, (at - 500) / 4, np.nan),
    }
    for number in range(members):
        found[f"storage.member{number}_busy_pct"] = 70 + number + 5 * np.sin(at / 10)
        found[f"storage.member{number}_media_wearout"] = 90 - at / count
    events = [
        Event(time_s=100, kind="incident", text="relearn of the battery began: write-through"),
        Event(time_s=200, kind="incident", text="relearn of the battery ended: write-back"),
        Event(time_s=300, kind="incident", text="member 2 failed"),
        Event(time_s=400, kind="incident", text="rebuild of member 2 began <b>"),
        Event(time_s=800, kind="incident", text="rebuild of member 2 ended"),
    ]
    text = EXPERIMENT.format(kind="raid", device="example-raid10")
    layers = {"workload": "modelled", "database": "none", "cache": "none", "storage": "modelled", "device": ARRAY}
    cell = synthetic.summary(0, {}, 80.0, count, layers=layers, events=events)
    return _write(path, text, found, cell)


def disk(path: Path, count: int = 300) -> Path:
    """A single disk."""
    at = np.arange(count, dtype=np.float64)
    found = _throughput(2 + 0.1 * np.sin(at)) | {
        "storage.busy_pct": np.full(count, 99.0),
        "storage.seek_mean_us": 7000 + 100 * np.sin(at),
        "storage.queue_depth": np.full(count, 32.0),
        "storage.cache_dirty_bytes": np.full(count, 8e6),
    }
    text = EXPERIMENT.format(kind="hdd", device="example-disk")
    layers = {"workload": "modelled", "database": "none", "cache": "none", "storage": "modelled", "device": DISK}
    return _write(path, text, found, synthetic.summary(0, {}, 2.0, count, layers=layers))


def cached(path: Path, count: int = 600) -> Path:
    """A flash cache that fills, and writes back from its high mark on, in front of a disk."""
    at = np.arange(count, dtype=np.float64)
    full = np.clip(at / (count / 2), 0, 1)
    found = _throughput(5 + 60 * full + np.sin(at)) | {
        "storage.busy_pct": np.full(count, 90.0),
        "cache.hit_ratio": 0.9 * full,
        "cache.read_hit_ratio": np.where(at > 5, 0.85 * full, np.nan),
        "cache.write_hit_ratio": 0.95 * full,
        "cache.dirty_pct": np.minimum(at / count * 40, 20),
        "cache.dirty_high_pct": np.full(count, 20.0),
        "cache.dirty_low_pct": np.full(count, 15.0),
        "cache.dirty_blocks": at,
        "cache.used_pct": 100 * full,
        "cache.dirty_age_oldest_s": at / 2,
        "cache.write_back_bytes_per_s": np.where(at > count / 2, 3e6, 0.0),
        "cache.fast_written_bytes_per_s": 2e7 * full,
        "cache.metadata_bytes_per_s": 1e6 * full,
        "cache.write_amplification": 1.2 + 0.1 * np.sin(at),
        "cache.uncached_per_s": np.zeros(count),
        "cache.fills_per_s": 100 - 90 * full,
        "cache.fast_dies_busy_pct": 30 * full,
        "cache.fast_erase_count_max": at / 100,
    }
    text = EXPERIMENT.format(kind="hdd", device="example-disk") + CACHE
    layers = {"workload": "modelled", "database": "none", "cache": "modelled", "storage": "modelled", "device": DISK}
    layers["cache_device"] = "flash cache of 80 GiB, write-back, on Example 400 GB SLC card"
    return _write(path, text, found, synthetic.summary(0, {}, 40.0, count, layers=layers))


def _write(path: Path, text: str, found: synthetic.Columns, cell: object) -> Path:
    result = synthetic.create(path, [({}, 0)], experiment=text)
    # A model tells nothing of what does not go on.
    synthetic.write_rows(result, iter([(0, found)]))
    synthetic.write_summaries(result, [cell])  # type: ignore[list-item]
    return path
