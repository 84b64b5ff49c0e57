from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.owned.mounted import find_block_device, mount_of, read_mounts
from flatwater.probe.disk import DiskProbe

MIB = 2**20


def write_durably(path: Path, size: int) -> None:
    with path.open("wb") as handle:
        handle.write(os.urandom(size))
        handle.flush()
        os.fsync(handle.fileno())


@pytest.mark.parametrize(("kind", "size_mib"), [("ext4", 64), ("xfs", 320), ("btrfs", 128)])
def test_the_device_under_a_file(
    device: Callable[..., Path], mount: Callable[..., Path], kind: str, size_mib: int
) -> None:
    path = device(size_mib, kind)
    file = mount(path) / "file"
    file.touch()
    number = path.stat().st_rdev
    assert find_block_device(file) == find_block_device(path) == (os.major(number), os.minor(number))
    probe = DiskProbe(file)
    began = time.monotonic()
    write_durably(file, 16 * MIB)
    told = probe.sample()
    seconds = time.monotonic() - began
    assert told["storage.write_bytes_per_s"] * seconds == pytest.approx(16 * MIB, rel=0.25)
    assert told["storage.write_ops_per_s"] > 0
    assert told["storage.write_await_us"] > 0
    assert 0 < told["storage.utilisation_pct"] <= 100
    assert told["storage.queue_depth"] > 0
    assert told["storage.flush_ops_per_s"] > 0, "fsync empties the device's cache"
    assert told["storage.flush_await_us"] > 0


def test_an_idle_device_has_no_await(device: Callable[..., Path]) -> None:
    probe = DiskProbe(device(32))
    time.sleep(0.1)
    told = probe.sample()
    assert told["storage.utilisation_pct"] == told["storage.queue_depth"] == 0
    assert "storage.read_await_us" not in told and "storage.write_await_us" not in told


def test_memory_has_no_device(tmpfs: Callable[[int], Path]) -> None:
    place = tmpfs(16)
    assert find_block_device(place) is None
    assert DiskProbe(place).sample() == {}
    assert mount_of(place / "anything")["type"] == "tmpfs"


def test_a_device_that_goes_away_tells_nothing(device: Callable[..., Path]) -> None:
    assert DiskProbe(Path("/nowhere/at/all")).sample() == {}


@pytest.mark.parametrize(
    "name", ["with space", "grün und blau", "back\\slash", "tab\tand\nnewline", "no\u00a0break\u2028"]
)
def test_mounts_with_odd_names(mount: Callable[..., Path], name: str) -> None:
    place = mount("none", "-t", "tmpfs", "-o", "size=1m", name=name)
    assert str(place) in [found["target"] for found in read_mounts()]
    assert mount_of(place / "below")["target"] == str(place)


def test_the_innermost_mount_counts(mount: Callable[..., Path]) -> None:
    outer = mount("none", "-t", "tmpfs", "-o", "size=1m", name="outer")
    inner = mount("none", "-t", "tmpfs", "-o", "size=1m", name="outer/inner")
    assert mount_of(inner / "file")["target"] == str(inner)
    assert mount_of(outer / "inner-not")["target"] == str(outer)
