"""Uploading a result folder of this machine: the place in the store is claimed before, and files follow when they are
whole.

What is measured is written here, and nowhere else, while it is measured. A store that is away costs nothing but the
copy there: the folder stays, and `flatwater copy` uploads it later.

An object is made only where there is none, and replaced only where it is this run's: the server is asked to make sure
(`If-None-Match`, `If-Match`). One that does not know these is asked beforehand, object by object.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.stores.address import Address
from flatwater.stores.claim import Claim
from flatwater.stores.index import Entry
from flatwater.stores.names import is_merged_when_complete, is_uploaded, order
from flatwater.stores.store import Mark, StoreGone, Taken

_PIECE_BYTES = 1 << 20
_MANIFEST = "flatwater.json"


class Upload:
    """A result folder and its place in a store, which is claimed for it."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self.address: Address = claim.address
        self.folder: Path = claim.folder
        #: Name -> size, time of the last change, and SHA-256: what does not change is read once.
        self._hashed: dict[str, tuple[int, int, str]] = {}

    def sync(self, *, whole: bool, patience_s: float | None = None) -> bool:
        """Uploads what is new, and lists it. `whole`: also cells that are not over; else those may be under way.

        With a patience, it stops after the file in which that ends. Returns whether all is there.

        Errors: UserError, StoreGone; OSError for a folder here that cannot be read.
        """
        began_s = time.monotonic()
        done = True
        self._claim.require()
        if whole:
            # Who sets the clock back may give a changed file the size and the time of the one before.
            self._hashed.clear()
        try:
            for name in sorted(self._names(whole=whole), key=order):
                if patience_s is not None and time.monotonic() - began_s > patience_s:
                    done = False
                    break
                self._upload(name)
        except StoreGone:
            raise
        except BaseException:
            # What came before an error is there, and counts.
            with suppress(FlatwaterError):
                self._list()
            raise
        self._list()
        if whole:
            self._remove_merged()
        return done

    def release(self) -> None:
        """Gives the place up again, if nothing was uploaded. Errors: UserError, StoreGone."""
        self._claim.release()

    def _names(self, *, whole: bool) -> Iterator[str]:
        """The files of the folder that are to be in the store."""
        top = str(self.folder)
        for place, folders, files in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith(".")]
            inside = os.path.relpath(place, top)
            below = "" if inside == "." else f"{inside}/"
            over = whole or not is_merged_when_complete(f"{below}x") or "summary.json" in files
            for file in files:
                path = Path(place, file)
                if over and is_uploaded(f"{below}{file}") and path.is_file() and not path.is_symlink():
                    yield f"{below}{file}"

    def _upload(self, name: str) -> None:
        path = self.folder / name
        try:
            sha256, size = self._hash(name, path)
            there = self._claim.files.get(name)
            if there is not None and there.sha256 == sha256:
                return
            etag = self._put(name, path, Mark(self._claim.run, sha256), there.etag if there is not None else None)
            after = self._hash(name, path)
        except FileNotFoundError:
            return  # a cell was set aside or merged meanwhile
        if after != (sha256, size):
            hint = "upload it when its run is over"
            raise UserError("was written to while it was uploaded", where=str(path), hint=hint)
        self._claim.add(name, Entry(size=size, sha256=sha256, etag=etag))

    def _hash(self, name: str, path: Path) -> tuple[str, int]:
        info = path.stat()
        known = self._hashed.get(name)
        if known is not None and known[:2] == (info.st_size, info.st_mtime_ns):
            return known[2], info.st_size
        found = hashlib.sha256()
        size = 0
        with path.open("rb") as handle:
            while piece := handle.read(_PIECE_BYTES):
                found.update(piece)
                size += len(piece)
        self._hashed[name] = size, info.st_mtime_ns, found.hexdigest()
        return found.hexdigest(), size

    def _put(self, name: str, path: Path, mark: Mark, etag: str | None) -> str:
        store, key = self._claim.store, self.address.key(name)
        try:
            return store.put(key, path, mark, etag)
        except Taken:
            pass
        # An upload may have ended before its answer came, or before the list was written.
        found = store.head(key)
        if found is None or found.mark is None or found.mark.run != mark.run:
            whose = "was deleted there meanwhile" if found is None else "is there already, and is not of this run"
            hint = f"nothing was overwritten; what was measured is in {self.folder}"
            raise UserError(f"{name} {whose}", where=str(self.address), hint=hint)
        if found.mark.sha256 == mark.sha256:
            return found.etag
        try:
            return store.put(key, path, mark, found.etag)
        except Taken:
            raise UserError(f"{name} is changed by another while it is uploaded", where=str(self.address)) from None

    def _list(self) -> None:
        if self._claim.changed:
            self._claim.write()

    def _remove_merged(self) -> None:
        """Deletes the objects of cells that the complete result has merged into its own files, as it does here."""
        for name in [name for name in self._claim.files if is_merged_when_complete(name)]:
            result = name.rpartition("cells/")[0]
            merged = f"{result}series.parquet" in self._claim.files and f"{result}{_MANIFEST}" in self._claim.files
            if not merged or (self.folder / name).exists() or (self.folder / result / "cells").exists():
                continue
            found = self._claim.store.head(self.address.key(name))
            if found is not None and found.mark is not None and found.mark.run == self._claim.run:
                try:
                    self._claim.store.delete(self.address.key(name))
                except StoreGone:
                    raise
                except FlatwaterError:
                    return  # who may not delete keeps them: they are listed, and read by nobody
            self._claim.drop(name)
        self._list()
