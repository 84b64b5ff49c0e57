"""From a device's name, or a path, to a checked device.

A device of `devices/` is known by its file's name. `base = "other"` takes over everything of another device that the
file does not say itself. `parameters` replace single figures by their dotted names, as an experiment's
`storage.parameters` do.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.device import KINDS
from flatwater.experiment.device.device import Device
from flatwater.experiment.device.parameters import TABLE
from flatwater.experiment.problem import Problem, Table, explain_error, quote
from flatwater.experiment.reading import parse_toml, read_text
from flatwater.spelling import nearest, suggest

#: A device that is based on one that is based on one, ...: longer chains are a circle.
_LONGEST_CHAIN = 8
#: What a file says of itself rather than of the device: needs no source.
_NO_FIGURES = ("kind", "title", "about", "base", "sources")
#: A part of a name that more devices have than these says nothing.
_HOLDING_MAX = 4
_HINT_DEVICES = "`flatwater list --devices` shows all of them; a file of your own is given by its path (./card.toml)"
#: Checked devices that are kept: a sweep over a parameter asks for each of its values again and again.
_KEPT = 1024


@dataclass(frozen=True)
class DeviceEntry:
    """One device of `devices/`."""

    name: str
    kind: str
    title: str
    about: str
    #: Bytes that its host can use.
    capacity: int
    path: Path


class InvalidDeviceError(UserError):
    """A device that cannot be used. Reads as its first problem; `problems` has every one.

    Their fields are dotted from the experiment: `storage.device`, `storage.parameters.NAME`.
    """

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        super().__init__(first.what, where=first.field, hint=first.hint)
        self.problems = problems


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


def names_a_device(written: str) -> bool:
    """Whether a text is the name of a device that comes with flatwater and not, say, of an experiment's file."""
    return written in device_files() and not Path(written).is_file()


def list_devices() -> list[DeviceEntry]:
    """Every device that comes with flatwater, read and checked."""
    found = []
    for name, path in device_files().items():
        device = load_device(name)
        found.append(DeviceEntry(name, device.kind, device.title, device.about, device.capacity, path))
    return found


def find_device(written: str) -> Path:
    """The file that a name of `devices/`, or a path, means. Raises UserError, with the nearest name as its hint."""
    path = Path(written).expanduser()
    if "/" in written or written.endswith(".toml"):
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


def load_device(written: str, parameters: Mapping[str, Any] | None = None) -> Device:
    """The device of a name or a path, some of its figures replaced.

    Errors: InvalidDeviceError, one problem a line; UserError when there is no such device or it is no TOML.
    """
    path = find_device(written)
    return _checked(path, _stamps(path), tuple(sorted((parameters or {}).items(), key=lambda item: item[0])))


@lru_cache(maxsize=_KEPT)
def _checked(path: Path, stamps: Any, parameters: tuple[tuple[str, Any], ...]) -> Device:
    """`stamps` only make a file that was changed another key."""
    device, problems = _read(path, dict(parameters))
    if device is None:
        raise InvalidDeviceError(problems)
    return device


def _stamps(path: Path) -> tuple[tuple[int, int], ...]:
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


def _parsed(path: Path) -> dict[str, Any]:
    told = path.stat()
    return _parse(path, told.st_size, told.st_mtime_ns)


@lru_cache(maxsize=64)
def _parse(path: Path, size: int, changed_ns: int) -> dict[str, Any]:
    return parse_toml(path, read_text(path, "a device's file"))


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a device's file, those of its bases below them; a copy. Errors: UserError."""
    data: dict[str, Any] = {}
    for one in reversed([path, *_bases(path)]):
        data = _merged(data, _parsed(one))
    data.pop("base", None)
    return copy.deepcopy(data)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        inner = merged.get(name)
        merged[name] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged


def _read(path: Path, parameters: Mapping[str, Any]) -> tuple[Device | None, list[Problem]]:
    data = read_tables(path)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        what = "kind: is missing" if kind is None else f"kind: {quote(kind)} is no kind of device"
        return None, [_of_file(path, what, suggest(str(kind), list(KINDS)))]
    model = KINDS[kind]
    problems = [problem for name in parameters if (problem := _unknown(name, model)) is not None]
    if problems:
        return None, problems
    for name, value in parameters.items():
        _set(data, name, value)
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        for details in error.errors(include_url=False):
            field = ".".join(str(part) for part in details["loc"])
            what, hint = explain_error(details)
            if details["type"] == "extra_forbidden":
                siblings = [one for one in parameter_names(model) if one.rpartition(".")[0] == field.rpartition(".")[0]]
                close = nearest(field, siblings or parameter_names(model))
                hint = f"did you mean {close.rpartition('.')[2]}?" if close else None
            blamed = [field, *details.get("ctx", {}).get("rests_on", ())]
            ours = next((name for name in blamed if name in parameters), None)
            if ours is None:
                problems.append(_of_file(path, f"{field}: {what}", hint))
            else:
                about = "" if ours == field else f"{field}: "
                problems.append(Problem(f"{TABLE}.{ours}", f"{about}{what}", hint, (f"{TABLE}.{ours}",)))
    return None, problems


def _of_file(path: Path, what: str, hint: str | None) -> Problem:
    """A problem of the device's file itself, of which an experiment only says the name."""
    told = path.name if path.parent == devices_dir() else str(path)
    return Problem("storage.device", f"{told}: {what}", hint, ("storage.device",))


def _unknown(name: str, model: type[Device]) -> Problem | None:
    names = parameter_names(model)
    if name in names:
        return None
    ends = [one for one in names if one.rpartition(".")[2] == name]
    close = nearest(name, names) or next(iter(ends), None)
    hint = (
        f"did you mean {close}?" if close else f"`flatwater show DEVICE` shows what a device of kind {_kind(model)} has"
    )
    return Problem(f"{TABLE}.{name}", f"a device of kind {_kind(model)} has no such figure", hint, (f"{TABLE}.{name}",))


def _kind(model: type[Device]) -> str:
    return f'"{model.KIND}"'


@lru_cache
def parameter_names(model: type[Device]) -> tuple[str, ...]:
    """The dotted names of a kind's figures: what `storage.parameters` may replace."""
    return tuple(name for name in _names(model) if name.partition(".")[0] not in _NO_FIGURES)


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        annotation = info.annotation
        parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
        tables = [part for part in parts if isinstance(part, type) and issubclass(part, Table)]
        for table in tables:
            yield from _names(table, f"{prefix}{name}.")
        if not tables:
            yield f"{prefix}{name}"


def _set(data: dict[str, Any], name: str, value: Any) -> None:
    *tables, last = name.split(".")
    for part in tables:
        inner = data.get(part)
        data[part] = inner if isinstance(inner, dict) else {}
        data = data[part]
    data[last] = value


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
        if not prefix and name in _NO_FIGURES:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
