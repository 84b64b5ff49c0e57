"""The modelled memory appliance through the engine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.experiment.device.load import load_device

sys.path.insert(0, str(Path(__file__).parent))
from driven import drive, spec_of


@pytest.mark.parametrize(("reads", "published_bytes_per_s"), [(True, 1.2e9), (False, 500e6)])
def test_the_published_appliance(reads: bool, published_bytes_per_s: float) -> None:
    spec = spec_of(load_device("violin-memory-appliance"))
    run = drive(spec, reads=reads, size_bytes=2**33, threads=16, seconds=2)
    assert run.mean * 16384 == pytest.approx(published_bytes_per_s, rel=0.1)
    if reads:
        assert run.mean == pytest.approx(80_000, rel=0.1)
    assert run.storage[-1]["link_busy_pct"] > 95


def test_one_thread_waits_for_its_latency() -> None:
    run = drive(spec_of(load_device("violin-memory-appliance")), reads=True, size_bytes=2**33, seconds=1)
    assert 10_000 < run.mean < 20_000
    assert run.storage[-1]["link_busy_pct"] < 50
