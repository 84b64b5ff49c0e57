"""A problem of an experiment, and how validators report it.

Validators of single values raise `refuse(...)`. Checks of several fields collect `Problem`s and raise them together, so
that all problems of a file are reported at once. Pydantic carries both.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from flatwater.spelling import suggest

#: Longer values are shortened when an error quotes them.
_LONGEST_QUOTE = 60


class Table(BaseModel):
    """A table of the file, as a value: unknown keys, wrong types, nan and infinity are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


@dataclass(frozen=True)
class Problem:
    """`field` is dotted (`workload.threads`); `rests_on` has every field that the statement depends on.

    `workload.parameters.*` is every entry of a table: the statement may be false if one of them was left out.
    """

    field: str
    what: str
    hint: str | None = None
    rests_on: tuple[str, ...] = ()


def refuse(what: str, hint: str | None = None) -> PydanticCustomError:
    """The error for a validator of one value to raise. `what` continues the field's name ("must be ...")."""
    return PydanticCustomError("refused", "{what}", {"what": what, "hint": hint})


def explain_custom(error: PydanticCustomError) -> tuple[str, str | None]:
    """The message and the hint of an error from `refuse`."""
    context = error.context or {}
    return context["what"], context["hint"]


def raise_problems(title: str, problems: Iterable[Problem], *, within: str = "") -> None:
    """Raise all problems as one validation error; `within` is the table whose validator is running."""
    details = [
        InitErrorDetails(
            type=PydanticCustomError("problem", "{what}", {"what": p.what, "hint": p.hint, "rests_on": p.rests_on}),
            loc=tuple(p.field.removeprefix(f"{within}.").split(".")),
            input=None,
        )
        for p in problems
    ]
    if details:
        raise ValidationError.from_exception_data(title, details)


def quote(value: Any) -> str:
    """A value in the user's notation, short enough for one line."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except (RecursionError, ValueError):  # thousands of levels deep, or an integer of more than 4,300 digits
        return f"this {type(value).__name__}"
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "..."


#: The message for a missing required field.
MISSING = "is missing"

#: Pydantic's names of wrong types -> messages in the words of the file.
_TYPES = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a table",
    "model_type": "a table",
    "string_type": "text (in quotes)",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def explain_error(error: ErrorDetails) -> tuple[str, str | None]:
    """The message and the hint of one pydantic error. The field's name goes before the message."""
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    if kind in ("refused", "problem"):
        return context["what"], context["hint"]
    if kind in ("value_error", "assertion_error"):
        return str(context["error"]), None
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}, not {quote(given)}", None
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        limit = context[key] if isinstance(context[key], int) else f"{context[key]:g}"
        return f"must be {words} {limit}, not {quote(given)}", None
    if kind == "literal_error":
        # Pydantic quotes words but not numbers: "'a', 'b' or 'c'", "0, 1 or 10".
        expected = context["expected"]
        choices = re.findall(r"'([^']*)'", expected) or re.split(r", | or ", expected)
        return f"{quote(given)} is not a choice", suggest(str(given), choices)
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters, not {len(given)}", None
    if kind == "too_long":
        return f"must have at most {context['max_length']:,} entries, not {len(given):,}", None
    plain = {
        "missing": MISSING,
        "extra_forbidden": "unknown field",
        "finite_number": f"must be a finite number, not {quote(given)}",
        "too_short": "must not be empty",
        "string_too_short": "must not be empty",
    }
    # Whatever else a library may say is said in its words, of its types.
    return plain.get(kind, f"cannot be {quote(given)}"), None


class ProblemsError(ValueError):
    """Tables that are not a valid experiment. `problems` has all their problems."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"{problem.field}: {problem.what}" for problem in self.problems))
