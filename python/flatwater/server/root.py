"""flatwater's own folder under the experiment's storage. flatwater touches nothing else there.

<storage.path>/flatwater-servers/
    snapshots/KEY/   loaded data directories, each with a description of its content
    loading/KEY/     a data directory that is being loaded, or whose loading was stopped
    run/NAME/        the servers of the cell that runs now

and under each other storage that parts of the servers are placed on (`database.storages`):

<path>/flatwater-parts/
    run/NAME/        the parts of the servers of the cell that runs now

Each of them is a `Folder`, whose ledger lists what flatwater made in it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path
from types import TracebackType

from flatwater.errors import UserError
from flatwater.experiment.database.option_line import value_of_line
from flatwater.owned import Folder
from flatwater.owned.mounted import require_no_data_directory, require_no_device_folder
from flatwater.server.access import FOLDER_FILES, FOLDER_NAME
from flatwater.server.leftover import end_leftovers

NAME = "flatwater-servers"
PARTS = "flatwater-parts"
#: The file by which older versions recognised their folder. It is no proof: a copy of the folder has it, too.
_OLD_MANIFEST = f"{NAME}.json"
_WHERE = "storage.path"


class Root:
    """A folder with the servers of a cell, or with their parts. It is locked: one run at a time uses it."""

    def __init__(self, folder: Folder, run: Folder) -> None:
        self.path = folder.path
        self._folder = folder
        self._run = run

    def run_folder(self, name: str) -> Path:
        """An empty folder for one server of the cell that runs. What an earlier run left there is deleted."""
        assert re.fullmatch(r"[\w.-]+", name)
        self._run.remove(name)
        return self._run.make_folder(name)

    def run_path(self, name: str) -> Path:
        """The folder of a server of a cell, whether it exists or not."""
        return self._run.path_of(name)

    def runs(self) -> list[str]:
        """Names of the servers that earlier runs left. Errors: UserError if one of the folders was replaced."""
        return [name for name in self._run.names() if self._run.holds(name)]

    def remove_run(self, name: str) -> None:
        """Deletes the folder of a server, if it exists. Errors: UserError if flatwater did not make it."""
        self._run.remove(name)

    def close(self) -> None:
        """Unlocks the folder for other runs."""
        for folder in (self._run, self._folder):
            folder.close()


class ServersRoot(Root):
    """The folder under the storage of the data."""

    def __init__(self, folder: Folder, snapshots: Folder, loading: Folder, run: Folder) -> None:
        super().__init__(folder, run)
        #: Where finished snapshots are.
        self.snapshots = snapshots
        #: Where unfinished ones are.
        self.loading = loading

    def close(self) -> None:
        for folder in (self.snapshots, self.loading):
            folder.close()
        super().close()

    def __enter__(self) -> ServersRoot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_root(storage: Path) -> ServersRoot:
    """Makes or opens the folder under the directory `storage`, and locks it.

    Errors: UserError at storage.path if the directory is missing or not writable, if a folder of that name is not
    flatwater's, or if another run uses it.
    """
    storage = storage.absolute()
    _check_storage(storage, _WHERE)
    path = storage / NAME
    if (path / _OLD_MANIFEST).exists():
        raise UserError(
            f"{path} was made by an older flatwater, which left nothing that proves it: it will not be touched",
            where=_WHERE,
            hint="delete it (its snapshots are loaded anew), or use another directory",
        )
    with contextlib.ExitStack() as undo:
        folder = Folder.open(path, where=_WHERE)
        undo.callback(folder.close)
        folder.lock()
        inner = []
        for name in ("snapshots", "loading", "run"):
            inner.append(Folder.open(path / name, where=_WHERE))
            undo.callback(inner[-1].close)
        _, *filled = inner
        end_leftovers([one.path_of(name) for one in filled for name in one.names() if _is_held(one, name)])
        undo.pop_all()
    for option_file in (*path.glob("run/*/my.cnf"), *path.glob("loading/*/my.cnf")):
        _remove_socket_folder(option_file)
    return ServersRoot(folder, *inner)


def _is_held(folder: Folder, name: str) -> bool:
    """Whether flatwater made what has this name there now."""
    try:
        return folder.holds(name)
    except UserError:
        return False


def open_parts(storage: Path, where: str) -> Root:
    """Makes or opens the folder for parts of servers under a directory, and locks it; `where` is the user's field.

    Errors: as of `open_root`.
    """
    storage = storage.absolute()
    _check_storage(storage, where)
    with contextlib.ExitStack() as undo:
        folder = Folder.open(storage / PARTS, where=where)
        undo.callback(folder.close)
        folder.lock()
        run = Folder.open(folder.path / "run", where=where)
        undo.pop_all()
    return Root(folder, run)


def _remove_socket_folder(option_file: Path) -> None:
    """Deletes the private folder of a server whose flatwater was killed. The password may still be in it."""
    with contextlib.suppress(OSError, ValueError):
        lines = os.fsdecode(option_file.read_bytes()).split("\n")
        said = value_of_line(next((line for line in lines if line.startswith("socket = ")), ""))
        folder = Path(said).parent if said.startswith("/") else Path()
        info = folder.lstat()
        # Only a folder as `Access` makes it may be deleted.
        if stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and FOLDER_NAME.fullmatch(folder.name):
            for name in FOLDER_FILES:
                (folder / name).unlink(missing_ok=True)
            folder.rmdir()


def _check_storage(storage: Path, where: str) -> None:
    try:
        mode = storage.stat().st_mode
    except FileNotFoundError:
        raise UserError(f"{storage} does not exist", where=where, hint=f"mkdir -p {storage}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot use {storage}: {getattr(error, 'strerror', None) or error}", where=where) from None
    if not stat.S_ISDIR(mode):
        raise UserError(
            f"{storage} is not a directory: a database server needs one", where=where, hint="give a directory"
        )
    if any(ord(character) < 32 for character in str(storage)):
        what = "the path has a line end or another control character, which no server's option file can hold"
        raise UserError(what, where=where, hint="use another directory")
    for sign, name, variable in ((":", "colon", "tmpdir"), (";", "semicolon", "innodb_directories")):
        if sign in str(storage):
            what = f"the path has a {name}, and a server takes it for several directories (its {variable})"
            raise UserError(what, where=where, hint="use another directory")
    require_no_device_folder(storage, where)
    require_no_data_directory(storage, where)
