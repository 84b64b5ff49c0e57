"""Finding result folders below folders of the user's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.stored import exists
from flatwater.spelling import guessed_path
from flatwater.stores import shown

#: How many folders deep results are looked for below a given folder: `results/all-20261122/fill-level` is three.
DEPTH_MAX = 4
#: The file that makes a folder a result.
_MANIFEST = "flatwater.json"


@dataclass
class Place:
    """A folder that was given, and the results below it as paths relative to it; `.` is the folder itself."""

    path: Path
    found: list[str] = field(default_factory=list)
    #: Folders that could not be looked into, with the reason.
    left_out: dict[str, str] = field(default_factory=dict)

    def shown(self, run: str) -> str:
        """The path of a result as other commands take it."""
        return shown(os.path.normpath(self.path / run))


def find_results(paths: Sequence[Path]) -> list[Place]:
    """The results in and below each of the folders, by name. One that two of them lead to is in the first only.

    Links are not followed, hidden folders are passed over, and a result is not searched for others.

    Errors: UserError for a path that is no folder, or cannot be read.
    """
    seen: set[str] = set()
    places = []
    for path in paths:
        if not path.is_dir():
            there = exists(path)
            hint = "give a folder of results" if there else guessed_path(path) or "give a folder of results"
            raise UserError("this is no folder" if there else "no such folder", where=str(path), hint=hint)
        place = Place(path)
        top = os.path.realpath(path)
        for run in sorted(_walk(place)):
            real = os.path.normpath(f"{top}/{run}")
            try:
                place.shown(run).encode()
            except UnicodeEncodeError:
                place.left_out[place.shown(run)] = "its path is not UTF-8 text"
                continue
            if real not in seen:
                seen.add(real)
                place.found.append(run)
        places.append(place)
    return places


def _walk(place: Place) -> Iterator[str]:
    def unseen(below: str, error: OSError) -> None:
        if not below:
            raise UserError(f"cannot be read: {error.strerror}", where=str(place.path)) from None
        place.left_out[place.shown(below)] = f"cannot be read: {error.strerror}"

    return walk(str(place.path), unseen)


def walk(top: str, unseen: Callable[[str, OSError], None], folders_max: int | None = None) -> Iterator[str]:
    """The results in and below a folder, relative to it; `.` is the folder itself.

    `unseen` is told of folders that cannot be looked into. After `folders_max` folders, no more are looked into.
    """
    if _has_manifest(top):
        yield "."
        return
    waiting = [("", 1)]
    looked_into = 0
    while waiting and (folders_max is None or looked_into < folders_max):
        looked_into += 1
        below, depth = waiting.pop()
        try:
            with os.scandir(f"{top}/{below}") as entries:
                folders = [one.name for one in entries if one.name[0] != "." and one.is_dir(follow_symlinks=False)]
        except OSError as error:
            unseen(below, error)
            continue
        for name in folders:
            inner = f"{below}/{name}" if below else name
            if _has_manifest(f"{top}/{inner}"):
                yield inner
            elif depth < DEPTH_MAX:
                waiting.append((inner, depth + 1))


def _has_manifest(folder: str) -> bool:
    try:
        os.lstat(f"{folder}/{_MANIFEST}")
    except OSError:
        return False
    return True
