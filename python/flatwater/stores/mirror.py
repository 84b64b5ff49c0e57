"""Results of a store, fetched into a temporary folder for whoever reads a folder. It is gone when the process ends."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.collection import INDEX
from flatwater.stores.address import Address, is_address, parse_address
from flatwater.stores.fetch import fetch_files, not_written, require_fits, write_file
from flatwater.stores.index import read_index
from flatwater.stores.names import UPLOADED, belongs, is_plain
from flatwater.stores.registry import open_store
from flatwater.stores.store import Missing, Store

#: Results are looked for so many folders deep below an address, as they are below a folder here.
DEPTH_MAX = 4
#: More objects below an address are not a place of results, or too many for one question.
OBJECTS_MAX = 100_000
_MANIFEST = "flatwater.json"


@dataclass
class Mirror:
    """What was fetched from an address."""

    address: Address
    #: The folder here that stands for the address.
    folder: Path
    #: Address of a result, or of an object -> why it is left out.
    left_out: dict[str, str] = field(default_factory=dict)


_MIRRORS: list[Mirror] = []


def local_copy(path: Path | str, wanted: Callable[[str], bool] = lambda _: True, *, several: bool = False) -> Mirror:
    """Fetches the wanted files of the result at an address; with `several`, of all results below it.

    Errors: UserError where there is no sound result; StoreGone; FlatwaterError on a full disk.
    """
    address = parse_address(path)
    store = open_store(address)
    try:
        top = Path(tempfile.mkdtemp(prefix="flatwater-"))
    except OSError as error:
        raise not_written(error, Path(tempfile.gettempdir())) from None
    mirror = Mirror(address, top / (address.prefix.rpartition("/")[2] or address.bucket))
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    try:
        mirror.folder.mkdir()
        if not fetch_result(store, address, mirror.folder, mirror.left_out, wanted):
            found = results_among((key for key, _ in _listed(store, address)), address, mirror.left_out)
            if not several or not found:
                raise _no_result(address, found)
            for name in found:
                _fetch_one_of_several(store, mirror, name, wanted)
    except OSError as error:
        raise not_written(error, top) from None
    _MIRRORS.append(mirror)
    return mirror


def readable(path: Path | str) -> Path:
    """A folder here for a path or an address; of an address, the whole result is fetched. Errors: see `local_copy`."""
    return local_copy(path).folder if is_address(path) else Path(path)


def is_mirror(path: Path) -> bool:
    """Whether a path is in a folder that stands for an address."""
    return any(path == mirror.folder or mirror.folder in path.parents for mirror in _MIRRORS)


def shown(path: Path | str) -> str:
    """A path as the user knows it: below an address, if it stands for one."""
    return told(str(path))


def behind(written: str) -> Path:
    """The folder of a path that was told by `shown`."""
    for mirror in _MIRRORS:
        if f"{written}/".startswith(f"{mirror.address}/"):
            return mirror.folder / written[len(str(mirror.address)) :].lstrip("/")
    return Path(written)


def told(text: str) -> str:
    """A text in which paths of temporary folders are the addresses that they stand for."""
    for mirror in _MIRRORS:
        text = text.replace(str(mirror.folder), str(mirror.address))
    return text


def _fetch_one_of_several(store: Store, mirror: Mirror, name: str, wanted: Callable[[str], bool]) -> None:
    """One that is damaged is left out, and the others are fetched."""
    address = mirror.address.below(name)
    try:
        (mirror.folder / name).mkdir(parents=True, exist_ok=True)
        fetch_result(store, address, mirror.folder / name, mirror.left_out, wanted)
    except UserError as error:
        mirror.left_out[str(address)] = error.what
        for manifest in (_MANIFEST, INDEX):
            (mirror.folder / name / manifest).unlink(missing_ok=True)


def fetch_result(
    store: Store, address: Address, folder: Path, left_out: dict[str, str], wanted: Callable[[str], bool]
) -> bool:
    """Fetches the result at an address, if there is one there: whether there is."""
    if not address.prefix:
        return False
    found = read_index(store, address)
    if found is not None:
        fetch_files(store, address, found[0], folder, wanted)
        return True
    if store.head(address.key(_MANIFEST)) is None:
        return False
    # Another tool has copied a result there: what it consists of is told by the names, and the sizes by the store.
    begin = len(address.key(""))
    for key, size in _listed(store, address):
        name = key[begin:]
        if belongs(name) and wanted(name):
            _fetch_unlisted(store, address, name, size, folder)
        elif not is_plain(name):
            left_out[f"{address}: {key!r}"] = "it has no name of a file"
    return True


def _fetch_unlisted(store: Store, address: Address, name: str, size: int, folder: Path) -> None:
    require_fits(name, size, address)
    try:
        write_file(folder, name, _no_more(store.pieces(address.key(name)), size))
    except Missing:
        raise UserError(f"{name} was deleted while it was read", where=str(address)) from None
    there = (folder / name).stat().st_size
    if there != size:
        came = f"more than {size:,}" if there > size else f"{there:,}"
        raise UserError(f"{name} has {size:,} B, and {came} B came", where=str(address), hint="try again")


def _no_more(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The pieces up to the first one that is more than the store has told: the rest would only fill the disk."""
    length = 0
    for piece in pieces:
        length += len(piece)
        yield piece
        if length > size:
            return


def results_among(keys: Iterable[str], address: Address, left_out: dict[str, str]) -> list[str]:
    """The results among the objects below an address, as names relative to it; none is searched for others."""
    begin = len(address.key(""))
    heads = set()
    for key in keys:
        name, _, file = key[begin:].rpartition("/")
        if file not in (UPLOADED, _MANIFEST, INDEX):
            continue
        if not is_plain(name):
            left_out[f"{address}: {key!r}"] = "it has no name of a file"
        elif name.count("/") < DEPTH_MAX:
            heads.add(name)
    return sorted(name for name in heads if heads.isdisjoint(_above(name)))


def _above(name: str) -> Iterator[str]:
    """The names of the folders that a name is in."""
    while name := name.rpartition("/")[0]:
        yield name


def _listed(store: Store, address: Address) -> list[tuple[str, int]]:
    found = store.names(address.key("") if address.prefix else "", OBJECTS_MAX)
    require_few(found, address)
    return found


def require_few(found: Sized, address: Address) -> None:
    """Errors: UserError for more objects than are looked through."""
    if len(found) >= OBJECTS_MAX:
        what = f"more than {OBJECTS_MAX:,} objects are below it"
        raise UserError(what, where=str(address), hint="give an address that is nearer to the results")


def _no_result(address: Address, found: list[str]) -> UserError:
    if found:
        hint = f"{len(found):,} are below it, such as {address.below(found[0])}; `flatwater ls {address}` lists all"
        return UserError("is no result", where=str(address), hint=hint)
    return UserError(
        "there is no result", where=str(address), hint="`flatwater ls s3://BUCKET` lists those of a bucket"
    )
