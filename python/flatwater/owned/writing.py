"""Writing files as a whole, below a path of the user's."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from flatwater._engine import rename_new
from flatwater.errors import UserError

#: How a folder is opened in which something is made.
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
#: How much of a file is looked at for the line that says who wrote it.
HEAD_BYTES = 4096
_RANDOM_NAME = re.compile(r"\.flatwater-[0-9a-f]{16}")
#: How much of a file is copied at a time.
_PIECE_BYTES = 1 << 20


def unwritten(what: str, error: OSError, where: str) -> UserError:
    """The error for what could not be written: `what` was tried, `where`, why, and what to do next."""
    why, hint = error.strerror or str(error), "choose another place"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        why, hint = "a file is in the way", "name a folder, or one that is not there yet"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "make room there, or choose another place"
    return UserError(f"{what}: {why}", where=where, hint=hint)


def make_folder(folder: Path, where: str) -> None:
    """Makes a folder for what is written next, with those above it. Errors: UserError, with the place as `where`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten("cannot make the folder", error, where) from None


def write_atomic(path: Path, text: str | bytes | Iterable[str] | Iterable[bytes], *, durable: bool = True) -> None:
    """Replaces a file as a whole: a reader or a crash sees the old one or the new one. The text may come in pieces.

    A link of that name is replaced, and not followed. Errors: OSError; nothing is left beside it then.
    """
    folder = os.open(path.parent, FOLDER_FLAGS)
    try:
        write_atomic_at(folder, path.name, text, durable=durable)
    finally:
        os.close(folder)


def write_atomic_at(
    folder: int,
    name: str,
    text: str | bytes | Iterable[str] | Iterable[bytes],
    *,
    durable: bool = True,
    mode: int = 0o666,
) -> None:
    """The same in an open folder. What `mode` allows, the user's umask may take away."""
    with _new_file(folder, mode) as (partial, handle):
        for piece in [text] if isinstance(text, str | bytes) else text:
            handle.write(piece if isinstance(piece, bytes) else piece.encode())
        handle.flush()
        if durable:
            os.fsync(handle.fileno())
        os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)


def own_alone(path: Path) -> None:
    """Makes a file that is about to be added to in place nobody else's: one that has other names, or is a link, is
    copied, and the copy takes its name. A backup of links keeps what it had. Does nothing where no file is.

    Errors: OSError.
    """
    with suppress(FileNotFoundError):
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode) or (stat.S_ISREG(info.st_mode) and info.st_nlink > 1):
            with path.open("rb") as source:
                write_atomic(path, iter(lambda: source.read(_PIECE_BYTES), b""))


def write_new(path: Path, text: str | bytes | Iterable[str] | Iterable[bytes]) -> None:
    """Writes a file that is not there yet, at once or not at all. The text may come in pieces.

    Errors: FileExistsError, OSError; nothing is left beside it then.
    """
    folder = os.open(path.parent, FOLDER_FLAGS)
    try:
        with _new_file(folder, 0o666) as (partial, handle):
            for piece in [text] if isinstance(text, str | bytes) else text:
                handle.write(piece if isinstance(piece, bytes) else piece.encode())
            handle.flush()
            publish(folder, partial, path.name)
    finally:
        os.close(folder)


@contextmanager
def _new_file(folder: int, mode: int) -> Iterator[tuple[str, IO[bytes]]]:
    """A new file under a random name, and its name; whoever asked for it renames it, or it is gone again."""
    partial, descriptor = create_file(folder, mode)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            yield partial, handle
    except BaseException:
        # A full disk is not made fuller.
        with suppress(OSError):
            os.unlink(partial, dir_fd=folder)
        raise


def create_file(folder: int, mode: int = 0o600) -> tuple[str, int]:
    """A new file in an open folder, under a random name: the name, and a descriptor to read and write it.

    Errors: OSError.
    """
    name = random_name()
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return name, os.open(name, flags, mode, dir_fd=folder)


def random_name() -> str:
    """A name that nobody can have taken beforehand."""
    return f".flatwater-{secrets.token_hex(8)}"


def is_random_name(name: str) -> bool:
    """Whether `random_name` may have made it: that of a file that a kill left half written."""
    return _RANDOM_NAME.fullmatch(name) is not None


def publish(folder: int, partial: str, name: str) -> None:
    """Gives a file or folder that was made under a random name its own, if nothing has that yet.

    Errors: FileExistsError, OSError.
    """
    try:
        rename_new(folder, partial, name)
    except OSError as error:
        # NFS and some others cannot ask for a name that is free.
        if error.errno not in (errno.EINVAL, errno.ENOSYS):
            raise
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None


def require_replaceable(path: Path, signature: str, *, force: bool, where: str) -> None:
    """Makes sure that a file may be replaced: there is none, flatwater wrote it (its head says so by the `signature`),
    or the user says so.

    Errors: UserError that names what would be lost.
    """
    try:
        info = path.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"cannot use {path}: {error.strerror}", where=where, hint="another place") from None
    if not stat.S_ISREG(info.st_mode):
        raise UserError(f"{path} is not a file", where=where, hint="name a file")
    if force or info.st_size == 0 or signature.encode() in _head(path):
        return
    raise UserError(
        f"{path} exists ({info.st_size:,} B) and was not written by flatwater: it would be lost",
        where=where,
        hint="another name, or --force if it is not needed",
    )


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            return handle.read(HEAD_BYTES)
    except OSError:
        return b""
