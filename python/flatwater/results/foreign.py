"""Results that may be anybody's, as `flatwater serve` shows them to others.

Who made such a result decides what lies in it and what its experiment says, and not who may see which file of this
machine. So meanwhile no link in it is followed, and no file that its experiment names is opened.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

#: The folders whose results are foreign; None: results are the user's own, who may have links in them.
_ROOTS: ContextVar[tuple[Path, ...] | None] = ContextVar("roots", default=None)
#: O_NONBLOCK: an open must not wait for the writer of a FIFO that has the name of a file.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def as_foreign(roots: Sequence[Path]) -> Iterator[None]:
    """Results in and below these folders are foreign meanwhile, in this thread and in those that it waits for."""
    before = _ROOTS.set(tuple(root.absolute() for root in roots))
    try:
        yield
    finally:
        _ROOTS.reset(before)


def is_foreign() -> bool:
    """Whether the experiments that are read now may be anybody's: no file that they name is opened."""
    return _ROOTS.get() is not None


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open for reading; of a foreign result without following a link in it.

    Errors: OSError; NotRegularError for anything else than a regular file.
    """
    descriptor = _open(path)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegularError(errno.EINVAL, "it is not a file", str(path))
    return os.fdopen(descriptor, "rb")


class NotRegularError(OSError):
    """A folder, a pipe or a device has the name of a file; or, in a foreign result, a link."""


def _open(path: Path) -> int:
    roots = _ROOTS.get()
    if roots is None:
        return os.open(path, _FILE)
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 (`Path.absolute` keeps `..`)
    root = max((one for one in roots if absolute.is_relative_to(one)), key=lambda one: len(one.parts), default=None)
    try:
        if root is None:
            return os.open(absolute, _FILE | os.O_NOFOLLOW)
        return _open_below(root, absolute.relative_to(root).parts)
    except OSError as error:
        # ELOOP: a link is the file; ENOTDIR: a link is on the way to it.
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and root is not None):
            raise NotRegularError(error.errno, "it is a link, or behind a link", str(path)) from None
        raise


def _open_below(root: Path, parts: Sequence[str]) -> int:
    """The file, folder by folder: a name that becomes a link meanwhile is not followed either."""
    folder = os.open(root, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1] if parts else ".", _FILE | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)
