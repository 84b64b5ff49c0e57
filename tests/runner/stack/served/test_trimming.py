"""Free space that is given back to a device: how much, and from where."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.runner.stack.served import trimming
from flatwater.runner.stack.served.trimming import trim_free_space

MIB = 1 << 20
DEVICE = 1024 * MIB
#: It writes all that it needs at once, and discards nothing.
MAKER = ["mkfs.ext4", "-qF", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that are trimmed, of a file system whose every second MiB is free."""
    found: list[tuple[int, int]] = []

    def trim(_: int, offset: int, length: int) -> int:
        found.append((offset, length))
        return length // 2

    monkeypatch.setattr(trimming, "_trim", trim)
    return found


@pytest.fixture
def ext4(tmp_path: Path, as_root: None) -> Iterator[tuple[Path, Path]]:
    """A file system on a device of which every block was written: its folder, and the file below it."""
    file, folder = tmp_path / "device", tmp_path / "volume"
    folder.mkdir()
    with file.open("wb") as made:
        os.posix_fallocate(made.fileno(), 0, DEVICE)
    subprocess.run([*MAKER, str(file)], check=True)
    subprocess.run(["mount", "-o", "loop", str(file), str(folder)], check=True)
    yield folder, file
    subprocess.run(["umount", str(folder)], check=True)


def held_bytes(file: Path) -> int:
    os.sync()
    return file.stat().st_blocks * 512


@pytest.mark.parametrize("share", [0.95, 0.75, 0.5])
def test_a_device_holds_as_much_as_asked(ext4: tuple[Path, Path], share: float) -> None:
    """Whatever the kernel makes of the length of a range."""
    folder, file = ext4
    (folder / "kept").write_bytes(os.urandom(100 * MIB))
    trim_free_space(folder, DEVICE, int(share * DEVICE), lambda: False)
    assert held_bytes(file) / DEVICE == pytest.approx(share, abs=0.01)
    trim_free_space(folder, DEVICE, None, lambda: False)
    assert 100 * MIB < held_bytes(file) < 0.3 * DEVICE
    assert [entry.name for entry in folder.iterdir() if entry.name != "lost+found"] == ["kept"]


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
