"""The space that a cell's servers take on each of their storages, estimated before anything is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from flatwater.errors import UserError
from flatwater.experiment import Experiment
from flatwater.runner.stack.database.real.dataset import DATASET_VERSION, describe_dataset
from flatwater.runner.stack.database.real.elsewhere import placing_of
from flatwater.runner.stack.database.size import estimate_bytes, table_share
from flatwater.server import Binary, copied_bytes, loading_settings
from flatwater.server.copying import RESERVE_BYTES, free_bytes, shares_blocks, tree_bytes
from flatwater.server.root import ServersRoot
from flatwater.server.sizes import print_size, read_size
from flatwater.server.snapshot import Shape, find_snapshot

#: The default number of files of MySQL before 8.0.30 and MariaDB before 10.5, where the server tells none.
_LOG_FILES = 2


@dataclass(frozen=True)
class Elsewhere:
    """What a cell takes on one of its other storages: its directory, and bytes of the parts there."""

    place: Path
    bytes: int


@dataclass(frozen=True)
class Space:
    """Bytes that one cell takes, on the file system of its data where nothing else is said.

    What transactions add to the data while they run is not part of it.
    """

    #: Of the data set and of the redo log while it is loaded; 0 if the snapshot exists.
    data: int
    loading_redo: int
    #: Of the copies of the snapshot, one for each server; 0 where copies share its blocks.
    copies: int
    #: Of the redo logs of the servers, with the cell's own settings.
    redo: int
    #: Of the parts on other storages whose directories are on the same file system.
    beside: int = 0
    #: Of the parts on other storages, by their names: where else they are.
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All of it."""
        return self.data + self.loading_redo + self.copies + self.redo + self.beside

    @property
    def text(self) -> str:
        """What it consists of, in words."""
        parts = (
            ("data", self.data),
            ("redo log while loading", self.loading_redo),
            ("copies for the servers", self.copies),
            ("redo logs of the servers", self.redo),
            ("parts on other storages of the same file system", self.beside),
        )
        return ", ".join(f"{name} {print_size(size)}" for name, size in parts if size)


def shape_of(cell: Experiment, binary: Binary, settings: Mapping[str, str]) -> Shape:
    """The properties that a snapshot must have for a cell."""
    return Shape.of(binary, describe_dataset(cell), settings, dataset_version=DATASET_VERSION)


def estimate_space(
    cell: Experiment,
    binary: Binary,
    settings: Mapping[str, str],
    root: ServersRoot | None,
    shape: Shape,
    places: Mapping[str, Path],
) -> Space:
    """The space for a cell on servers that flatwater starts.

    `settings` are translated lines; `shape` is its data's; `root` is None if the data's storage does not exist yet;
    `places` are the directories of its other storages, as far as they exist, by their names. Errors: UserError for a
    placed table that the snapshot of the data does not have.
    """
    servers, placing = cell.server.instances, placing_of(cell)
    size = estimate_bytes(cell)
    snapshot = find_snapshot(root, shape) if root is not None else None
    if snapshot is not None:
        data, loading_redo = 0, 0
        own, placed = copied_bytes(snapshot, placing, cell.schema_name)
    else:
        lines = loading_settings(binary, memory_bytes=psutil.virtual_memory().total, data_bytes=size)
        data, loading_redo = size, redo_bytes(lines, binary)
        placed = dict.fromkeys(placing.storages, 0)
        for table, name in placing.tables.items():
            placed[name] += round(size * table_share(cell, table))
        own = max(0, size - sum(placed.values())) + (0 if "redo_log" in placing.items else loading_redo)
        # A load that was cut short has a part of it already.
        if root is not None and root.loading.holds(shape.key):
            data = max(0, data - tree_bytes(root.loading.path_of(shape.key)))
    redo = servers * redo_bytes(settings, binary)
    device = root.path.stat().st_dev if root is not None else None
    shares = root is not None and shares_blocks(root.path)
    beside, elsewhere = 0, dict[str, Elsewhere]()
    for name, place in places.items():
        if name not in placed or not place.is_dir():
            continue
        here = place.stat().st_dev == device
        needed = 0 if here and shares else servers * placed[name]
        needed += redo if placing.items.get("redo_log") == name else 0
        if here:
            beside += needed
        else:
            elsewhere[name] = Elsewhere(place, needed)
    copies = 0 if shares else servers * own
    return Space(data, loading_redo, copies, 0 if "redo_log" in placing.items else redo, beside, elsewhere)


