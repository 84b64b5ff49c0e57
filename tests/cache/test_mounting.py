"""Mount points: which are taken, and who uses a mount."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flatwater.cache.mounting import check_mount_point, mount_users, unmount
from flatwater.cache.state import CacheState
from flatwater.errors import UserError

STATE = CacheState("db", "0" * 32, "/f", "/b", "/b.pair", 16384, 2**30, 2**34)


def test_a_mount_point_must_be_there_and_empty(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        check_mount_point(tmp_path / "no", STATE)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    with pytest.raises(UserError, match="is not empty"):
        check_mount_point(tmp_path / "full", STATE)
    with pytest.raises(UserError, match="Not a directory"):
        check_mount_point(tmp_path / "full/file", STATE)
    (tmp_path / "empty").mkdir()
    assert check_mount_point(tmp_path / "empty", STATE) is None


def test_the_caches_own_files_are_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for fast, backing in ((tmp_path / "m/f", "/b"), ("/f", tmp_path / "m/deep/b")):
        state = CacheState("db", "0" * 32, str(fast), str(backing), "/b.pair", 16384, 2**30, 2**34)
        with pytest.raises(UserError, match="would be hidden"):
            check_mount_point(tmp_path / "m", state)


def test_a_mount_of_somebody_elses_is_refused(tmpfs, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match="is a mount point already"):
        check_mount_point(tmpfs(1), STATE)


def test_users_of_a_mount_are_named(tmpfs) -> None:  # type: ignore[no-untyped-def]
    where = tmpfs(8)
    assert mount_users(where) == []
    with subprocess.Popen([sys.executable, "-c", "input()"], cwd=where, stdin=subprocess.PIPE) as process:
        assert any(f"(process {process.pid})" in user for user in mount_users(where))
        assert not unmount(where)
    image = where / "image"
    image.write_bytes(b"")
    os.truncate(image, 2**20)
    device = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True).stdout.strip()
    if device:
        try:
            assert f"loop device {device}" in mount_users(where)
        finally:
            subprocess.run(["losetup", "--detach", device])
    subdirectory = where / "a"
    subdirectory.mkdir()
    assert mount_users(where) == []
