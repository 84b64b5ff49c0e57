"""The results in the served folders."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flatwater.catalogue.find import walk
from flatwater.errors import UserError
from flatwater.results.tags import TAGS

#: Folders that are looked into at most, below each that is served: somebody may serve a whole disk.
FOLDERS_MAX = 200_000
#: The files whose change makes a result another one.
STAMPED = ("flatwater.json", "summary.json", TAGS)

#: Time of the last change and size of each of the stamped files; zeros for one that is missing.
Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Place:
    """A folder that may be a result."""

    #: Its path, as text: ten thousand are looked at at once.
    folder: str
    #: Its path below the served folder.
    name: str
    stamp: Stamp

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    @property
    def key(self) -> str:
        """What names it in an address: nothing of the path can be read from it, and no address becomes a path."""
        return key_of(self.folder)


def key_of(path: Path | str) -> str:
    """The key of a folder."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def find_results(roots: Sequence[Path]) -> Iterator[Place]:
    """The results in and below the served folders, each once and with a name of its own. `roots` are absolute.

    What cannot be looked into is left out.
    """
    folders: set[str] = set()
    names: set[str] = set()
    for root, name_of_root in _told_apart(roots):
        prefix = f"{name_of_root}/" if len(roots) > 1 else ""
        for found in walk(str(root), lambda below, error: None, FOLDERS_MAX):
            if found == ".":
                folder, name = str(root), name_of_root
            else:
                folder, name = f"{root}/{found}", f"{prefix}{found}"
            if folder not in folders:
                name = folder if name in names else name
                folders.add(folder)
                names.add(name)
                yield Place(folder, name, _stamp(folder))


def why_unseen(root: Path) -> str:
    """Why a served folder cannot be looked into; empty if it can be."""
    try:
        with os.scandir(root):
            return ""
    except FileNotFoundError:
        return "is gone"
    except OSError as error:
        return f"cannot be looked into: {error.strerror}"


def _told_apart(roots: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each folder once, with the shortest end of its path that no other one has."""
    once = list(dict.fromkeys(roots))
    ends = {root: ["/".join(root.parts[-count:]) for count in range(1, len(root.parts))] for root in once}
    taken = Counter(end for root in once for end in ends[root])
    return [(root, next((end for end in ends[root] if taken[end] == 1), str(root))) for root in once]


def require_no_links(folder: Path) -> None:
    """Refuses a result in which a link may lead to what is no result: to a file of its user, which would be shown.

    Looked at are its own files, and those that its servers told, to say so in the list. No reader follows a link that
    comes later, or that is elsewhere in the result (`results/foreign.py`).

    Errors: UserError.
    """
    for one in (folder, folder / "servers"):
        for path in _entries(one, deep=one is not folder):
            if os.path.islink(path):  # noqa: PTH114 (False where nobody may look, and then nobody can read it)
                what = f"{path.relative_to(folder)} is a link, and no file of the result"
                raise UserError(what, where=str(folder), hint="put the file itself there")


def _entries(folder: Path, *, deep: bool) -> Iterator[Path]:
    with suppress(OSError):
        yield from folder.rglob("*") if deep else folder.iterdir()


def stamp_of(path: Path) -> Stamp:
    """The stamp of a folder as it is now."""
    return _stamp(str(path))


def _stamp(folder: str) -> Stamp:
    found = []
    for name in STAMPED:
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116 - thirty thousand of them
            found.append((status.st_mtime_ns, status.st_size))
        except (OSError, ValueError):
            found.append((0, 0))
    return tuple(found)
