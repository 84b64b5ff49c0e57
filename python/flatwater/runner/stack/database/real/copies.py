"""The data directories that a cell's servers work on, kept for a resumed run until the cell is over.

A copy and the cell that it is of know each other by a token: `copy.json` is beside the data directory, `servers.json`
beside the cell's journal. So a result may be moved, and what another result still needs is not taken for rubbish.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flatwater.errors import FlatwaterError
from flatwater.owned import write_atomic
from flatwater.server import Binary, ServersRoot

#: Beside a data directory: of which cell it is.
COPY = "copy.json"
#: Beside a cell's journal: on which copies it stands, or on which server.
SERVERS = "servers.json"


@dataclass(frozen=True)
class Copy:
    """What is known of one server's data directory."""

    token: str
    #: The server's number, and of how many.
    instance: int
    instances: int
    flavour: str
    version: str
    #: How the data came from the snapshot: `reflink` or `copy`.
    data: str
    #: The cell's folder, when the copy was made.
    cell: str

    def server(self) -> tuple[str, str]:
        """What must be the same program."""
        return self.flavour, self.version


def new_token() -> str:
    """A name that no other cell's copies have."""
    return secrets.token_hex(6)


def name_of(token: str, cell: int, instance: int) -> str:
    """The name of a server's folder below `run/`."""
    return f"{token}-{cell:04}-{instance}"


def keep_token(folder: Path, token: str, server: str = "") -> None:
    """Writes into a cell's folder on which copies it stands, or (`server`) on which server that runs already.

    Errors: FlatwaterError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / SERVERS, json.dumps({"token": token, "server": server}))
    except OSError as error:
        what = f"cannot write {folder}: {error.strerror}"
        raise FlatwaterError(what, where="--out", hint="make room there") from None


def kept_token(folder: Path) -> tuple[str, str]:
    """What `keep_token` wrote; empty texts where it did not."""
    found = _json(folder / SERVERS)
    token, server = found.get("token"), found.get("server")
    return (token if isinstance(token, str) else ""), (server if isinstance(server, str) else "")


def write_copy(folder: Path, copy: Copy) -> None:
    """Writes into a server's folder of which cell it is. Errors: FlatwaterError."""
    try:
        write_atomic(folder / COPY, json.dumps(asdict(copy), indent=1))
    except OSError as error:
        raise FlatwaterError(f"cannot write {folder / COPY}: {error.strerror}", where="storage.path") from None


def read_copy(folder: Path) -> Copy | None:
    """What is known of a server's folder; None if it has no whole data directory of a cell."""
    found = _json(folder / COPY)
    try:
        copy = Copy(**found)
    except TypeError:
        return None
    return copy if (folder / "data").is_dir() and isinstance(copy.cell, str) else None


def find_copies(root: ServersRoot, token: str, cell: int, instances: int) -> list[Copy | None]:
    """The copies of a cell by the number of their server; None for each that is gone."""
    there, names = root.runs(), [name_of(token, cell, number) for number in range(instances)]
    found = [read_copy(root.run_path(name)) if name in there else None for name in names]
    return [copy if copy is not None and copy.token == token else None for copy in found]


def why_not(copies: Sequence[Copy | None], binary: Binary, place: Path) -> str | None:
    """Why servers cannot go on with copies; None if they can."""
    gone = sum(copy is None for copy in copies)
    if gone:
        several = f"{gone} of its {len(copies)} data directories are"
        which = "its data directory is" if len(copies) == 1 else several
        return f"{which} gone from {place}"
    for copy in copies:
        if copy is not None and copy.server() != (binary.flavour, binary.version_text):
            return f"its server was {copy.flavour} {copy.version}, and this is {binary.flavour} {binary.version_text}"
    return None


def sort_out(root: ServersRoot, own: str) -> tuple[list[str], list[str]]:
    """What earlier runs left below `run/`: names that nobody needs, and what to tell of the others. `own` is the token
    that is in use.
    """
    rubbish, told = [], []
    for name in root.runs():
        folder = root.run_path(name)
        copy = read_copy(folder)
        if copy is not None and copy.token == own:
            continue
        reason = _why_needed(copy) if copy is not None else None
        if reason is None:
            rubbish.append(name)
        else:
            told.append(f"{folder} is left alone: {reason}")
    return rubbish, told


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


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
