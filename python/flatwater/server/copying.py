"""Copying a directory tree: by sharing blocks if the file system can do that (reflink), else block by block."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.owned import FOLDER_FLAGS, create_file, mounted_below
from flatwater.server.sizes import print_size

OnProgress = Callable[[int, int], None]
Stop = Callable[[], bool]

# _IOW(0x94, 9, int), linux/fs.h.
_FICLONE = 0x40049409
#: Bytes that are copied between two checks whether to stop.
_PART_BYTES = 8 * 2**20
#: Bytes of a file that is shared to see whether that can be done.
_TRIAL_BYTES = 4096
#: Bytes that stay free on the file system, for its own metadata and the server's small files.
RESERVE_BYTES = 64 * 2**20

# Errors of a file system that cannot share blocks, or cannot share them between these two files.
_CANNOT_SHARE = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.ETXTBSY}


@dataclass(frozen=True)
class Copied:
    """How a copy was made: a `reflink` shares blocks with its source until they are written."""

    how: Literal["reflink", "copy"]
    bytes: int


def copy_tree(
    source: Path,
    target: Path,
    *,
    leave_out: Callable[[str], bool] = lambda name: False,
    share: bool = True,
    on_progress: OnProgress | None = None,
    stop: Stop | None = None,
    fills: bool = False,
) -> Copied:
    """Copies the files of `source` into the new directory `target`, and syncs them. With `fills` it is an empty one.

    `leave_out` decides on each path below `source`. `share=False` copies every block even if the file system could
    share it. Holes stay holes, and allocated blocks are allocated in the copy. `on_progress(done, total)` counts bytes.
    Errors: UserError if there is no room; FlatwaterError if a file cannot be copied; Interrupted. A copy that failed is
    deleted.
    """
    folders, files = _walk(source, leave_out)
    total = sum(held_bytes(path) for path in files)
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=fills)
    except OSError as error:
        raise FlatwaterError(f"cannot make {target}: {error.strerror}", where="storage.path") from None
    try:
        for folder in folders:
            (target / folder.relative_to(source)).mkdir(mode=0o700)
        sharing = share and bool(files) and _can_share(files[0], target)
        if not sharing:
            check_space(target, total)
        progress = _Progress(total, on_progress, stop)
        for path in files:
            _copy_file(path, target / path.relative_to(source), share=sharing, progress=progress)
        for folder in [target, *(target / folder.relative_to(source) for folder in folders), target.parent]:
            sync_folder(folder)
    except OSError as error:
        remove_tree(target)
        place = f"{error.filename}: " if error.filename else ""
        raise FlatwaterError(
            f"cannot copy {source} to {target}: {place}{error.strerror}", where="storage.path"
        ) from None
    except BaseException:
        remove_tree(target)
        raise
    progress.finish()
    return Copied("reflink" if sharing else "copy", total)


def held_bytes(path: Path) -> int:
    """Bytes that a file occupies on its file system."""
    return path.stat().st_blocks * 512


def tree_bytes(folder: Path) -> int:
    """Bytes that the files of a folder occupy on their file system."""
    return sum(held_bytes(path) for path in _walk(folder, lambda name: False)[1])


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raises UserError if the file system of `folder` has no room for `needed_bytes` more."""
    available = free_bytes(folder)
    if needed_bytes + RESERVE_BYTES > available:
        raise UserError(
            f"{print_size(needed_bytes)} more are needed in {folder}, and {print_size(available)} are free "
            f"({print_size(RESERVE_BYTES)} of them are left alone)",
            where="storage.path",
            hint="make room, or choose another storage.path",
        )


def free_bytes(folder: Path) -> int:
    """Bytes that are free on the file system of a folder."""
    free = os.statvfs(folder)
    return free.f_bavail * free.f_frsize


