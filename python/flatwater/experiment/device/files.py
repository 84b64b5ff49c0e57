"""The files of devices: where they are, what their tables say, those that they are based on below them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.named_file import require_may_open
from flatwater.experiment.parse import Tables, expanded, parse_toml, read_text
from flatwater.experiment.problem import quote
from flatwater.spelling import nearest, suggest

#: A device that is based on one that is based on one, ...: longer chains are a circle.
_LONGEST_CHAIN = 8
#: What a file says of itself rather than of the device: needs no source.
NO_FIGURES = ("kind", "title", "about", "base", "sources")
#: A part of a name that more devices have than these says nothing.
_HOLDING_MAX = 4
_HINT_DEVICES = "`flatwater list --devices` shows all of them; a file of your own is given by its path (./card.toml)"


def devices_dir() -> Path:
    """Where the devices are: `devices/` of the package, to which the source tree's `devices` leads too."""
    place = Path(__file__).parents[2] / "devices"
    if not place.is_dir():
        raise FlatwaterError("the modelled devices are missing", hint="reinstall flatwater")
    return place


def device_files() -> dict[str, Path]:
    """Name -> file of every device that comes with flatwater, by name."""
    place = devices_dir()
    return dict(_files_in(place, place.stat().st_mtime_ns))


@lru_cache(maxsize=4)
def _files_in(place: Path, changed_ns: int) -> dict[str, Path]:
    """`changed_ns` only makes a folder that was changed another key: every cell of a sweep asks for its device."""
    return {path.stem: path for path in sorted(place.glob("*.toml"))}


def find_device(written: str) -> Path:
    """The file that a name of `devices/`, or a path, means. Raises UserError, with the nearest name as its hint."""
    path = expanded(written)
    if "/" in written or written.endswith(".toml"):
        require_may_open(path)
        try:
            if path.is_file():
                return path
            there = path.exists()
        except (OSError, ValueError) as error:  # not permitted, too long, a NUL inside
            reason = error.strerror if isinstance(error, OSError) else error
            raise UserError(f"{written} cannot be read: {reason}", where="storage.device") from None
        siblings = {other.stem: str(other) for other in path.parent.glob("*.toml")} if path.parent.is_dir() else {}
        stem = nearest(path.stem, siblings)
        close = siblings[stem] if stem is not None else nearest(path.stem, device_files())
        what = f"{written} is not a file" if there else f"there is no file {written}"
        hint = f"did you mean {close}?" if close else "`flatwater list --devices` shows those that have a name"
        raise UserError(what, where="storage.device", hint=hint)
    files = device_files()
    if written in files:
        return files[written]
    hint = suggest(written, list(files))
    if not hint.startswith("did you mean"):
        holding = [name for name in files if written.strip() and written.strip().casefold() in name]
        hint = f"did you mean {' or '.join(holding)}?" if 0 < len(holding) <= _HOLDING_MAX else _HINT_DEVICES
    raise UserError(f"there is no device {quote(written)}", where="storage.device", hint=hint)


def stamps_of(path: Path) -> tuple[tuple[int, int], ...]:
    """Size and time of change of a device's file and of those that it is based on."""
    stamps = []
    for one in [path, *_bases(path)]:
        told = one.stat()
        stamps.append((told.st_size, told.st_mtime_ns))
    return tuple(stamps)


def _bases(path: Path) -> Iterator[Path]:
    """The files that a device's file is based on, nearest first."""
    for _ in range(_LONGEST_CHAIN):
        base = _parsed(path).get("base")
        if base is None:
            return
        if not isinstance(base, str):
            raise UserError(f"base: must be the name of a device, not {quote(base)}", where=str(path))
        # A path is meant as it stands in the file that says it.
        written = str(path.parent / base) if "/" in base or base.endswith(".toml") else base
        try:
            path = find_device(written)
        except UserError as error:
            raise UserError(f"base: {error.what}", where=str(path), hint=error.hint) from None
        yield path
    raise UserError("base: is based on itself in the end", where=str(path))


def _parsed(path: Path) -> Tables:
    told = path.stat()
    return _parse(path, told.st_size, told.st_mtime_ns)


@lru_cache(maxsize=64)
def _parse(path: Path, size: int, changed_ns: int) -> Tables:
    return parse_toml(path, read_text(path, "a device's file"))


def read_tables(path: Path) -> Tables:
    """The tables of a device's file, those of its bases below them; a copy. Errors: UserError."""
    data: Tables = {}
    for one in reversed([path, *_bases(path)]):
        data = _merged(data, _parsed(one))
    data.pop("base", None)
    return copy.deepcopy(data)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Tables:
    merged = dict(below)
    for name, value in above.items():
        inner = merged.get(name)
        merged[name] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged


def unsourced(path: Path) -> list[str]:
    """Dotted names of the figures in a device's file for which `[sources]` has nothing: not for the figure, nor for
    its table. What it takes over from its base has its source there.
    """
    own = _parsed(path)
    sources = read_tables(path).get("sources", {})
    known = set(sources) if isinstance(sources, dict) else set()
    return [name for name in _leaves(own) if not any(name == one or name.startswith(f"{one}.") for one in known)]


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in table.items():
        if not prefix and name in NO_FIGURES:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
