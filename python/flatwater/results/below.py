"""The results in and below folders of the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.stored import exists
from flatwater.spelling import guessed_path

#: How many folders deep results are looked for: `results/all-20261122/fill-level` is three.
_DEPTH_MAX = 4


def results_below(paths: Sequence[Path]) -> tuple[list[Path], dict[str, str]]:
    """The result folders in and below each path, by name, each once; and why folders were not looked into.

    Links are not followed, hidden folders are passed over, and a result is not searched for others.

    Errors: UserError for a path that is no folder, or cannot be read.
    """
    found: dict[str, Path] = {}
    left_out: dict[str, str] = {}
    for path in paths:
        if not path.is_dir():
            hint = guessed_path(path) or "give a folder of results"
            raise UserError("is no folder" if exists(path) else "no such folder", where=str(path), hint=hint)
        for folder in _walk(path, left_out, 0):
            found.setdefault(os.path.realpath(folder), folder)
    return list(found.values()), left_out


def _walk(folder: Path, left_out: dict[str, str], depth: int) -> Iterator[Path]:
    if exists(folder / "flatwater.json"):
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(one.name for one in entries if one.name[0] != "." and one.is_dir(follow_symlinks=False))
    except OSError as error:
        if depth == 0:
            raise UserError(f"cannot be read: {error.strerror}", where=str(folder)) from None
        left_out[str(folder)] = f"cannot be read: {error.strerror}"
        return
    for name in names if depth < _DEPTH_MAX else ():
        yield from _walk(folder / name, left_out, depth + 1)
