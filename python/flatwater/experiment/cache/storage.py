"""`[cache.storage]`: the fast device, which is any storage."""

from __future__ import annotations

import dataclasses
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import Problem, explain_error, quote, raise_problems, refuse
from flatwater.experiment.storage import KINDS
from flatwater.spelling import suggest

#: Where the table is in an experiment.
TABLE = "cache.storage"


def read_storage(table: Any) -> Any:
    """Validates the table as the kind that it names; the default is files."""
    if table is None or isinstance(table, Layer):
        return table
    if not isinstance(table, dict):
        raise refuse(f"must be a table, not {quote(table)}")
    kind = table.get("kind", next(iter(KINDS)))
    if not isinstance(kind, str) or kind not in KINDS:
        # Without a valid kind, the other fields cannot be checked: the error is about the whole table.
        raise refuse(f"there is no storage of the kind {quote(kind)}", suggest(str(kind), list(KINDS)))
    try:
        return KINDS[kind].model_validate(table)
    except ValidationError as error:
        raise_problems("storage", [_moved(details) for details in error.errors(include_url=False)])


def moved(problem: Problem) -> Problem:
    """A problem of a storage, said of the cache's; fields it depends on are the cache's too."""
    field = problem.field.removeprefix("storage.")
    hint = problem.hint.replace("storage.", f"{TABLE}.") if problem.hint else problem.hint
    rests_on = tuple(f"cache.{name}" for name in problem.rests_on)
    return Problem(f"{TABLE}.{field}", problem.what, hint, rests_on or (f"{TABLE}.{field}",))


def _moved(details: ErrorDetails) -> Problem:
    what, hint = explain_error(details)
    field = ".".join(str(part) for part in details["loc"])
    found = moved(Problem(field, what, hint, tuple(details.get("ctx", {}).get("rests_on", ()))))
    return dataclasses.replace(found, field=field)
