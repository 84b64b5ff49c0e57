"""The space that a cell's servers take below storage.path, estimated before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from flatwater.errors import UserError
from flatwater.experiment import Experiment
from flatwater.runner.stack.database.real.dataset import DATASET_VERSION, describe_dataset
from flatwater.runner.stack.database.size import estimate_bytes
from flatwater.server import Binary, loading_settings
from flatwater.server.copying import RESERVE_BYTES, free_bytes, shares_blocks, tree_bytes
from flatwater.server.root import ServersRoot
from flatwater.server.sizes import print_size, read_size
from flatwater.server.snapshot import Shape, find_snapshot

#: The default number of files of MySQL before 8.0.30 and MariaDB before 10.5, where the server tells none.
_LOG_FILES = 2


@dataclass(frozen=True)
class Space:
    """Bytes that one cell takes. What transactions add to the data while they run is not part of it."""

    #: Of the data set and of the redo log while it is loaded; 0 if the snapshot exists.
    data: int
    loading_redo: int
    #: Of the copies of the snapshot, one for each server; 0 where copies share its blocks.
    copies: int
    #: Of the redo logs of the servers, with the cell's own settings.
    redo: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.data + self.loading_redo + self.copies + self.redo

    @property
    def text(self) -> str:
        """What it consists of, in words."""
        parts = (
            ("data", self.data),
            ("redo log while loading", self.loading_redo),
            ("copies for the servers", self.copies),
            ("redo logs of the servers", self.redo),
        )
        return ", ".join(f"{name} {print_size(size)}" for name, size in parts if size)


def shape_of(cell: Experiment, binary: Binary, settings: Mapping[str, str]) -> Shape:
    """The properties that a snapshot must have for a cell."""
    return Shape.of(binary, describe_dataset(cell), settings, dataset_version=DATASET_VERSION)


def estimate_space(
    cell: Experiment, binary: Binary, settings: Mapping[str, str], root: ServersRoot, shape: Shape
) -> Space:
    """The space for a cell on servers that flatwater starts. `settings` are translated lines; `shape` is its data's."""
    servers = cell.server.instances
    size = estimate_bytes(cell)
    snapshot = find_snapshot(root, shape)
    if snapshot is not None:
        data, loading_redo, loaded = 0, 0, snapshot.size_bytes()
    else:
        lines = loading_settings(binary, memory_bytes=psutil.virtual_memory().total, data_bytes=size)
        data, loading_redo = size, redo_bytes(lines, binary)
        loaded = data + loading_redo
        # A load that was cut short has a part of it already.
        if root.loading.holds(shape.key):
            data = max(0, data - tree_bytes(root.loading.path_of(shape.key)))
    copies = 0 if shares_blocks(root.path) else servers * loaded
    # A redo log on another storage needs its room there (elsewhere.py).
    redo = servers * redo_bytes(settings, binary) if cell.server.placement.redo_log is None else 0
    return Space(data, loading_redo, copies, redo)


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


class SweepSpace:
    """The space for the cells of a sweep: all their data sets are loaded, and the servers of one cell run at a time."""

    def __init__(self) -> None:
        #: By data set, redo log and number of servers, so that a snapshot is not measured for each cell.
        self._spaces: dict[tuple[str, int, int, bool], Space] = {}

    def add(self, cell: Experiment, binary: Binary, settings: Mapping[str, str], root: ServersRoot) -> None:
        """Adds a cell."""
        shape = shape_of(cell, binary, settings)
        placed = cell.server.placement.redo_log is not None
        key = (shape.key, redo_bytes(settings, binary), cell.server.instances, placed)
        if key not in self._spaces:
            self._spaces[key] = estimate_space(cell, binary, settings, root, shape)

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
            ),
            free_bytes(folder),
        )
