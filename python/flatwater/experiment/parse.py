"""Parses TOML files that users write: experiments, devices."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.results.foreign import open_regular

#: The tables of a file, or a part of them, before they are checked: they may contain any error.
Tables = dict[str, Any]

#: Larger files are not written by hand: they are something else (a result, a disk image).
MAX_FILE_SIZE = 16 * 2**20
#: About twice the depth of the deepest field.
DEEPEST = 20


def expanded(written: str) -> Path:
    """The path with `~` for a home directory; of a user that there is not, as it is written."""
    path = Path(written)
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def read_text(path: Path, what: str = "an experiment file") -> str:
    """The text of a file. Raises UserError if it is too large, unreadable or not UTF-8."""
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if len(raw) > MAX_FILE_SIZE:
        raise UserError(f"is larger than 16 MiB: not {what}", where=str(path))
    try:
        # Some editors start a file with a byte order mark, which TOML does not allow.
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UserError("is not UTF-8 text", where=f"{path}:{line}", hint="save the file as UTF-8") from None


def is_deeper(value: Any, depth: int = DEEPEST) -> bool:
    """Whether tables and lists are nested more than `depth` times."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(depth == 0 or is_deeper(one, depth - 1) for one in inner)


def parse_toml(path: Path, text: str) -> Tables:
    """The tables of a text; `path` is its file. Raises UserError with the line if it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where, what = str(path), str(error)
        if place := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", what, re.DOTALL):
            what, where = place[1], f"{path}:{place[2]}:{place[3]}"
        if what.startswith(("Cannot overwrite", "Cannot declare", "Cannot mutate")):
            what = f"a key or table stands twice ({what})"
        raise UserError(f"not valid TOML: {what}", where=where) from None
    except RecursionError:
        raise UserError("the values are nested too deeply", where=str(path)) from None
    except ValueError:  # Python reads no integers with more than 4,300 digits
        raise UserError("not valid TOML: a number is too long", where=str(path)) from None