def shares_blocks(folder: Path) -> bool:
    """Whether two files in a folder of flatwater's can share blocks (reflink): it is tried with one block."""
    descriptor = os.open(folder, FOLDER_FLAGS)
    made: list[str] = []
    try:
        name, source = create_file(descriptor)
        made.append(name)
        name, clone = create_file(descriptor)
        made.append(name)
        try:
            os.write(source, bytes(_TRIAL_BYTES))
            fcntl.ioctl(clone, _FICLONE, source)
        finally:
            os.close(source)
            os.close(clone)
    except OSError:
        return False  # they cannot, or there is no room to try
    finally:
        for name in made:
            os.unlink(name, dir_fd=descriptor)
        os.close(descriptor)
    return True


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Makes everything in a folder durable."""
    folders, files = _walk(folder, lambda name: False)
    for path in files:
        with path.open("rb") as handle:
            os.fsync(handle.fileno())
    for path in [folder, *folders]:
        sync_folder(path)


def remove_tree(folder: Path) -> None:
    """Deletes a folder and its content, unless something is mounted in it. Links are not followed.

    Errors: FlatwaterError.
    """

    def failed(function: object, path: str, info: tuple[type[BaseException], BaseException, object]) -> None:
        if not isinstance(info[1], FileNotFoundError):
            raise info[1]

    try:
        descriptor = os.open(folder, FOLDER_FLAGS | os.O_NOFOLLOW)
        try:
            mounted = mounted_below(descriptor)
        finally:
            os.close(descriptor)
        if mounted is not None:
            what = f"something is mounted on {mounted}: nothing there will be deleted"
            raise FlatwaterError(what, where="storage.path", hint=f"umount {mounted}")
        shutil.rmtree(folder, onerror=failed)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FlatwaterError(f"cannot delete {error.filename}: {error.strerror}", where="storage.path") from None


@dataclass
class _Progress:
    total: int
    tell: OnProgress | None
    stop: Stop | None
    done: int = 0

    def add(self, count: int) -> None:
        """Counts bytes. Errors: Interrupted once `stop()` is true."""
        # Rounding to blocks may count a little more than the total, which is not shown.
        self.done = min(self.done + count, self.total)
        if self.tell is not None:
            self.tell(self.done, self.total)
        if self.stop is not None and self.stop():
            raise Interrupted("the copy of a snapshot was stopped")

    def finish(self) -> None:
        if self.tell is not None:
            self.tell(self.total, self.total)


def _walk(source: Path, leave_out: Callable[[str], bool]) -> tuple[list[Path], list[Path]]:
    """The folders of a tree (parents first) and its regular files, except those to leave out."""
    folders: list[Path] = []
    files: list[Path] = []
    for top, inner, names in os.walk(source):
        here = Path(top)
        inner[:] = sorted(name for name in inner if not leave_out(str((here / name).relative_to(source))))
        folders += [here / name for name in inner]
        files += [
            here / name
            for name in sorted(names)
            if not leave_out(str((here / name).relative_to(source)))
            and (here / name).is_file()
            and not (here / name).is_symlink()
        ]
    return folders, files


def _can_share(sample: Path, target: Path) -> bool:
    """Whether two files can share blocks. It is tried: for XFS it depends on how the file system was made."""
    trial = target / ".flatwater-trial"
    try:
        with sample.open("rb") as source, trial.open("wb") as clone:
            fcntl.ioctl(clone.fileno(), _FICLONE, source.fileno())
    except OSError as error:
        if error.errno in _CANNOT_SHARE:
            return False
        raise
    finally:
        trial.unlink(missing_ok=True)
    return True


def _copy_file(source: Path, target: Path, *, share: bool, progress: _Progress) -> None:
    # For reading too: where the file system cannot allocate (ext3), posix_fallocate looks into the file itself.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with source.open("rb") as opened, os.fdopen(os.open(target, flags, 0o600), "r+b", buffering=0) as made:
        reader, writer = opened.fileno(), made.fileno()
        info = os.fstat(reader)
        if share:
            fcntl.ioctl(writer, _FICLONE, reader)
            progress.add(info.st_blocks * 512)
        else:
            _copy_data(reader, writer, info, progress)
        os.fsync(writer)
        # Drops the pages, so that the server starts with the same cold page cache in every cell.
        for descriptor in (reader, writer):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _copy_data(reader: int, writer: int, info: os.stat_result, progress: _Progress) -> None:
    size = info.st_size
    os.ftruncate(writer, size)
    if size and info.st_blocks * 512 >= size:
        # Allocates the whole file like its source: preallocated blocks (of a redo log) look like holes below.
        try:
            os.posix_fallocate(writer, 0, size)
        except OSError as error:
            if error.errno not in {errno.EOPNOTSUPP, errno.EINVAL}:
                raise
    at = 0
    while at < size:
        try:
            at = os.lseek(reader, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                break
            raise
        hole = os.lseek(reader, at, os.SEEK_HOLE)
        os.lseek(writer, at, os.SEEK_SET)
        while at < hole:
            # Not copy_file_range, which shares blocks where it can.
            count = os.sendfile(writer, reader, at, min(_PART_BYTES, hole - at))
            if count == 0:
                return
            at += count
            progress.add(count)
