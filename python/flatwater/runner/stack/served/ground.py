"""The ground of a served file: the file itself, or a file system on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flatwater.errors import UserError
from flatwater.experiment import Experiment, FileStorage, Server
from flatwater.runner.stack.layers.layer import Ground
from flatwater.runner.stack.served.volume import require_file_system
from flatwater.server import server_of

#: Servers need a file system. This is the default.
_FILE_SYSTEM_OF_SERVERS = "ext4"

#: The file in flatwater's folder that names the file system on the content.
MADE = "file-system"

#: Why a cell on a served file cannot be resumed.
GONE = "the device that was served for it is gone, with the state that it was in"


def has_server(cell: Experiment) -> bool:
    """Whether a server uses the served file. Its loaded data are kept for the next cell."""
    return isinstance(cell.database, Server)


def file_system_of(cell: Experiment) -> str | None:
    """The file system on a cell's served file; None if the workload uses the file directly."""
    requested = getattr(cell.storage, "file_system", None)
    return requested or (_FILE_SYSTEM_OF_SERVERS if has_server(cell) else None)


def check_served(cell: Experiment, what: str, hint: str) -> None:
    """Checks that a cell can use one served file, or a file system on it. Errors: UserError."""
    file_system = file_system_of(cell)
    if file_system is not None:
        require_file_system(file_system)
    elif cell.fileio.files != 1:
        problem = f"{what} is one file, but workload.files = {cell.fileio.files}"
        raise UserError(problem, where="workload.files", hint=hint)
    if isinstance(cell.database, Server):
        server_of(cell)


def served_ground(
    cell: Experiment, file: Path, volume: Path, size_bytes: int, settle: Callable[[], None] = lambda: None
) -> Ground:
    """The ground of a cell on a served file: the file system that is mounted on `volume`, or the file itself."""
    file_system = file_system_of(cell)
    fields: dict[str, object] = {"kind": "file", "path": str(volume if file_system else file)}
    if not has_server(cell):
        fields |= {"size": size_bytes, "fill": cell.storage.fill, "overwrite": file_system is None}
    return Ground(FileStorage.model_validate(fields), lasts=False, is_device=file_system is None, settle=settle)