def redo_bytes(lines: Mapping[str, str], binary: Binary) -> int:
    """The size of the redo log of a server with these lines in its option file."""
    told = {**binary.options(), **lines}

    def size(name: str) -> int:
        return read_size(told.get(name, "")) or 0

    if capacity := size("innodb_redo_log_capacity"):
        return capacity
    files = size("innodb_log_files_in_group") or (1 if "innodb_log_files_in_group" not in told else _LOG_FILES)
    return files * size("innodb_log_file_size")


def require_space(folder: Path, space: Space, free: int) -> None:
    """Raises UserError if a cell does not fit into the free space of its file system."""
    if space.total + RESERVE_BYTES > free:
        raise UserError(
            f"the run needs about {print_size(space.total)} in {folder} ({space.text}), and {print_size(free)} "
            f"are free, of which {print_size(RESERVE_BYTES)} are left alone",
            where="storage.path",
            hint="make room (flatwater snapshots list DIR shows what can go), a smaller workload, or another directory",
        )


def require_space_elsewhere(space: Space) -> None:
    """Raises UserError if the parts on other storages do not fit into the free space of their file systems."""
    for name, own in space.elsewhere.items():
        device = own.place.stat().st_dev
        same = [other for other in space.elsewhere.values() if other.place.stat().st_dev == device]
        needed, free = sum(other.bytes for other in same), free_bytes(own.place)
        if needed + RESERVE_BYTES > free:
            with_others = " (with those of other storages on the same file system)" if len(same) > 1 else ""
            raise UserError(
                f"the parts of the servers there need about {print_size(needed)}{with_others}, and "
                f"{print_size(free)} are free in {own.place}, of which {print_size(RESERVE_BYTES)} are left alone",
                where=f"database.storages.{name}.path",
                hint="make room, place less there, a smaller redo log or workload, or another directory",
            )


class SweepSpace:
    """The space for the cells of a sweep: all their data sets are loaded, and the servers of one cell run at a time."""

    def __init__(self) -> None:
        #: By data set, redo log, number of servers and placement, so that a snapshot is not measured for each cell.
        self._spaces: dict[tuple[str, int, int, str], Space] = {}

    def add(
        self,
        cell: Experiment,
        binary: Binary,
        settings: Mapping[str, str],
        root: ServersRoot | None,
        places: Mapping[str, Path],
    ) -> None:
        """Adds a cell (arguments as of `estimate_space`). Errors: UserError if its parts do not fit elsewhere."""
        shape = shape_of(cell, binary, settings)
        placed = json.dumps([cell.server.placement.said, {name: str(place) for name, place in places.items()}])
        key = (shape.key, redo_bytes(settings, binary), cell.server.instances, placed)
        if key not in self._spaces:
            self._spaces[key] = space = estimate_space(cell, binary, settings, root, shape, places)
            require_space_elsewhere(space)

    def require(self, folder: Path) -> None:
        """Raises UserError if the cells do not fit below `folder`."""
        if not self._spaces:
            return
        loads = {shape: space for (shape, _, _, _), space in self._spaces.items()}
        require_space(
            folder,
            Space(
                sum(space.data for space in loads.values()),
                sum(space.loading_redo for space in loads.values()),
                max(space.copies for space in self._spaces.values()),
                max(space.redo for space in self._spaces.values()),
                max(space.beside for space in self._spaces.values()),
            ),
            free_bytes(folder),
        )
