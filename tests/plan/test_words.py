"""The words of the engine are spoken in the plan only: no file of a layer above or below it writes or reads them.

A word of the engine's is the name of a plan's field in a unit that no user writes: `latency_ns`, `dirty_share`.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

import flatwater.experiment
import flatwater.plan

ROOT = Path(flatwater.plan.__file__).parents[1]
ROOMS = ("experiment", "fit", "what_if")
#: Units of the engine. Users write microseconds, MiB a second and percent.
UNITS = ("_ns", "_bytes_per_s", "_share")


def _modules(package: object) -> Iterator[object]:
    names = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")  # type: ignore[attr-defined]
    yield from (importlib.import_module(name.name) for name in names)


def _classes(package: object) -> set[type]:
    return {one for module in _modules(package) for one in vars(module).values() if isinstance(one, type)}


def _words_of_the_engine() -> set[str]:
    """Fields of plans that are no fields of an experiment or of a device's file."""
    plans = [one for one in _classes(flatwater.plan) if dataclasses.is_dataclass(one) and "plan" in one.__module__]
    written = {
        name for one in _classes(flatwater.experiment) if issubclass(one, BaseModel) for name in one.model_fields
    }
    fields = {field.name for one in plans for field in dataclasses.fields(one)}
    return {name for name in fields - written if name.endswith(UNITS)}


def _spoken(path: Path) -> Iterator[str]:
    """Keys of dictionaries, what is looked up in them, and names of arguments."""
    for node in ast.walk(ast.parse(path.read_text())):
        keys: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            keys = list(node.keys)
        elif isinstance(node, ast.Subscript):
            keys = [node.slice]
        elif isinstance(node, ast.keyword) and node.arg is not None:
            yield node.arg
        yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


@pytest.mark.parametrize("room", ROOMS)
def test_no_word_of_the_engine_is_spoken(room: str) -> None:
    words = _words_of_the_engine()
    assert {"latency_ns", "dirty_share", "statement_ns", "queue_depth"} - words == {"queue_depth"}
    found = {str(path.relative_to(ROOT)): set(_spoken(path)) & words for path in (ROOT / room).rglob("*.py")}
    assert {path: spoken for path, spoken in found.items() if spoken} == {}
