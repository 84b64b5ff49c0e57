"""Snapshots: loaded data directories that are kept, so that every cell and every run starts from the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import Folder, is_random_name, read_record, write_atomic
from flatwater.server.binary import Binary
from flatwater.server.copying import (
    Copied,
    OnProgress,
    Stop,
    copy_tree,
    remove_tree,
    sync_folder,
    sync_tree,
    tree_bytes,
)
from flatwater.server.flavours import FLAVOURS, Version
from flatwater.server.root import NAME, ServersRoot
from flatwater.server.server_folder import INITIALISE_LOG
from flatwater.server.settings import shaping

#: Beside the data: what a snapshot is.
RECORD = "snapshot.json"
#: Beside the data: the boot in which an unfinished one was begun.
STATE = "loading.json"
_KEY_CHARACTERS = 16
#: How many files of somebody else a message names.
_NAMED = 3

# Files that a copy must not have, because they belong to one server or make a copy start warm: the list of pages to
# load into the buffer pool, the UUID, the process ID, temporary tables, the log of two-phase commits.
_PRIVATE = re.compile(
    r"ib_buffer_pool$|auto\.cnf$|.*\.pid$|ibtmp\d+$|#innodb_temp(/|$)|tc\.log$|.*\.sock(\.lock)?$|mysql_upgrade_info$"
)
_REDO = re.compile(r"ib_logfile\d+$")


@dataclass(frozen=True)
class Shape:
    """Everything that the bytes of a snapshot depend on.

    `dataset` describes the loaded data (JSON values: kind, scale, seed); `settings` are those that change the bytes on
    disk; `dataset_version` is raised when flatwater loads other data for the same description.
    """

    flavour: str
    version: Version
    version_text: str
    dataset: Mapping[str, JsonValue]
    dataset_version: int
    settings: Mapping[str, str]

    @classmethod
    def of(
        cls, binary: Binary, dataset: Mapping[str, JsonValue], settings: Mapping[str, str], *, dataset_version: int
    ) -> Shape:
        """The shape of a data set that a server loaded with these settings, of which only some matter."""
        return cls(
            binary.flavour, binary.version, binary.version_text, dict(dataset), dataset_version, shaping(settings)
        )

    def to_json(self) -> dict[str, object]:
        """The content of `snapshot.json`."""
        return {
            "flavour": self.flavour,
            "version": list(self.version),
            "version_text": self.version_text,
            "dataset": dict(self.dataset),
            "dataset_version": self.dataset_version,
            "settings": dict(self.settings),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Shape:
        """The shape in `snapshot.json`. Errors: KeyError, TypeError or ValueError if it is none."""
        major, minor, patch = found["version"]
        if found["flavour"] not in FLAVOURS:
            raise ValueError(found["flavour"])
        return cls(
            found["flavour"],
            (int(major), int(minor), int(patch)),
            str(found["version_text"]),
            dict(found["dataset"]),
            int(found["dataset_version"]),
            dict(found["settings"]),
        )

    @property
    def key(self) -> str:
        """The name of its folder. It is the same for the same shape, in whatever order its parts are given."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:_KEY_CHARACTERS]


