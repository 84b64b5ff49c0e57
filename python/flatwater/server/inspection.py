"""The snapshots below a storage directory: what each is, and whether it is sound. Nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import Folder, read_record
from flatwater.server.copying import tree_bytes
from flatwater.server.pages import is_data_file, page_fault
from flatwater.server.root import NAME
from flatwater.server.snapshot import RECORD, STATE, Shape, Snapshot, read_snapshot, strangers

State = Literal["sound", "damaged", "unfinished", "not flatwater's"]
#: A file that every data directory of InnoDB has.
_SYSTEM = "ibdata1"


@dataclass(frozen=True)
class Inspected:
    """One folder below `snapshots/` or `loading/`."""

    key: str
    folder: Path
    state: State
    #: None if its description cannot be read.
    shape: Shape | None
    #: Bytes that it occupies; None if they cannot be counted.
    size_bytes: int | None
    #: When it was loaded, seconds since the epoch; None if that is not known.
    made_at: float | None
    #: What is wrong with it, the first thing first.
    faults: tuple[str, ...] = ()


def storage_of(path: Path) -> Path:
    """The storage directory of a path that may also be flatwater's own folder in it."""
    path = path.absolute()
    return path.parent if path.name == NAME else path


def inspect_snapshots(storage: Path, *, pages: bool = False, only: Sequence[str] = ()) -> list[Inspected]:
    """Every snapshot below a storage directory, and every load that was cut short, by key.

    `pages` reads the data files whole (of those with the keys `only`, if there are any); else only their lengths are
    compared. Errors: UserError if there is no such directory, or flatwater has no folder in it.
    """
    if not storage.is_dir():
        raise UserError("no such directory", where=str(storage), hint="give the storage.path of the experiment")
    found: list[Inspected] = []
    has_folder = False
    for inner in ("snapshots", "loading"):
        folder = Folder.find(storage / NAME / inner, where="storage.path") if (storage / NAME).is_dir() else None
        if folder is None:
            continue
        has_folder = True
        try:
            for key in folder.names():
                one = _inspect(folder, key, inner, pages=pages and (not only or key in only))
                found += [one] if one is not None else []
        finally:
            folder.close()
    if not has_folder:
        raise UserError(
            "there are no snapshots of flatwater", where=str(storage), hint="give the storage.path of the experiment"
        )
    return sorted(found, key=lambda one: (one.key, one.state))


def snapshot_fault(snapshot: Snapshot) -> str | None:
    """What is wrong with the files of a snapshot, as far as their lengths show it; None if nothing is."""
    return next(iter(_length_faults(snapshot.folder)), None)


def _inspect(folder: Folder, key: str, inner: str, *, pages: bool) -> Inspected | None:
    path = folder.path_of(key)
    try:
        if not folder.holds(key):
            return None
    except UserError as error:
        return Inspected(key, path, "not flatwater's", None, None, None, (error.what,))
    finished = inner == "snapshots"
    snapshot = read_snapshot(path) if finished else None
    faults: Sequence[str] = ()
    if finished:
        faults = _faults(path, snapshot, pages=pages)
    state: State = "unfinished" if not finished else "damaged" if faults else "sound"
    shape = snapshot.shape if snapshot is not None else None
    return Inspected(key, path, state, shape, _bytes(path), _made_at(path, finished), tuple(faults))


def _faults(folder: Path, snapshot: Snapshot | None, *, pages: bool) -> list[str]:
    if not (folder / "data").is_dir():
        return ["its data directory is missing"]
    found = [] if snapshot is not None else [f"{RECORD} is missing or damaged"]
    found += _length_faults(folder)
    found += [f"{path} was not made by flatwater: move it away" for path in strangers(folder)]
    return found or (_page_faults(folder / "data") if pages else [])


def _length_faults(folder: Path) -> list[str]:
    """Files that are missing, or have another length than when the snapshot was made."""
    data = folder / "data"
    recorded = read_record(folder / RECORD).get("files", {})
    if not isinstance(recorded, dict):
        return [f"{RECORD} is missing or damaged"]
    expected = {name: size for name, size in recorded.items() if isinstance(size, int)}
    found = []
    for name in expected or (_SYSTEM,):
        try:
            size = (data / name).stat().st_size
        except OSError as error:
            found.append(f"data/{name}: {(error.strerror or str(error)).lower()}")
            continue
        if name in expected and size != expected[name]:
            found.append(f"data/{name} has {size:,} bytes, and had {expected[name]:,}")
        elif not size and not expected:
            found.append(f"data/{name} is empty")
    return found


def _page_faults(data: Path) -> list[str]:
    found = []
    for path in sorted(data.rglob("*")):
        if not is_data_file(path) or path.is_symlink() or not path.is_file():
            continue
        try:
            fault = page_fault(path)
        except OSError as error:
            fault = f"cannot be read: {error.strerror}"
        if fault is not None:
            found.append(f"data/{path.relative_to(data)} {fault}")
    return found


def _bytes(folder: Path) -> int | None:
    try:
        return tree_bytes(folder)
    except (OSError, FlatwaterError):
        return None


def _made_at(folder: Path, finished: bool) -> float | None:
    for name in (RECORD if finished else STATE, "data"):
        try:
            return (folder / name).stat().st_mtime
        except OSError:
            continue
    return None
