"""The lock of a run on its result folder: two runs in one folder would mix what they measure.

A run holds the file `run.lock` open and locked from its start to its end, also while it prepares, and while its cells
run on other machines. The file has the number of the process. The kernel gives the lock up when the process ends,
however it ends; a file that a kill left behind means nothing.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.collection import INDEX
from flatwater.results.started import shell_word

#: A file of the result folder, while it is run.
LOCK = "run.lock"
#: `struct flock` of fcntl(2): type, whence, start, length, process.
_FLOCK = "hhqqi"
#: A process number and an end of line: a longer file is none of ours.
_BYTES_MAX = 24
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def run_alone(folder: Path) -> Iterator[None]:
    """Holds the lock of a result, or of a folder of `run --all`. Errors: UserError if another process runs it.

    Where no lock can be had (a file system without locks, a folder that takes no file), it is run without one.
    """
    if _is_of_several(folder):
        require_not_run(folder.absolute().parent)
    require_not_run(folder)  # also where the file is another user's, and cannot be written
    descriptor = _take(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            _release(folder, descriptor)


def require_not_run(folder: Path) -> None:
    """Errors: UserError if a process runs this folder."""
    with _opened(folder) as descriptor:
        if descriptor is not None and _is_locked(descriptor):
            raise _in_use(descriptor, folder)


def is_run(folder: Path) -> bool:
    """Whether a process runs a result, also one of another user, or of another machine on a shared file system."""
    places = [folder, *([folder.absolute().parent] if _is_of_several(folder) else [])]
    for place in places:
        with _opened(place) as descriptor:
            if descriptor is not None and _is_locked(descriptor):
                return True
    return False


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | _FLAGS)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_of_several(folder: Path) -> bool:
    """Whether a result is one of `run --all`: one process runs all of them, and holds the lock of their folder."""
    return os.path.lexists(folder.absolute().parent / INDEX)


def _in_use(descriptor: int, folder: Path) -> UserError:
    told = os.pread(descriptor, _BYTES_MAX, 0).strip()
    who = f"process {int(told)}" if told.isdigit() else "another flatwater"
    hint = f"to follow it: flatwater watch {shell_word(str(folder))}"
    return UserError(f"{who} runs it already", where=str(folder), hint=hint)


def _take(folder: Path) -> int | None:
    path = folder / LOCK
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666)
        except OSError:
            return None
        try:
            if not _is_ours(descriptor):
                os.close(descriptor)
                return None
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _whole(fcntl.F_WRLCK))
        except (BlockingIOError, PermissionError):
            error = _in_use(descriptor, folder)
            os.close(descriptor)
            raise error from None
        except OSError:
            os.close(descriptor)
            return None
        if _is_at(path, descriptor):
            with suppress(OSError):  # a full disk: the number is not told, and the lock holds
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
            return descriptor
        os.close(descriptor)  # the run before has just ended, and deleted it


def _release(folder: Path, descriptor: int) -> None:
    with suppress(OSError):
        if _is_at(folder / LOCK, descriptor):
            (folder / LOCK).unlink()
    os.close(descriptor)


def _is_ours(descriptor: int) -> bool:
    """Whether a run wrote the file: nothing else is written, locked or deleted. Errors: OSError."""
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1 or info.st_size > _BYTES_MAX:
        return False
    told = os.pread(descriptor, _BYTES_MAX, 0)
    return not told or (told.endswith(b"\n") and told[:-1].isdigit())


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        there, ours = path.lstat(), os.fstat(descriptor)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _is_locked(descriptor: int) -> bool:
    try:
        answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _whole(fcntl.F_WRLCK))
    except OSError:
        return False
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)


def _whole(kind: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, 0, 0, 0)
