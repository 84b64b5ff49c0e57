"""A device's file, some of its figures replaced, checked as the kind of device that it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from flatwater.errors import UserError
from flatwater.experiment.device.device import Device
from flatwater.experiment.device.files import NO_FIGURES, devices_dir, find_device, read_tables, stamps_of
from flatwater.experiment.device.parameters import TABLE
from flatwater.experiment.parse import Tables
from flatwater.experiment.problem import Problem, Table, explain_error, quote
from flatwater.spelling import nearest, suggest

#: The kinds that a device may be of.
Kinds = tuple[type[Device], ...]

#: Checked devices that are kept: a sweep over a parameter asks for each of its values again and again.
_KEPT = 1024


class InvalidDeviceError(UserError):
    """A device that cannot be used. Reads as its first problem; `problems` has every one.

    Their fields are dotted from the experiment: `storage.device`, `storage.parameters.NAME`.
    """

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        super().__init__(first.what, where=first.field, hint=first.hint)
        self.problems = problems


def check_device(written: str, parameters: Mapping[str, Any] | None, kinds: Kinds) -> Device:
    """The device of a name or a path, some of its figures replaced; of one of these kinds.

    Errors: InvalidDeviceError, one problem a line; UserError when there is no such device or it is no TOML.
    """
    path = find_device(written)
    return _checked(path, stamps_of(path), tuple(sorted((parameters or {}).items(), key=lambda item: item[0])), kinds)


@lru_cache(maxsize=_KEPT)
def _checked(path: Path, stamps: Any, parameters: tuple[tuple[str, Any], ...], kinds: Kinds) -> Device:
    """`stamps` only make a file that was changed another key."""
    device, problems = _read(path, dict(parameters), kinds)
    if device is None:
        raise InvalidDeviceError(problems)
    return device


def _read(path: Path, parameters: Mapping[str, Any], kinds: Kinds) -> tuple[Device | None, list[Problem]]:
    data = read_tables(path)
    kind = data.get("kind")
    models = {model.KIND: model for model in kinds}
    if not isinstance(kind, str) or kind not in models:
        what = "kind: is missing" if kind is None else f"kind: {quote(kind)} is no kind of device"
        return None, [_of_file(path, what, suggest(str(kind), list(models)))]
    model = models[kind]
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
    return tuple(name for name in _names(model) if name.partition(".")[0] not in NO_FIGURES)


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        annotation = info.annotation
        parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
        tables = [part for part in parts if isinstance(part, type) and issubclass(part, Table)]
        for table in tables:
            yield from _names(table, f"{prefix}{name}.")
        if not tables:
            yield f"{prefix}{name}"


def _set(data: Tables, name: str, value: Any) -> None:
    *tables, last = name.split(".")
    for part in tables:
        inner = data.get(part)
        data[part] = inner if isinstance(inner, dict) else {}
        data = data[part]
    data[last] = value
