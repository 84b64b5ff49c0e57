"""A target that several hosts use: what each of them must find at the path before it may write there.

A path names one thing on one host and another on the next. So this machine leaves a *mark* that nobody can know
beforehand: a file with a random word beside the files, or a random sector on a block device, which gets its bytes back.
Only a host that sees the same storage finds it. A device that is only read gets no mark: its size and samples of its
bytes must be the same, and to read other bytes does no harm.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import FOLDER_FLAGS, Identity, Permit, create_file
from flatwater.owned.witness import MARK
from flatwater.place import claim, look_at, require_unused
from flatwater.runner.stack.layers.shared import Shared, SharedFile
from flatwater.runner.stack.target.target import Target, boot_id

#: What is read of a device at a place: the largest sector in use.
PIECE_BYTES = 4096
#: Places at which a device that is only read is compared, spread over what the workload uses.
SAMPLES = 16
_WHERE = "storage.path"


@contextmanager
def shared(target: Target, *, writes: bool, made: bool) -> Iterator[Shared]:
    """Marks a target for the hosts to find while the context lasts. `made`: its files are there.

    Errors: FlatwaterError if it cannot be marked.
    """
    if target.kind == "device":
        with _marked_device(target) as pieces:
            size = _size_of(target.path)
            yield Shared(target.path.absolute(), True, boot_id(), device_bytes=size, pieces=pieces, writes=writes)
        return
    follow = target.kind != "directory"
    files = tuple(_describe(target, path) for path in target.paths) if made else ()
    with _marked_folder(target.paths[0].parent.absolute()) as token:
        yield Shared(target.path.absolute(), follow, boot_id(), token=token, files=files, writes=writes)


@contextmanager
def _marked_folder(folder: Path) -> Iterator[tuple[Path, str]]:
    word = secrets.token_hex(16)
    try:
        handle = os.open(folder, FOLDER_FLAGS)
    except OSError as error:
        raise FlatwaterError(f"cannot use {folder}: {error.strerror}", where=_WHERE) from None
    name = None
    try:
        try:
            # Readable for others: a worker may be another user's.
            name, descriptor = create_file(handle, 0o644)
            try:
                os.write(descriptor, word.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            what = f"cannot make a file in {folder} by which the load hosts know it: {error.strerror}"
            raise FlatwaterError(what, where=_WHERE) from None
        yield folder / name, word
    finally:
        if name is not None:
            with suppress(OSError):
                os.unlink(name, dir_fd=handle)
        os.close(handle)


@contextmanager
def _marked_device(target: Target) -> Iterator[tuple[tuple[int, str], ...]]:
    """What the hosts must read on a device. If it may be written, its first sectors are random meanwhile."""
    if not target.writable:
        try:
            pieces = tuple((at, _digest(_read_piece(target.path, at))) for at in _sampled(target.used_bytes))
        except OSError as error:
            raise FlatwaterError(f"cannot read {target.path}: {error.strerror}", where=_WHERE) from None
        yield pieces
        return
    try:
        descriptor = target.open(target.path, os.O_RDWR)
    except OSError as error:
        raise FlatwaterError(f"cannot use {target.path}: {error.strerror}", where=_WHERE) from None
    try:
        before = os.pread(descriptor, PIECE_BYTES, 0)
        word = secrets.token_bytes(len(before))
        try:
            _put(target, descriptor, word)
            yield ((0, _digest(word)),)
        finally:
            _put(target, descriptor, before)
    finally:
        os.close(descriptor)


def _put(target: Target, descriptor: int, data: bytes) -> None:
    try:
        os.pwrite(descriptor, data, 0)
        os.fsync(descriptor)
    except OSError as error:
        raise FlatwaterError(f"cannot mark {target.path}: {error.strerror}", where=_WHERE) from None


def _sampled(used_bytes: int) -> list[int]:
    last = max(0, used_bytes - PIECE_BYTES)
    return sorted({last * number // (SAMPLES - 1) // PIECE_BYTES * PIECE_BYTES for number in range(SAMPLES)})


def _describe(target: Target, path: Path) -> SharedFile:
    try:
        info = path.lstat() if target.kind == "directory" else path.stat()
    except OSError as error:
        raise FlatwaterError(f"cannot use {path}: {error.strerror}", where=_WHERE) from None
    entry = target.known(path)
    mark = entry.witness.mark if entry is not None and entry.witness is not None else None
    return SharedFile(path.absolute(), info.st_ino, target.file_bytes, mark)


class Seen:
    """A target that a host has found to be the same. It is the host's until `close`."""

    def __init__(self, permit: Permit | None, claims: list[int]) -> None:
        #: What the host may write, as its own kernel names it; None if nothing was asked for.
        self.permit = permit
        self._claims = claims

    def close(self) -> None:
        """Lets it go."""
        while self._claims:
            os.close(self._claims.pop())


