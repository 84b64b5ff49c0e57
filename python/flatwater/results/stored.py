"""Small files of a result folder, which are checked when they are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from flatwater.errors import UserError
from flatwater.results.foreign import NotRegularError, open_regular

#: The limit for a JSON file: a hostile or damaged folder must not exhaust memory.
JSON_BYTES_MAX = 256 * 1024 * 1024

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


def read_file(path: Path) -> bytes:
    """The bytes of a small file of a result folder.

    Errors: UserError if it is no regular file (reading a FIFO would never end), or too large.
    """
    try:
        with open_regular(path) as handle:
            found = handle.read(JSON_BYTES_MAX + 1)
        if len(found) > JSON_BYTES_MAX:
            raise UserError(f"larger than {JSON_BYTES_MAX >> 20} MiB", where=str(path), hint="the result is damaged")
        return found
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path)) from None
    except NotRegularError as error:
        raise UserError(str(error.strerror), where=str(path)) from None
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror}", where=str(path)) from None


def read_json(path: Path) -> Any:
    """The value in a JSON file of a result. Errors: UserError for a file that is missing, too large or not JSON."""
    try:
        return json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON: {error}", where=str(path), hint="the result is damaged or truncated") from None
