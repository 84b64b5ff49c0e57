"""A file that took another one's name, its place, or even its inode is told from it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.owned import Witness
from flatwater.owned import witness as module


def put(path: Path) -> Witness:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        return Witness.put(descriptor)
    finally:
        os.close(descriptor)


def knows(witness: Witness, path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return witness.knows(descriptor)
    finally:
        os.close(descriptor)


def refuse_attributes(*_: object) -> None:
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


@pytest.fixture(params=["with attributes", "without attributes"])
def _attributes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without attributes":
        monkeypatch.setattr(module.os, "setxattr", refuse_attributes)
        monkeypatch.setattr(module.os, "getxattr", refuse_attributes)


@pytest.fixture(params=["here", "ext4", "xfs", "btrfs", "tmpfs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder on each file system."""
    kind = request.param
    if kind == "here":
        return tmp_path
    if kind == "tmpfs":
        make: Callable[[int], Path] = request.getfixturevalue("tmpfs")
        return make(16)
    device = request.getfixturevalue("device")({"xfs": 320, "btrfs": 128}.get(kind, 32), kind)
    mounted: Path = request.getfixturevalue("mount")(device)
    return mounted


@pytest.mark.usefixtures("_attributes")
class TestWitness:
    def test_knows_its_file_again(self, place: Path) -> None:
        witness = put(place / "one")
        assert knows(witness, place / "one")
        (place / "one").rename(place / "other")
        assert knows(witness, place / "other"), "under any name"
        (place / "other").write_text("written to")
        assert knows(witness, place / "other")

    def test_a_new_file_that_takes_the_inode_is_another_one(self, place: Path) -> None:
        witness = put(place / "one")
        inode = (place / "one").stat().st_ino
        reused = False
        # Another process on this file system may have the inode for a while.
        for turn in range(5000):
            (place / "one").unlink()
            (place / "one").write_text("somebody's own")
            reused |= (place / "one").stat().st_ino == inode
            assert not knows(witness, place / "one")
            if turn >= 50 and (reused or _kind(place) != "ext4"):
                break
        # That this test could fail shows on ext4 alone: the others number their files otherwise.
        assert reused or _kind(place) != "ext4"

    def test_a_copy_is_another_one(self, place: Path) -> None:
        witness = put(place / "one")
        shutil.copy2(place / "one", place / "copy")
        assert not knows(witness, place / "copy")
        (place / "copy").replace(place / "one")
        assert not knows(witness, place / "one")


def _kind(path: Path) -> str:
    from flatwater.owned.mounted import mount_of

    return mount_of(path).get("type", "")


def test_no_witness_is_no_ownership(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that tells nothing but an inode."""
    monkeypatch.setattr(module.os, "setxattr", refuse_attributes)
    monkeypatch.setattr(module.os, "getxattr", refuse_attributes)
    monkeypatch.setattr(module, "file_witness", lambda _: (None, None))
    witness = put(tmp_path / "one")
    assert witness.inode == (tmp_path / "one").stat().st_ino
    assert not knows(witness, tmp_path / "one")


def test_a_mark_that_was_taken_away_is_no_mark(tmp_path: Path) -> None:
    witness = put(tmp_path / "one")
    os.removexattr(tmp_path / "one", module.MARK)
    assert not knows(witness, tmp_path / "one")
