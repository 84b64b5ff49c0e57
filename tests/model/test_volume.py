"""Modelled network volumes through the engine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.experiment.device import VolumeDevice
from flatwater.experiment.device.load import load_device

sys.path.insert(0, str(Path(__file__).parent))
from driven import drive, spec_of


def volume(saved: float) -> VolumeDevice:
    device = load_device("ebs-gp2-100gib", {"iops.credits": saved})
    assert isinstance(device, VolumeDevice)
    return device


def test_it_bursts_until_its_credits_are_gone() -> None:
    device = volume(saved=54_000)
    run = drive(spec_of(device), reads=True, size_bytes=2**33, threads=16, seconds=40)
    # 54,000 credits last for 54,000 / (3,000 - 300) = 20 s.
    assert sum(run.rates[2:18]) / 16 == pytest.approx(3000, rel=0.02)
    assert sum(run.rates[23:]) / 17 == pytest.approx(300, rel=0.05)
    assert run.storage[5]["credits"] > run.storage[15]["credits"] > run.storage[30]["credits"]


def test_credits_are_earned_at_rest() -> None:
    device = volume(saved=0)
    slow = drive(spec_of(device), reads=True, size_bytes=2**33, seconds=10, threads=4)
    assert slow.mean == pytest.approx(300, rel=0.05)


def test_large_requests_meet_the_throughput() -> None:
    run = drive(spec_of(volume(5.4e6)), reads=True, size_bytes=2**33, threads=16, seconds=5, block_bytes=2**18)
    assert run.mean * 2**18 == pytest.approx(128 * 2**20, rel=0.05)


def test_the_latency_has_a_modest_spread() -> None:
    run = drive(spec_of(volume(5.4e6)), reads=True, size_bytes=2**33, seconds=10)
    assert run.mean == pytest.approx(1e6 / 619, rel=0.03)
