"""Arguments of the public functions: one of a wrong type is told as flatwater tells any other mistake."""

from __future__ import annotations

import inspect
import operator
import reprlib
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache, wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np

from flatwater.errors import UserError

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
#: What a type is called; any other is called by its name.
_WORDS = {
    str: "a text",
    Path: "a path",
    int: "a whole number",
    bool: "True or False",
    Mapping: "a mapping of fields to values",
    types.NoneType: "None",
}


def checked(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """The function, with arguments that are what its annotations say. Errors: UserError for one that is not.

    Whole numbers and truth values of numpy are taken, too: they come from the cells of a table.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*positional: _Given.args, **named: _Given.kwargs) -> _Result:
        try:
            given = signature.bind(*positional, **named)
        except TypeError:
            return function(*positional, **named)  # Python says which argument is missing, or is not known
        for name, value in given.arguments.items():
            if (hint := _hints(function).get(name)) is None:
                continue
            if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                given.arguments[name] = tuple(_taken(function, name, hint, one) for one in value)
            else:
                given.arguments[name] = _taken(function, name, hint, value)
        return function(*given.args, **given.kwargs)

    return call


@cache
def _hints(function: Callable[..., object]) -> dict[str, object]:
    return typing.get_type_hints(function)


def _taken(function: Callable[..., object], name: str, hint: object, value: Any) -> Any:
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    # `Literal` is of words, and whoever takes it tells which there are.
    classes = [str if typing.get_origin(kind) is Literal else typing.get_origin(kind) or kind for kind in kinds]
    for one in classes:
        if one is int and isinstance(value, int | np.integer) and not isinstance(value, bool):
            return operator.index(value)
        if one is bool and isinstance(value, bool | np.bool_):
            return bool(value)
        if one not in (int, bool) and isinstance(value, one) and _has_text_keys(value):
            return value
    wanted = " or ".join(dict.fromkeys(_WORDS.get(one, f"a {one.__name__}") for one in classes))
    what = f"{name} takes {wanted}, and not {reprlib.repr(value)}"
    called = f"fw.{function.__qualname__}"
    raise UserError(what, where=called, hint=f"help({called}) says more")


def _has_text_keys(value: object) -> bool:
    return not isinstance(value, Mapping) or all(isinstance(key, str) for key in value)
