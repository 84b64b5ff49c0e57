"""A folder of flatwater below a path of the user.

It is held by its descriptor: if its path leads to something else later, that is not touched. Its ledger, a file in it,
has the witness of the folder itself and of each entry that flatwater made there. All other entries belong to others.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned.mounted import LEDGER, mounted_below
from flatwater.owned.witness import Witness
from flatwater.owned.writing import FOLDER_FLAGS, create_file, publish, random_name, write_atomic_at

_DIRECTORY = FOLDER_FLAGS | os.O_NOFOLLOW
#: O_NONBLOCK: an open must not wait for the writer of a FIFO that has the name of a file.
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def _own_name(name: str) -> str:
    """A name in the folder itself. Errors: ValueError for one that leads elsewhere, which only somebody else wrote."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(name)
    return name


class Ledger(BaseModel):
    """The entries that flatwater made in a folder."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["flatwater-owned"] = "flatwater-owned"
    version: Literal[1] = 1
    folder: Witness
    entries: dict[Annotated[str, AfterValidator(_own_name)], Witness] = Field(default_factory=dict)


class Folder:
    """The folder. `where` names the field of the experiment that the path comes from, for messages."""

    def __init__(self, path: Path, descriptor: int, ledger: Ledger, where: str) -> None:
        self.path = path
        self._descriptor = descriptor
        self._ledger = ledger
        self._where = where

    @classmethod
    def open(cls, path: Path, *, where: str) -> Folder:
        """Opens the folder, or makes it in its parent, which belongs to the user.

        Errors: UserError if it exists and flatwater did not make it there; FlatwaterError.
        """
        try:
            parent = os.open(path.parent, FOLDER_FLAGS)
        except FileNotFoundError:
            raise UserError(f"{path.parent} does not exist", where=where, hint=f"mkdir -p {path.parent}") from None
        except OSError as error:
            raise _failed(path.parent, error, where) from None
        try:
            found = cls._find(parent, path, where, adopt=True)
            return found if found is not None else cls._make(parent, path, where)
        except OSError as error:
            raise _failed(path, error, where) from None
        finally:
            os.close(parent)

    @classmethod
    def find(cls, path: Path, *, where: str) -> Folder | None:
        """Opens the folder if it exists. An empty one of nobody is left as it is. Errors: as of `open`."""
        try:
            parent = os.open(path.parent, FOLDER_FLAGS)
        except OSError:
            return None
        try:
            return cls._find(parent, path, where, adopt=False)
        except OSError as error:
            raise _failed(path, error, where) from None
        finally:
            os.close(parent)

    @classmethod
    def _find(cls, parent: int, path: Path, where: str, *, adopt: bool) -> Folder | None:
        try:
            descriptor = os.open(path.name, _DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            what = "a link" if error.errno == errno.ELOOP or path.is_symlink() else "no folder"
            raise UserError(
                f"{path} is in the way: it is {what}", where=where, hint="move it, or use another directory"
            ) from None
        try:
            _require_own(descriptor, path, where)
            ledger = _read_ledger(descriptor, path, where)
            if ledger is None and os.listdir(descriptor):
                raise UserError(
                    f"{path} was not made by flatwater: nothing in it will be touched",
                    where=where,
                    hint="move it, or use another directory",
                )
            if ledger is None and not adopt:
                os.close(descriptor)
                return None
            if ledger is None:  # an empty folder belongs to nobody
                ledger = Ledger(folder=Witness.put(descriptor))
                _save(descriptor, ledger)
            elif not ledger.folder.knows(descriptor):
                raise UserError(
                    f"{path} is a copy of a folder of flatwater's: nothing in it will be touched",
                    where=where,
                    hint="delete it if it is not needed, or use another directory",
                )
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, ledger, where)

    @classmethod
    def _make(cls, parent: int, path: Path, where: str) -> Folder:
        partial, descriptor = create_folder(parent)
        try:
            ledger = Ledger(folder=Witness.put(descriptor))
            _save(descriptor, ledger)
            publish(parent, partial, path.name)
        except BaseException:
            os.close(descriptor)
            with suppress(OSError):
                shutil.rmtree(partial, dir_fd=parent)
            raise
        return cls(path, descriptor, ledger, where)

    def close(self) -> None:
        """Closes the folder, which also unlocks it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def lock(self) -> None:
        """Locks the folder for this run until it is closed. Errors: UserError if another run has locked it."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                f"another flatwater is using {self.path}",
                where=self._where,
                hint="wait for it, or use another directory",
            ) from None

    # --- its entries

    def path_of(self, name: str) -> Path:
        """The path of an entry. The caller must have found or made the entry before."""
        return self.path / name

    def names(self) -> list[str]:
        """The names of the entries that flatwater made. Some may be gone."""
        return sorted(self._ledger.entries)

    def holds(self, name: str) -> bool:
        """Whether an entry exists. Errors: UserError if it exists and flatwater did not make it."""
        descriptor = self._open_own(name, os.O_RDONLY)
        if descriptor is None:
            return False
        os.close(descriptor)
        return True

    def open_file(self, name: str, flags: int = os.O_RDWR) -> int | None:
        """A descriptor of a file; None if there is none. Errors: UserError if it is not flatwater's."""
        return self._open_own(name, flags)

    def make_file(self, name: str) -> int:
        """Makes an empty file, in place of one that flatwater made; a descriptor to read and write it.

        Errors: UserError if something else has the name; FlatwaterError.
        """
        self.remove(name)
        try:
            partial, descriptor = create_file(self._descriptor)
            try:
                self._enter(name, descriptor, partial)
            except BaseException:
                os.close(descriptor)
                with suppress(OSError):
                    os.unlink(partial, dir_fd=self._descriptor)
                raise
        except OSError as error:
            raise _failed(self.path / name, error, self._where) from None
        return descriptor

    def make_folder(self, name: str) -> Path:
        """Makes a folder in it, unless it exists; its path. Errors: as of `make_file`."""
        if not self.holds(name):
            try:
                partial, descriptor = create_folder(self._descriptor)
                try:
                    self._enter(name, descriptor, partial)
                except BaseException:
                    with suppress(OSError):
                        os.rmdir(partial, dir_fd=self._descriptor)
                    raise
                finally:
                    os.close(descriptor)
            except OSError as error:
                raise _failed(self.path / name, error, self._where) from None
        return self.path / name

    def read_text(self, name: str) -> str | None:
        """The text of a file; None if there is none. Errors: UserError if it is not flatwater's."""
        descriptor = self._open_own(name, os.O_RDONLY)
        if descriptor is None:
            return None
        with os.fdopen(descriptor, encoding="utf-8", errors="replace") as handle:
            return handle.read()

    def write_text(self, name: str, text: str) -> None:
        """Makes a file with a text. Errors: as of `make_file`."""
        descriptor = self.make_file(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
                handle.write(text)
        except OSError as error:
            raise _failed(self.path / name, error, self._where) from None

    def remove(self, name: str) -> None:
        """Deletes an entry with all its content, if it exists.

        Errors: UserError if flatwater did not make it; FlatwaterError.
        """
        is_folder = self.require_removable(name)
        if is_folder is None:
            return
        try:
            if is_folder:
                shutil.rmtree(name, dir_fd=self._descriptor)
            else:
                os.unlink(name, dir_fd=self._descriptor)
        except OSError as error:
            place = error.filename if isinstance(error.filename, str) else name
            raise FlatwaterError(f"cannot delete {self.path / place}: {error.strerror}", where=self._where) from None
        self.forget(name)

    def require_removable(self, name: str) -> bool | None:
        """Whether an entry that may be deleted is a folder; None if there is none.

        Errors: UserError if flatwater did not make it, or if something is mounted in it.
        """
        descriptor = self._open_own(name, os.O_RDONLY)
        if descriptor is None:
            return None
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        mounted = mounted_below(descriptor) if is_folder else None
        os.close(descriptor)
        if mounted is not None:
            raise UserError(
                f"something is mounted on {mounted}: nothing there will be deleted",
                where=self._where,
                hint=f"umount {mounted}",
            )
        return is_folder

    def move(self, name: str, other: Folder, new: str) -> None:
        """Moves an entry to another folder of flatwater, in place of its entry `new`. Errors: as of `remove`."""
        if not self.holds(name):
            raise FlatwaterError(f"{self.path / name} is gone", where=self._where)
        other.remove(new)
        witness = self._ledger.entries[name]
        try:
            # It is in both ledgers until it was moved: after a kill in between it still counts as flatwater's.
            other._ledger.entries[new] = witness
            _save(other._descriptor, other._ledger)
            os.rename(name, new, src_dir_fd=self._descriptor, dst_dir_fd=other._descriptor)
            os.fsync(other._descriptor)
        except OSError as error:
            raise _failed(self.path / name, error, self._where) from None
        self.forget(name)

    def forget(self, name: str) -> None:
        """Removes an entry that is gone from the ledger."""
        if self._ledger.entries.pop(name, None) is not None:
            with suppress(OSError):  # an entry in the ledger for a file that is gone does no harm
                _save(self._descriptor, self._ledger)

    def remove_all(self) -> None:
        """Deletes all entries that flatwater made, and the folder itself if it is empty then. Closes it."""
        for name in self.names():
            with suppress(UserError):
                self.remove(name)
        with suppress(OSError):
            if set(os.listdir(self._descriptor)) <= {LEDGER}:
                os.unlink(LEDGER, dir_fd=self._descriptor)
                self.path.rmdir()
        self.close()

    def _enter(self, name: str, descriptor: int, partial: str) -> None:
        """Adds an entry with a random name to the ledger, and then gives it its final name."""
        self._ledger.entries[name] = Witness.put(descriptor)
        _save(self._descriptor, self._ledger)
        try:
            publish(self._descriptor, partial, name)
        except FileExistsError:
            raise self._foreign(name) from None

    def _open_own(self, name: str, flags: int) -> int | None:
        try:
            descriptor = os.open(name, flags | _FILE, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            # A link, or something that cannot be opened like a file: flatwater makes no such entries.
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                raise self._foreign(name) from None
            raise _failed(self.path / name, error, self._where) from None
        witness = self._ledger.entries.get(name)
        if witness is not None and witness.knows(descriptor):
            return descriptor
        os.close(descriptor)
        raise self._foreign(name)

    def _foreign(self, name: str) -> UserError:
        return UserError(
            f"{self.path / name} was not made by flatwater: it will not be touched",
            where=self._where,
            hint="move it, or use another directory",
        )


def create_folder(parent: int) -> tuple[str, int]:
    """Makes a folder with a random name in an open one; the name and a descriptor. Errors: OSError."""
    name = random_name()
    os.mkdir(name, mode=0o700, dir_fd=parent)
    try:
        return name, os.open(name, _DIRECTORY, dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.rmdir(name, dir_fd=parent)
        raise


def _require_own(descriptor: int, path: Path, where: str) -> None:
    """Errors: UserError if the folder, or its ledger, belongs to another user, who could change it at any time."""
    owner = os.fstat(descriptor).st_uid
    if owner != os.geteuid():
        raise UserError(
            f"{path} belongs to another user ({owner}): nothing there will be touched",
            where=where,
            hint="use another directory, or run as that user",
        )


def _read_ledger(descriptor: int, path: Path, where: str) -> Ledger | None:
    try:
        handle = os.open(LEDGER, os.O_RDONLY | _FILE, dir_fd=descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(
            f"{path / LEDGER} is not what flatwater writes ({error.strerror}): nothing there will be touched",
            where=where,
            hint="move the folder, or use another directory",
        ) from None
    with os.fdopen(handle, "rb") as opened:
        _require_own(handle, path / LEDGER, where)
        try:
            return Ledger.model_validate_json(opened.read())
        except (OSError, ValidationError):
            raise UserError(
                f"{path / LEDGER} is damaged, or of a later flatwater: it is not known what in {path} flatwater made",
                where=where,
                hint="delete the folder if it is not needed, or use another directory",
            ) from None


def _save(descriptor: int, ledger: Ledger) -> None:
    write_atomic_at(descriptor, LEDGER, ledger.model_dump_json(), mode=0o600)


def _failed(path: Path, error: OSError, where: str) -> FlatwaterError:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return UserError(f"{path} is not writable", where=where, hint="choose a directory that you may write to")
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "make room there, or choose another directory" if full else None
    return FlatwaterError(f"cannot use {path}: {error.strerror}", where=where, hint=hint)
