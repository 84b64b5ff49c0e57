"""Modelled disks through the engine, from `devices/` to what a run tells."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.experiment.device import HddDevice
from flatwater.experiment.device.load import load_device

sys.path.insert(0, str(Path(__file__).parent))
from driven import drive, spec_of

DISKS = ["disk-7200", "disk-10k", "disk-15k"]


def disk(name: str) -> HddDevice:
    device = load_device(name)
    assert isinstance(device, HddDevice)
    return device


@pytest.mark.parametrize("name", DISKS)
def test_a_random_read_takes_what_the_datasheet_says(name: str) -> None:
    device = disk(name)
    run = drive(spec_of(device), reads=True, size_bytes=device.capacity, seconds=20)
    transfer_us = 16384 / ((device.outer_mib_per_s + device.inner_mib_per_s) / 2 * 2**20) * 1e6
    expected_us = device.seek.average_us + 30e6 / device.rpm + device.overhead_us + transfer_us
    assert 1e6 / run.mean == pytest.approx(expected_us, rel=0.05)


@pytest.mark.parametrize("name", DISKS)
def test_a_queue_of_32_is_reordered(name: str) -> None:
    device = disk(name)
    alone = drive(spec_of(device), reads=True, size_bytes=device.capacity, seconds=20)
    queued = drive(spec_of(device), reads=True, size_bytes=device.capacity, seconds=20, threads=32)
    assert queued.mean >= 1.8 * alone.mean
    assert queued.storage[-1]["busy_pct"] > 95
    assert queued.storage[-1]["seek_mean_us"] < alone.storage[-1]["seek_mean_us"]


@pytest.mark.parametrize("name", DISKS)
def test_sequential_reads_come_near_the_medium(name: str) -> None:
    device = disk(name)
    run = drive(spec_of(device), reads=True, size_bytes=2**30, seconds=5, sequential=True, block_bytes=2**20)
    assert run.mean == pytest.approx(device.outer_mib_per_s, rel=0.1)


def test_the_write_cache_is_told_and_helps() -> None:
    device = disk("disk-7200")
    size_bytes = 2**33
    cached = drive(spec_of(device), reads=False, size_bytes=size_bytes, seconds=20)
    plain = device.model_copy(update={"cache": device.cache.model_copy(update={"write_back": None})})
    through = drive(spec_of(plain), reads=False, size_bytes=size_bytes, seconds=20)
    assert cached.mean > 1.5 * through.mean
    assert cached.storage[-1]["cache_dirty_bytes"] > 0
    assert "cache_dirty_bytes" not in through.storage[-1]


def test_seed_and_spec_give_the_same_run() -> None:
    spec = spec_of(disk("disk-10k"))
    runs = [drive(spec, reads=True, size_bytes=2**32, seconds=3, threads=8, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].intervals == runs[1].intervals
    assert runs[0].intervals != runs[2].intervals


def test_a_scaled_disk_has_its_speeds() -> None:
    device = disk("disk-10k")
    whole = drive(spec_of(device), reads=True, size_bytes=device.capacity, seconds=20)
    small = drive(spec_of(device, scale=0.01), reads=True, size_bytes=device.capacity // 101, seconds=20)
    assert small.mean == pytest.approx(whole.mean, rel=0.05)