def see(wanted: Shared) -> Seen:
    """Looks for a target on this machine. Errors: UserError if this is another storage, or if it is in use here."""
    _require_token(wanted)
    identities = [_require_device(wanted)] if wanted.device_bytes is not None else _require_files(wanted)
    seen = Seen(Permit(tuple(identities)) if wanted.writes and identities else None, [])
    if wanted.writes and wanted.boot_id != boot_id():
        try:
            _require_free(wanted, seen)
        except BaseException:
            seen.close()
            raise
    return seen


def _require_token(wanted: Shared) -> None:
    if wanted.token is None:
        return
    path, word = wanted.token
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        there = "is another one there" if path.parent.is_dir() else "is not there"
        raise _other(wanted, f"the folder {path.parent} {there}") from None
    except OSError as error:
        raise UserError(f"cannot read in {path.parent}: {error.strerror}", where=_WHERE) from None
    with os.fdopen(descriptor, "rb") as handle:
        if handle.read(len(word) + 1) != word.encode():
            raise _other(wanted, f"the folder {path.parent} is another one there")


def _require_files(wanted: Shared) -> list[Identity]:
    found = []
    for file in wanted.files:
        follow = 0 if wanted.follow else os.O_NOFOLLOW
        try:
            descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | follow)
        except OSError as error:
            raise UserError(f"cannot use {file.path}: {error.strerror}", where=_WHERE) from None
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode) or info.st_ino != file.inode or not _has_mark(descriptor, file.mark):
                raise _other(wanted, f"{file.path} is another file there")
            if info.st_size < file.bytes:
                raise _other(wanted, f"{file.path} has {info.st_size:,} B there, and {file.bytes:,} B are used")
            found.append(Identity.of(info))
        finally:
            os.close(descriptor)
    return found


def _has_mark(descriptor: int, mark: str | None) -> bool:
    """Whether the extended attribute does not say another word. A network file system may have no attributes."""
    if mark is None:
        return True
    try:
        return os.getxattr(descriptor, MARK) == mark.encode()
    except OSError:
        return True


def _require_device(wanted: Shared) -> Identity:
    try:
        info = wanted.path.stat()
    except OSError as error:
        raise UserError(f"cannot use {wanted.path}: {error.strerror}", where=_WHERE) from None
    if not stat.S_ISBLK(info.st_mode):
        raise _other(wanted, f"{wanted.path} is no block device there")
    try:
        size = _size_of(wanted.path)
        if size != wanted.device_bytes:
            raise _other(wanted, f"{wanted.path} has {size:,} B there, and {wanted.device_bytes:,} B here")
        for at, digest in wanted.pieces:
            if _digest(_read_piece(wanted.path, at)) != digest:
                raise _other(wanted, f"{wanted.path} holds other bytes there")
    except OSError as error:
        raise UserError(f"cannot read {wanted.path}: {error.strerror}", where=_WHERE) from None
    return Identity.of(info)


def _require_free(wanted: Shared, seen: Seen) -> None:
    """On another kernel than the one that has checked: nothing there may use what is written to."""
    for path in [wanted.path] if wanted.device_bytes is not None else [file.path for file in wanted.files]:
        place = look_at(path, _WHERE)
        if place is None:
            continue
        # Files are claimed where the run is: a claim of a network file system may reach all hosts.
        require_unused(place, _WHERE, claimed=not place.is_device)
        if place.is_device:
            seen._claims.append(claim(place, _WHERE, alone=True))


def _other(wanted: Shared, what: str) -> UserError:
    hint = f"storage.path must lead to one storage on all hosts: share {wanted.path}, or give a path that is shared"
    return UserError(f"{what}, so it writes to another storage" if wanted.writes else what, where=_WHERE, hint=hint)


def _size_of(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)


def _read_piece(path: Path, at: int) -> bytes:
    """A piece of a device, as the device has it: the page cache of a host may be older."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, PIECE_BYTES) as piece:
            read = os.preadv(descriptor, [piece], at)
            return piece[:read]
    finally:
        os.close(descriptor)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