@dataclass(frozen=True)
class Snapshot:
    """A data directory of a server that was stopped cleanly. It is copied, and never used itself."""

    shape: Shape
    folder: Path

    @property
    def key(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def data(self) -> Path:
        """The data directory. No server may be started in it: use `copy_to`."""
        return self.folder / "data"

    @property
    def error_log(self) -> Path:
        """The log of the server while it was loaded."""
        return self.folder / "error.log"

    def size_bytes(self) -> int:
        """Bytes that it occupies on its file system."""
        return tree_bytes(self.data)

    def tables(self) -> list[JsonValue]:
        """What `Loading.commit` was given of its tables; empty for one that an older flatwater made."""
        tables = read_record(self.folder / RECORD).get("tables")
        return tables if isinstance(tables, list) else []

    def copy_to(
        self,
        folder: Path,
        on_progress: OnProgress | None = None,
        stop: Stop | None = None,
        *,
        share: bool = True,
        leave_out: Callable[[str], bool] = lambda name: False,
    ) -> Copied:
        """Makes `folder` (an `Instance.data` that does not exist yet) a data directory like it.

        With `share`, blocks are shared if the file system can do that (reflink). This takes no time and no room; later,
        the first write of each block also allocates one. `leave_out` decides on further files that are not copied, by
        their paths below the data directory. Errors: as of `copy_tree`.
        """

        def left_out(name: str) -> bool:
            return self.leaves_out(name) or leave_out(name)

        return copy_tree(self.data, folder, leave_out=left_out, share=share, on_progress=on_progress, stop=stop)

    def leaves_out(self, name: str) -> bool:
        """Whether copies do not have a file, by its path below the data directory."""
        if _PRIVATE.match(name) is not None:
            return True
        return FLAVOURS[self.shape.flavour].makes_redo_anew(self.shape.version) and _REDO.match(name) is not None


@dataclass(frozen=True)
class Loading:
    """An unfinished snapshot, which an `Instance` in `folder` loads. `resumed`: an earlier run has loaded a part."""

    shape: Shape
    folder: Path
    resumed: bool
    root: ServersRoot

    def commit(self, tables: Sequence[Mapping[str, object]] = ()) -> Snapshot:
        """Makes it a snapshot, atomically. The server must have been stopped cleanly.

        `tables` is what that server said of the tables that it loaded; it is kept in the description. Errors:
        FlatwaterError if the file system fails.
        """
        try:
            for path in self.folder.iterdir():
                if path.name not in {"data", "error.log"}:
                    remove_tree(path) if path.is_dir() else path.unlink()
            record = {**self.shape.to_json(), "tables": [*tables], "files": _lengths(self.folder / "data")}
            write_atomic(self.folder / RECORD, json.dumps(record, indent=1))
            sync_tree(self.folder)
            self.root.loading.move(self.shape.key, self.root.snapshots, self.shape.key)
            for folder in (self.root.snapshots.path, self.root.loading.path):
                sync_folder(folder)
        except OSError as error:
            raise FlatwaterError(
                f"cannot keep the snapshot in {self.folder}: {error.strerror}", where="storage.path"
            ) from None
        return Snapshot(self.shape, self.root.snapshots.path_of(self.shape.key))

    def discard(self) -> Loading:
        """Deletes what was loaded so far, for example because it is damaged, and begins again."""
        self.root.loading.remove(self.shape.key)
        return open_loading(self.root, self.shape)


def find_snapshot(root: ServersRoot, shape: Shape) -> Snapshot | None:
    """The snapshot of this shape, if it exists. Errors: UserError if something else has its name."""
    if not root.snapshots.holds(shape.key):
        return None
    found = read_snapshot(root.snapshots.path_of(shape.key))
    return found if found is not None and found.shape == shape else None


def open_loading(root: ServersRoot, shape: Shape) -> Loading:
    """The folder in which to load a snapshot of this shape. It may have what a killed run left, if that is reliable.

    While loading, servers run without a doublewrite buffer and rarely sync. Their writes survive a crash of the server,
    but not of the machine. So a half-loaded directory from before the last boot is deleted.
    """
    folder = root.loading.path_of(shape.key)
    state = {"boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip()}
    if root.loading.holds(shape.key):
        # `Instance.initialise` deletes its log when it has finished.
        made = (folder / "data" / "ibdata1").exists() and not (folder / INITIALISE_LOG).exists()
        if made and read_record(folder / STATE) == state:
            return Loading(shape, folder, resumed=True, root=root)
        root.loading.remove(shape.key)
    root.loading.make_folder(shape.key)
    try:
        write_atomic(folder / STATE, json.dumps(state))
    except OSError as error:
        raise FlatwaterError(f"cannot write {folder}: {error.strerror}", where="storage.path") from None
    return Loading(shape, folder, resumed=False, root=root)


def list_snapshots(storage: Path) -> list[Snapshot]:
    """The snapshots under a storage directory, by key; none if flatwater has no folder there."""
    snapshots = Folder.find(storage / NAME / "snapshots", where="storage.path")
    if snapshots is None:
        return []
    try:
        found = [read_snapshot(snapshots.path_of(key)) for key in snapshots.names() if snapshots.holds(key)]
    finally:
        snapshots.close()
    return [snapshot for snapshot in found if snapshot is not None]


def remove_snapshot(root: ServersRoot, key: str) -> None:
    """Deletes a snapshot, or an unfinished one.

    Errors: UserError if there is neither, or if somebody else put something into it.
    """
    known = [
        folder for folder in (root.snapshots, root.loading) if re.fullmatch(r"[0-9a-f]+", key) and folder.holds(key)
    ]
    if not known:
        raise UserError(f"there is no snapshot {key!r} in {root.path}")
    if root.snapshots in known:
        require_no_strangers(root.snapshots.path_of(key))
    for folder in known:
        folder.require_removable(key)
    for folder in known:
        # The record is deleted first: after an interrupted deletion, the rest is not taken for a snapshot.
        with suppress(OSError):
            (folder.path_of(key) / RECORD).unlink()
        folder.remove(key)


def strangers(folder: Path) -> list[str]:
    """What somebody else put into the folder of a snapshot, by paths below it; nothing where that cannot be known.

    No server runs in a snapshot, so its files are those that it was made with.
    """
    record = folder / RECORD
    if os.path.lexists(record) and (record.is_symlink() or not record.is_file()):
        return [RECORD]
    made = read_record(record).get("files")
    if not isinstance(made, dict):
        return []
    own = {RECORD, "error.log", *(f"data/{name}" for name in made)}
    found = []
    for top, folders, names in os.walk(folder):
        here = Path(top)
        others = [*names, *(name for name in folders if (here / name).is_symlink())]
        paths = [str((here / name).relative_to(folder)) for name in others if not is_random_name(name)]
        found += [path for path in paths if path not in own]
    return sorted(found)


def require_no_strangers(folder: Path) -> None:
    """Errors: UserError if a deletion of the snapshot in this folder would destroy what flatwater did not make."""
    strange = strangers(folder)
    if strange:
        named = f"{', '.join(strange[:_NAMED])}{' and others' if len(strange) > _NAMED else ''}"
        what = f"flatwater did not make {named}: nothing is deleted"
        raise UserError(what, where=str(folder), hint="move it away")


def _lengths(data: Path) -> dict[str, int]:
    """The length of each file of a data directory: a snapshot whose files have others was damaged."""
    return {
        str(path.relative_to(data)): path.stat().st_size
        for path in sorted(data.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def read_snapshot(folder: Path) -> Snapshot | None:
    """The snapshot in a folder; None if it has no description, or no data."""
    found = read_record(folder / RECORD)
    if not (folder / "data").is_dir():
        return None
    try:
        shape = Shape.from_json(found)
    except (KeyError, TypeError, ValueError):
        return None
    return Snapshot(shape, folder) if shape.key == folder.name else None
