"""Fetching a result from a store into a folder of this machine. Each file is compared with what was uploaded."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import FOLDER_FLAGS, publish, write_atomic
from flatwater.results.create import FULL, make_folders
from flatwater.results.digests import DIGESTS
from flatwater.results.stored import FILE_BYTES_MAX, SUMMARY_BYTES_MAX
from flatwater.results.tags import TAGS
from flatwater.stores.address import Address
from flatwater.stores.index import Index, read_index
from flatwater.stores.names import is_small, order
from flatwater.stores.state import State, write_state
from flatwater.stores.store import Mark, Missing, Store

#: A writer may be at work: so often is the list read again when a file is not the one that it lists.
TRIES = 3


def fetch_new(store: Store, address: Address, index: Index, folder: Path) -> None:
    """Fetches a result into a folder that is not there, or empty: all of it or nothing.

    Errors: UserError where a folder is in the way or a file is damaged; StoreGone; FlatwaterError on a full disk.
    """
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    if os.path.lexists(folder):
        hint = "move it away, or name another folder"
        raise UserError("is there already, and was not fetched from there", where=str(folder), hint=hint)
    try:
        make_folders(folder.parent)
        partial = Path(tempfile.mkdtemp(prefix=".flatwater-", dir=folder.parent))
        try:
            index = fetch_files(store, address, index, partial)
            write_state(partial, State(url=str(address), run=index.run, holders=[index.holder]))
            partial.chmod(0o777 & ~_umask())
            parent = os.open(folder.parent, FOLDER_FLAGS)
            try:
                publish(parent, partial.name, folder.name)
            finally:
                os.close(parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        raise not_written(error, folder) from None


def fetch_files(
    store: Store, address: Address, index: Index, folder: Path, wanted: Callable[[str], bool] = lambda _: True
) -> Index:
    """Fetches the wanted files of a result into a folder of ours; returns the list by which all of them are right.

    Errors: UserError for a file that is not as it was uploaded; StoreGone, OSError.
    """
    for _ in range(TRIES):
        wrong = None
        for name in filter(wanted, index.files):
            require_fits(name, index.files[name].size, address)
        for name in sorted(filter(wanted, index.files), key=order):
            if (wrong := _fetch(store, address, name, index, folder)) is not None:
                break
        if wrong is None:
            return index
        again = read_index(store, address)
        if again is None or again[0] == index:
            hint = "upload it again from the folder that it came from: flatwater copy FOLDER ADDRESS"
            raise UserError(f"{name} is not as it was uploaded: {wrong}", where=str(address), hint=hint)
        index = again[0]
    raise UserError("is being written all the time", where=str(address), hint="wait for the end of its run")


def require_fits(name: str, size: int, address: Address) -> None:
    """Errors: UserError for a file that every list needs, and that is larger than any reader takes."""
    if is_small(name) and size > SUMMARY_BYTES_MAX:
        what = f"{name} has {size:,} B, which no run writes"
        raise UserError(what, where=str(address), hint="somebody else made or changed it; it is not fetched")


def _fetch(store: Store, address: Address, name: str, index: Index, folder: Path) -> str | None:
    """Fetches a file; what is wrong with it, and then it is not kept."""
    entry = index.files[name]
    try:
        write_file(folder, name, _checked(store.pieces(address.key(name)), entry.sha256, entry.size))
    except _DamagedError as error:
        tags = read_tags_object(store, address.key(name), index.run) if name.rpartition("/")[2] == TAGS else None
        if tags is None:
            return str(error)
        write_file(folder, name, iter([tags[0]]))
    except Missing:
        return "it is not there"
    return None


def read_tags_object(store: Store, key: str, run: str) -> tuple[bytes, str] | None:
    """The tags of a run and their etag, also if they are newer than the list: who changes tags lists them afterwards.

    None where no whole ones of this run are there. Errors: UserError, StoreGone.
    """
    found, told = store.read(key, FILE_BYTES_MAX), store.head(key)
    if found is None or told is None or told.etag != found[1] or told.mark is None:
        return None
    return found if told.mark == Mark(run, hashlib.sha256(found[0]).hexdigest()) else None


class _DamagedError(Exception):
    """A file is not as it was uploaded."""


def _checked(pieces: Iterator[bytes], sha256: str, size: int) -> Iterator[bytes]:
    found, length = hashlib.sha256(), 0
    for piece in pieces:
        found.update(piece)
        length += len(piece)
        if length > size:
            break
        yield piece
    if length != size:
        raise _DamagedError(f"{'more than ' if length > size else ''}{min(length, size):,} B of {size:,} B are there")
    if found.hexdigest() != sha256:
        raise _DamagedError("its bytes are others")


def write_file(folder: Path, name: str, pieces: Iterator[bytes]) -> None:
    """Writes one file below a folder of ours. Errors: OSError."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, pieces, durable=False)
    if path.name == DIGESTS:
        path.chmod(0o600)  # statements of clients, with their values


def not_written(error: OSError, folder: Path) -> FlatwaterError:
    """The error for a folder that cannot be written."""
    kind = FlatwaterError if error.errno in FULL else UserError
    what = f"cannot be written: {error.strerror or error}"
    return kind(what, where=str(folder), hint="make room there" if kind is FlatwaterError else None)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
