"""The data directories of a cell's servers. They are kept until the cell has finished, for a resumed run.

A token connects a copy and its cell: `copy.json` beside the data directory has it, and `servers.json` beside the cell's
journal. So a result folder can be moved, and the copies that another result needs are not deleted.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.owned import read_record, write_atomic
from flatwater.server import Binary, Root

#: The file beside a data directory that names its cell.
COPY = "copy.json"
#: The file beside a cell's journal that names its copies, or its server.
SERVERS = "servers.json"


@dataclass(frozen=True)
class Copy:
    """The record of one server's data directory."""

    token: str
    #: The number of the server, and the number of all servers.
    instance: int
    instances: int
    flavour: str
    version: str
    #: How the data came from the snapshot: `reflink` or `copy`.
    data: str
    #: The folder of the cell when the copy was made.
    cell: str

    def server(self) -> tuple[str, str]:
        """Flavour and version. A resumed cell needs the same."""
        return self.flavour, self.version


def new_token() -> str:
    """A new token, different from those of all other cells."""
    return secrets.token_hex(6)


def name_of(token: str, cell: int, instance: int) -> str:
    """The name of a server's folder below `run/`."""
    return f"{token}-{cell:04}-{instance}"


def keep_token(folder: Path, token: str, server: str = "") -> None:
    """Writes the token of its copies into a cell's folder, or (`server`) the identity of a server that it attached to.

    Errors: FlatwaterError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / SERVERS, json.dumps({"token": token, "server": server}))
    except OSError as error:
        what = f"cannot write {folder}: {error.strerror}"
        raise FlatwaterError(what, where="--out", hint="make room existing") from None


def kept_token(folder: Path) -> tuple[str, str]:
    """The texts that `keep_token` wrote; empty if it wrote none."""
    record = read_record(folder / SERVERS)
    token, server = record.get("token"), record.get("server")
    return (token if isinstance(token, str) else ""), (server if isinstance(server, str) else "")


def write_copy(folder: Path, copy: Copy) -> None:
    """Writes the record of a copy into the server's folder. Errors: FlatwaterError."""
    try:
        write_atomic(folder / COPY, json.dumps(asdict(copy), indent=1))
    except OSError as error:
        raise FlatwaterError(f"cannot write {folder / COPY}: {error.strerror}", where="storage.path") from None


def read_copy(folder: Path) -> Copy | None:
    """The record in a server's folder; None if the folder has no complete data directory."""
    record = read_record(folder / COPY)
    try:
        copy = Copy(**record)
    except TypeError:
        return None
    return copy if (folder / "data").is_dir() and isinstance(copy.cell, str) else None


def find_copies(root: Root, token: str, cell: int, instances: int) -> list[Copy | None]:
    """The copies of a cell, by the number of their server; None for each missing one."""
    existing, names = root.runs(), [name_of(token, cell, number) for number in range(instances)]
    record = [read_copy(root.run_path(name)) if name in existing else None for name in names]
    return [copy if copy is not None and copy.token == token else None for copy in record]


def why_not(copies: Sequence[Copy | None], binary: Binary, place: Path) -> str | None:
    """Why servers cannot continue on copies; None if they can."""
    gone = sum(copy is None for copy in copies)
    if gone:
        several = f"{gone} of its {len(copies)} data directories are"
        which = "its data directory is" if len(copies) == 1 else several
        return f"{which} gone from {place}"
    for copy in copies:
        if copy is not None and copy.server() != (binary.flavour, binary.version_text):
            return f"its server was {copy.flavour} {copy.version}, and this is {binary.flavour} {binary.version_text}"
    return None


def sort_out(root: Root, token: str) -> tuple[list[str], list[str]]:
    """Sorts what earlier runs left below `run/`: names that no run needs, and notes about the others. `token` is
    the one in use.
    """
    rubbish, notes = [], []
    for name in root.runs():
        folder = root.run_path(name)
        copy = read_copy(folder)
        if copy is not None and copy.token == token:
            continue
        reason = _why_needed(copy) if copy is not None else None
        if reason is None:
            rubbish.append(name)
        else:
            notes.append(f"{folder} is left alone: {reason}")
    return rubbish, notes


def _why_needed(copy: Copy) -> str | None:
    cell = Path(copy.cell)
    result = cell.parent.parent
    try:
        if not (result / "flatwater.json").exists():
            return f"it is of {result}, which is not there now; delete it if that result is gone for good"
        if kept_token(cell)[0] != copy.token:
            return None
    except OSError as error:
        return f"it is of {result}, which cannot be read ({error.strerror})"
    return f"a resumed run of {result} goes on with it"
