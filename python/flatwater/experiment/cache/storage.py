"""`[cache.storage]`: the fast device, which is any storage."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import Problem, explain_error, quote, raise_problems, refuse
from flatwater.experiment.storage import KINDS
from flatwater.spelling import suggest

#: Where the table is in an experiment.
TABLE = "cache.storage"


def read_storage(table: Any) -> Any:
    """Validates the table as the kind it names; without a name, as files."""
    if table is None or isinstance(table, Layer):
        return table
    if not isinstance(table, dict):
        raise refuse(f"must be a table, not {quote(table)}")
    kind = table.get("kind", next(iter(KINDS)))
    if not isinstance(kind, str) or kind not in KINDS:
        # Without its kind nothing can be said of the table's other fields: the whole of it is at fault.
        raise refuse(f"there is no storage of the kind {quote(kind)}", suggest(str(kind), list(KINDS)))
    try:
        return KINDS[kind].model_validate(table)
    except ValidationError as error:
        raise_problems("storage", [_moved(details) for details in error.errors(include_url=False)])


def _moved(details: Any) -> Problem:
    """A problem of a storage, said of the cache's; fields it rests on are the cache's too."""
    what, hint = explain_error(details)
    hint = hint.replace("storage.", "cache.storage.") if hint else hint
    rests_on = [f"cache.{name}" for name in details.get("ctx", {}).get("rests_on", ())]
    field = ".".join(str(part) for part in details["loc"])
    return Problem(field, what, hint, tuple(rests_on) or (f"{TABLE}.{field}",))
