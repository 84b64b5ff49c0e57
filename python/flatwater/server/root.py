"""flatwater's own folder under the experiment's storage: nothing else there is ever touched.

<storage.path>/flatwater-servers/
    flatwater-servers.json    says that the folder is flatwater's
    snapshots/KEY/            data directories that are loaded, each with what it was made of
    loading/KEY/              one that is being loaded, or whose loading was stopped
    run/NAME/                 the servers of the cell that runs now
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
from pathlib import Path
from types import TracebackType

from flatwater.errors import FlatwaterError, UserError
from flatwater.results.folder import write_atomic
from flatwater.server.copying import remove_tree

NAME = "flatwater-servers"
_MANIFEST = f"{NAME}.json"
_KIND = "flatwater-servers"
#: What an `Instance` has in its private folder outside of this one.
SOCKET_FOLDER_FILES = ("mysql.sock", "mysql.sock.lock", "init.sql", "data")
#: Of the folder's layout; a folder of a later one is left alone.
_VERSION = 1
_WHERE = "storage.path"


class ServersRoot:
    """The folder, locked: one run at a time uses it."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @property
    def snapshots(self) -> Path:
        """Where finished snapshots are."""
        return self.path / "snapshots"

    @property
    def loading(self) -> Path:
        """Where unfinished ones are."""
        return self.path / "loading"

    def run_folder(self, name: str) -> Path:
        """The path of an empty place for one server of the cell that runs: what a run before left there is deleted."""
        assert re.fullmatch(r"[\w.-]+", name)
        folder = self.path / "run" / name
        if folder.exists():
            remove_tree(folder)
        return folder

    def clear_runs(self) -> None:
        """Deletes the servers of cells, as when a run ends; snapshots stay."""
        if (self.path / "run").exists():
            remove_tree(self.path / "run")

    def close(self) -> None:
        """Lets other runs use the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> ServersRoot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_root(storage: Path) -> ServersRoot:
    """Makes or opens the folder under the directory `storage`, and locks it.

    Errors: UserError at storage.path when the directory is missing or not writable, when a folder of that name is not
    flatwater's, or when another run uses it.
    """
    storage = storage.absolute()
    _check_storage(storage)
    path = storage / NAME
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise _unwritable(storage, error) from None
    _check_ours(path)
    try:
        # Not written anew once it is there: the lock is of this very file.
        if not (path / _MANIFEST).exists():
            write_atomic(path / _MANIFEST, json.dumps({"kind": _KIND, "version": _VERSION}))
        lock = os.open(path / _MANIFEST, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise UserError(
            f"another flatwater is using the servers in {path}",
            where=_WHERE,
            hint="wait for it, or use another directory",
        ) from None
    try:
        for folder in ("snapshots", "loading", "run"):
            (path / folder).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        os.close(lock)
        raise _unwritable(path, error) from None
    for option_file in (*path.glob("run/*/my.cnf"), *path.glob("loading/*/my.cnf")):
        _remove_socket_folder(option_file)
    return ServersRoot(path, lock)


def _remove_socket_folder(option_file: Path) -> None:
    """Deletes the private folder of a server whose flatwater was killed, with the password that may still be in it."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        said = re.search(r'^socket = "?(/[^"\n]*)"?$', option_file.read_text(), re.MULTILINE)
        folder = Path(said[1]).parent if said is not None else Path()
        info = folder.lstat()
        # As `Instance` makes them: nothing else is anybody's to delete.
        if stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and re.fullmatch(r"flatwater-\w{8}", folder.name):
            for name in SOCKET_FOLDER_FILES:
                (folder / name).unlink(missing_ok=True)
            folder.rmdir()


def _check_storage(storage: Path) -> None:
    try:
        mode = storage.stat().st_mode
    except FileNotFoundError:
        raise UserError(f"{storage} does not exist", where=_WHERE, hint=f"mkdir -p {storage}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot use {storage}: {getattr(error, 'strerror', None) or error}", where=_WHERE) from None
    if not stat.S_ISDIR(mode):
        raise UserError(
            f"{storage} is not a directory: a database server needs one", where=_WHERE, hint="give a directory"
        )


def _check_ours(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        raise UserError(
            f"{path} is in the way: it is not a folder", where=_WHERE, hint="move it, or use another directory"
        )
    if not (path / _MANIFEST).exists():
        if any(path.iterdir()):
            raise UserError(
                f"{path} was not made by flatwater: nothing in it will be touched",
                where=_WHERE,
                hint="move it, or use another directory",
            )
        return
    try:
        manifest = json.loads((path / _MANIFEST).read_text())
        kind, version = manifest.get("kind"), manifest.get("version")
    except (OSError, ValueError, AttributeError):
        kind, version = None, None
    if kind != _KIND or not isinstance(version, int):
        raise UserError(
            f"{path / _MANIFEST} is not what flatwater writes: nothing there will be touched",
            where=_WHERE,
            hint="move the folder, or use another directory",
        )
    if version > _VERSION:
        raise UserError(
            f"{path} was made by a later flatwater (layout {version})",
            where=_WHERE,
            hint="use that flatwater, or another directory",
        )


def _unwritable(path: Path, error: OSError) -> FlatwaterError:
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return UserError(f"{path} is not writable", where=_WHERE, hint="choose a directory that you may write to")
    return FlatwaterError(f"cannot use {path}: {error.strerror}", where=_WHERE)
