"""What a served file is to the layer above: a file of its own, or a file system on it."""

from __future__ import annotations

from pathlib import Path

from flatwater.errors import UserError
from flatwater.experiment import Experiment, FileStorage, Server
from flatwater.runner.stack.layers.layer import Ground
from flatwater.runner.stack.served.volume import require_file_system
from flatwater.server import find_server

#: A server needs a file system; this one if none is asked for.
_FILE_SYSTEM_OF_SERVERS = "ext4"

#: The file of our folder that says which file system is on the content.
MADE = "file-system"

#: Why a cell cannot go on with what an earlier run left on a served file.
GONE = "the device that was served for it is gone, with the state that it was in"


def has_server(cell: Experiment) -> bool:
    """Whether a server stands on the served file. What it has loaded is kept for the next cell."""
    return isinstance(cell.database, Server)


def file_system_of(cell: Experiment) -> str | None:
    """The file system that a cell has on its served file; None if the workload uses the file itself."""
    asked = getattr(cell.storage, "file_system", None)
    return asked or (_FILE_SYSTEM_OF_SERVERS if has_server(cell) else None)


def check_served(cell: Experiment, what: str, hint: str) -> None:
    """Whether a cell can use one served file, or a file system on it. Errors: UserError."""
    file_system = file_system_of(cell)
    if file_system is not None:
        require_file_system(file_system)
    elif cell.fileio.files != 1:
        told = f"{what} is one file, but workload.files = {cell.fileio.files}"
        raise UserError(told, where="workload.files", hint=hint)
    if isinstance(cell.database, Server):
        find_server(cell.database.binary)


def served_ground(cell: Experiment, file: Path, volume: Path, size_bytes: int) -> Ground:
    """The ground that a cell has on a served file: the file system that is mounted on `volume`, or the file itself."""
    file_system = file_system_of(cell)
    fields: dict[str, object] = {"kind": "file", "path": str(volume if file_system else file)}
    if not has_server(cell):
        fields |= {"size": size_bytes, "fill": cell.storage.fill, "overwrite": file_system is None}
    return Ground(FileStorage.model_validate(fields), lasts=False, is_device=file_system is None)
