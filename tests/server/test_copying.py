"""Copies on real file systems: those that share blocks, those that cannot, and full ones."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.server.copying import RESERVE_BYTES, copy_tree, held_bytes, tree_bytes

MIB = 2**20


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return _fill(tmp_path / "source")


def _fill(folder: Path) -> Path:
    (folder / "schema" / "inner").mkdir(parents=True)
    noise = random.Random(7)
    (folder / "ibdata1").write_bytes(noise.randbytes(3 * MIB + 5))
    (folder / "schema/t.ibd").write_bytes(noise.randbytes(MIB))
    (folder / "schema/inner/empty").write_bytes(b"")
    with (folder / "sparse").open("wb") as handle:
        handle.write(b"head")
        handle.seek(8 * MIB)
        handle.write(b"middle")
        handle.truncate(16 * MIB)
    with (folder / "preallocated").open("wb") as handle:
        os.posix_fallocate(handle.fileno(), 0, 2 * MIB)
        handle.write(b"log")
    return folder


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("share", [True, False])
def test_a_copy_is_the_same(source: Path, tmp_path: Path, share: bool) -> None:
    told: list[tuple[int, int]] = []
    copied = copy_tree(
        source, tmp_path / "deep/copy", share=share, on_progress=lambda done, total: told.append((done, total))
    )
    assert _contents(tmp_path / "deep/copy") == _contents(source)
    assert copied.bytes == tree_bytes(source) == told[-1][0] == told[-1][1]
    assert told == sorted(told)
    assert share or copied.how == "copy"


def test_holes_stay_holes_and_what_was_allocated_is_allocated(source: Path, tmp_path: Path) -> None:
    copy_tree(source, tmp_path / "copy", share=False)
    assert held_bytes(tmp_path / "copy/sparse") < MIB
    assert held_bytes(tmp_path / "copy/preallocated") >= 2 * MIB


def test_what_is_left_out_is_not_there(source: Path, tmp_path: Path) -> None:
    (source / "socket").symlink_to("/dev/null")
    copy_tree(source, tmp_path / "copy", leave_out=lambda name: name in {"ibdata1", "schema/inner"})
    assert sorted(_contents(tmp_path / "copy")) == ["preallocated", "schema/t.ibd", "sparse"]
    assert not (tmp_path / "copy/schema/inner").exists()
    assert not (tmp_path / "copy/socket").is_symlink()


@pytest.mark.parametrize(("system", "options"), [("xfs", ["-m", "reflink=1"]), ("btrfs", [])])
def test_blocks_are_shared_where_the_file_system_can(
    system: str, options: list[str], device: Callable[..., Path], mount: Callable[..., Path]
) -> None:
    place = mount(device(320, system, *options))
    source = _fill(place / "source")
    with (source / "big").open("wb") as handle:
        handle.write(random.Random(8).randbytes(64 * MIB))
    os.sync()
    free = os.statvfs(place).f_bavail
    copied = copy_tree(source, place / "copy")
    os.sync()
    taken = (free - os.statvfs(place).f_bavail) * os.statvfs(place).f_frsize
    assert copied.how == "reflink"
    assert taken < 8 * MIB
    assert _contents(place / "copy") == _contents(source)
    # A copy is of its own from the first write on.
    with (place / "copy/big").open("r+b") as handle:
        handle.write(b"changed")
    assert (source / "big").read_bytes()[:7] != b"changed"
    # Where sharing is not wanted, every block is copied.
    assert copy_tree(source, place / "whole", share=False).how == "copy"
    os.sync()
    assert (free - os.statvfs(place).f_bavail) * os.statvfs(place).f_frsize > 60 * MIB


# ext2 and ext3 cannot allocate either: the C library writes a byte into each block instead.
@pytest.mark.parametrize("system", ["ext2", "ext3", "ext4"])
def test_a_file_system_that_cannot_share_copies(
    system: str, device: Callable[..., Path], mount: Callable[..., Path]
) -> None:
    place = mount(device(160, system))
    source = _fill(place / "source")
    assert copy_tree(source, place / "copy").how == "copy"
    assert _contents(place / "copy") == _contents(source)


def test_a_full_file_system_is_told_before_anything_is_written(source: Path, tmpfs: Callable[[int], Path]) -> None:
    place = tmpfs(32)
    with pytest.raises(UserError) as caught:
        copy_tree(source, place / "copy")
    message = str(caught.value)
    assert message.startswith("storage.path: ")
    assert f"more are needed in {place / 'copy'}, and 32 MiB are free (64 MiB of them are left alone)" in message
    assert list(place.iterdir()) == []


def test_of_a_copy_that_fails_midway_nothing_is_left(
    source: Path, tmpfs: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmpfs(4)
    monkeypatch.setattr("flatwater.server.copying.check_space", lambda folder, needed: None)
    with pytest.raises(FlatwaterError, match="No space left on device"):
        copy_tree(source, place / "copy")
    assert list(place.iterdir()) == []


def test_copying_can_be_stopped(source: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        copy_tree(source, tmp_path / "copy", stop=lambda: True)
    assert not (tmp_path / "copy").exists()


def test_what_is_there_already_is_not_overwritten(source: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/mine").write_text("keep")
    with pytest.raises(FlatwaterError, match="File exists"):
        copy_tree(source, tmp_path / "copy")
    assert (tmp_path / "copy/mine").read_text() == "keep"


def test_some_room_is_left_for_the_server() -> None:
    assert RESERVE_BYTES == 64 * MIB
