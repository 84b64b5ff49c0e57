"""Small files of a result folder, which are checked when they are read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from flatwater.errors import UserError
from flatwater.results.foreign import NotRegularError, open_regular

#: The limits for files: a hostile or damaged folder must not exhaust memory. A summary has some 12 KB for each cell.
SUMMARY_BYTES_MAX = 256 * 1024 * 1024
FILE_BYTES_MAX = 32 * 1024 * 1024
#: A value of JSON of two bytes takes a hundred in memory. Runs write one in 16 bytes, or longer ones.
BYTES_OF_A_VALUE_MIN = 8
#: So many values may be shorter, and so many may there be: each of 20,000 cells has less than a thousand.
SHORT_VALUES_MAX = 1 << 18
VALUES_MAX = 1 << 24

Stored = TypeVar("Stored", bound=pydantic.BaseModel)


def exists(path: Path) -> bool:
    """Whether a path leads to something; False also for a path that cannot be looked up."""
    try:
        return path.exists()
    except OSError:  # the name is too long, or the folder may not be entered
        return False


def validate(model: type[Stored], raw: Any, where: Path) -> Stored:
    """Checks data from disk. Errors: UserError, in one line: a mismatch means a damaged folder."""
    try:
        return model.model_validate(raw)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "it"
        raise UserError(f"{place}: {first['msg']}", where=str(where), hint="the result is damaged") from None


def read_file(path: Path, bytes_max: int = FILE_BYTES_MAX) -> bytes:
    """The bytes of a small file of a result folder.

    Errors: UserError if it is no regular file (reading a FIFO would never end), or too large.
    """
    try:
        with open_regular(path) as handle:
            # The size first: a file of holes is read for as long as it is long.
            size = max(os.fstat(handle.fileno()).st_size, 0)
            found = handle.read(bytes_max + 1) if size <= bytes_max else b""
        if size > bytes_max or len(found) > bytes_max:
            raise UserError(f"larger than {bytes_max >> 20} MiB", where=str(path), hint="the result is damaged")
        return found
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except NotRegularError as error:
        raise UserError(str(error.strerror), where=str(path)) from None
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror}", where=str(path)) from None


def read_json_text(path: Path, bytes_max: int = FILE_BYTES_MAX) -> bytes:
    """The text of a JSON file of a result, whose values fit into memory. Errors: UserError."""
    text = read_file(path, bytes_max)
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    are_short = values > SHORT_VALUES_MAX and values * BYTES_OF_A_VALUE_MIN > len(text)
    if are_short or values > VALUES_MAX:
        what = f"it has {values:,} values in {len(text):,} bytes, which no run writes"
        raise UserError(what, where=str(path), hint="the result is damaged")
    return text


def read_json(path: Path, bytes_max: int = FILE_BYTES_MAX) -> Any:
    """The value in a JSON file of a result. Errors: UserError for a file that is missing, too large or not JSON."""
    try:
        return json.loads(read_json_text(path, bytes_max))
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON: {error}", where=str(path), hint="the result is damaged or truncated") from None
