"""How a plan is written for the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Json(str, Generic[T_co]):
    """A plan of class `T_co` as JSON. The type checker so sees that each door of the engine gets its own plan."""

    __slots__ = ()


def to_json(plan: T) -> Json[T]:
    """A plan as the engine reads it."""
    return Json(json.dumps(as_data(plan)))


def as_data(value: Any) -> Any:
    """A plan as JSON's own types. A field that is None by default, and is None, is left out."""
    if is_dataclass(value):
        written = ((one, getattr(value, one.name)) for one in fields(value))
        return {one.name: as_data(own) for one, own in written if own is not None or one.default is not None}
    if isinstance(value, Mapping):
        return {name: as_data(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [as_data(own) for own in value]
    return value
