"""Free space that is given back to a device: how much, and from where."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.runner.stack.served import trimming
from flatwater.runner.stack.served.trimming import trim_free_space

MIB = 1 << 20
DEVICE = 1024 * MIB


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that are trimmed, of a file system whose every second MiB is free."""
    found: list[tuple[int, int]] = []

    def trim(_: int, offset: int, length: int) -> int:
        found.append((offset, length))
        return length // 2

    monkeypatch.setattr(trimming, "_trim", trim)
    return found


def test_all_free_space_is_one_trim(trims: list[tuple[int, int]], tmp_path: Path) -> None:
    trim_free_space(tmp_path, DEVICE, None, lambda: False)
    assert trims == [(0, DEVICE)]


def test_it_begins_at_the_end_and_stops_when_enough_is_free(trims: list[tuple[int, int]], tmp_path: Path) -> None:
    trim_free_space(tmp_path, DEVICE, DEVICE * 3 // 4, lambda: False)
    assert trims[0] == (DEVICE - 2 * MIB, 2 * MIB) and trims[-1][0] == DEVICE // 2
    assert sum(length // 2 for _, length in trims) == DEVICE // 4
    del trims[:]
    trim_free_space(tmp_path, DEVICE, DEVICE, lambda: False)
    assert trims == [], "a full device"


def test_more_data_than_the_device_is_to_hold(trims: list[tuple[int, int]], tmp_path: Path) -> None:
    with pytest.raises(FlatwaterError, match="take 512 MiB of the device, more than asked"):
        trim_free_space(tmp_path, DEVICE, DEVICE // 4, lambda: False)
    with pytest.raises(Interrupted):
        trim_free_space(tmp_path, DEVICE, DEVICE // 4, lambda: True)


def test_a_place_that_cannot_trim(tmp_path: Path) -> None:
    # A pipe's folder is no device: the kernel refuses the request itself.
    if os.statvfs("/proc").f_blocks:
        pytest.skip("no file system without blocks")
    with pytest.raises(FlatwaterError, match="cannot trim /proc"):
        trim_free_space(Path("/proc"), DEVICE, DEVICE // 2, lambda: False)
    trim_free_space(Path("/proc"), DEVICE, None, lambda: False)
