"""The lines of `--set` that make one experiment of another: what a result's experiment has beside the library's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tomli_w

from flatwater.experiment.parse import Tables
from flatwater.experiment.paths import flatten, swept_fields

_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: Tables that follow from the rest: cells of the library's figures that a line takes away are left out when it is read.
_FOLLOWS = ("published", "expected")


def lines_between(own: Tables, other: Tables) -> list[str]:
    """The lines by which `own` becomes `other`; both are the tables of a resolved experiment (`to_toml`).

    Where no lines can say it (a text of the library that the other leaves out), the lines make something else: whoever
    uses them compares. Errors: RecursionError for tables that no experiment has.
    """
    swept, swept_by_own = swept_fields(other.get("sweep")), swept_fields(own.get("sweep"))
    # A table of the library's that the other leaves out, such as the names of swept cells.
    gone = own.keys() - other.keys() - {"sweep", *_FOLLOWS}
    lines = [f"{_key(name)}={{}}" for name in sorted(gone) if isinstance(own[name], dict)]
    for name, value in other.items():
        if name not in ("sweep", *_FOLLOWS):
            lines += _lines(name, own.get(name), value, swept)
    # A value ends the sweep of its field.
    said = dict(flatten({name: value for name, value in other.items() if name not in _FOLLOWS}))
    lines += [f"{_key(field)}={inline(said[field])}" for field in sorted(swept_by_own - swept) if field in said]
    # So does a whole table with the sweeps of all that it holds.
    whole = any(line.partition("=")[2].startswith("{") for line in lines)
    if swept and (whole or inline(other["sweep"]) != inline(own.get("sweep", {}))):
        lines.append(f"sweep={inline(other['sweep'])}")
    return list(dict.fromkeys(lines))


def _lines(field: str, own: Any, other: Any, swept: set[str]) -> Iterator[str]:
    if isinstance(own, dict) and isinstance(other, dict) and own.keys() <= other.keys():
        for name, value in other.items():
            yield from _lines(f"{field}.{name}", own.get(name), value, swept)
    elif own != other and field not in swept:
        # A table that lacks what the library's has is said as a whole.
        yield f"{_key(field)}={inline(other)}"


def _key(field: str) -> str:
    return ".".join(map(_part, field.split(".")))


def _part(name: str) -> str:
    return name if _BARE.fullmatch(name) else _scalar(name)


def inline(value: Any) -> str:
    """A value as TOML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_part(name)} = {inline(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    return tomli_w.dumps({"a": value}).removeprefix("a = ").rstrip("\n")
