"""What a run holds so that nobody else uses the same storage."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.runner.stack.target.locks import Locks


def test_one_run_alone_holds_what_it_writes(tmp_path: Path) -> None:
    ours, theirs = Locks(), Locks()
    ours.lock(tmp_path, exclusive=True)
    for exclusive in (True, False):
        with pytest.raises(UserError, match="another flatwater is using"):
            theirs.lock(tmp_path, exclusive=exclusive)
    assert (ours.held, theirs.held) == (1, 0)
    ours.release()
    theirs.lock(tmp_path, exclusive=True)
    theirs.release()


def test_several_runs_share_what_each_only_stands_beside(tmp_path: Path) -> None:
    ours, theirs = Locks(), Locks()
    ours.lock(tmp_path, exclusive=False)
    theirs.lock(tmp_path, exclusive=False)
    with pytest.raises(UserError):
        Locks().lock(tmp_path, exclusive=True)
    ours.release()
    theirs.release()


def test_what_others_claimed_is_let_go_with_the_locks(tmp_path: Path) -> None:
    locks, descriptor = Locks(), os.open(tmp_path, os.O_RDONLY)
    locks.keep(descriptor)
    assert locks.held == 1
    locks.release()
    locks.release()
    assert locks.held == 0
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_what_cannot_be_opened_is_refused_at_its_field(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read") as refused:
        Locks().lock(tmp_path / "gone", exclusive=True)
    assert refused.value.where == "storage.path"


def test_a_file_on_nfs_is_not_in_use_because_nfs_locks_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS refuses an exclusive lock of a file that is open for reading only (EBADF), whoever uses it."""

    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("fcntl.flock", flock)
    locks = Locks()
    locks.lock(tmp_path, exclusive=True)
    assert locks.held == 1
    locks.release()
