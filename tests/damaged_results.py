"""Results with one value changed in one of their small files: what a damaged or a hostile folder may hold."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILES = ("flatwater.json", "summary.json", "machine.json", "tags.json")
#: Half of a character, the wrong type, numbers that no column holds, a time before the year 1 in UTC.
VALUES: tuple[Any, ...] = ("\ud800", None, 1e308, float("nan"), 2**80, -1, [], {}, True, "0001-01-01T00:00:00+23:59")


def damaged(original: Path, folder: Path, values: tuple[Any, ...] = VALUES) -> list[str]:
    """Copies of a result below a folder, each with another leaf of a file replaced, in turn by each of the values."""
    names = []
    files = [file for file in FILES if (original / file).exists()]
    for file in files:
        told = json.loads((original / file).read_text())
        for number, place in enumerate(_leaves(told)):
            name = f"{file.removesuffix('.json')}-{number:04}"
            changed = copy.deepcopy(told)
            _put(changed, place, values[number % len(values)])
            (folder / name).mkdir(parents=True)
            for other in (*files, "experiment.toml"):
                shutil.copy(original / other, folder / name / other)
            (folder / name / file).write_text(json.dumps(changed))
            names.append(name)
    return names


def _leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = False
    for key, one in inner:
        found = True
        yield from _leaves(one, (*place, key))
    if not found:
        yield place


def _put(value: Any, place: tuple[Any, ...], new: Any) -> None:
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = new
