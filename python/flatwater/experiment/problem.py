"""One thing that is wrong with an experiment, and how validators say it.

Validators of single values raise `refuse(...)`; checks that look at several fields collect `Problem`s and raise
them together, so that a file's faults are all reported at once. Pydantic carries both to `explain.py`.
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

#: Values longer than this are cut when an error quotes them.
_LONGEST_QUOTE = 60


class Table(BaseModel):
    """A table of the file, as a value: unknown keys, wrong types, nan and infinity are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


@dataclass(frozen=True)
class Problem:
    """`field` is dotted (`workload.threads`); `rests_on` names every field that the statement depends on."""

    field: str
    what: str
    hint: str | None = None
    rests_on: tuple[str, ...] = ()


def refuse(what: str, hint: str | None = None) -> PydanticCustomError:
    """The error that a validator of one value raises; `what` continues the field's name ("must be ...")."""
    return PydanticCustomError("refused", "{what}", {"what": what, "hint": hint})


def explain_custom(error: PydanticCustomError) -> tuple[str, str | None]:
    """What is wrong, and the hint, of an error that `refuse` made."""
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
    """A value as the user would write it, short enough for one line."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except (RecursionError, ValueError):  # nested thousands deep, or a whole number of more than 4,300 digits
        return f"this {type(value).__name__}"
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "..."


#: What is said of a field without which its table is nothing.
MISSING = "is missing"

#: What pydantic calls a wrong type, in the file's words.
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
    """What is wrong, and the hint, of one pydantic error; the field's name goes before it."""
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    if kind in ("refused", "problem"):
        return context["what"], context["hint"]
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}, not {quote(given)}", None
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        limit = context[key] if isinstance(context[key], int) else f"{context[key]:g}"
        return f"must be {words} {limit}, not {quote(given)}", None
    if kind == "literal_error":
        # Pydantic writes words in quotes, numbers bare: "'a', 'b' or 'c'", "0, 1 or 10".
        expected = context["expected"]
        choices = re.findall(r"'([^']*)'", expected) or re.split(r", | or ", expected)
        return f"{quote(given)} is not a choice", suggest(str(given), choices)
    plain = {
        "missing": MISSING,
        "extra_forbidden": "unknown field",
        "finite_number": f"must be a finite number, not {quote(given)}",
        "too_short": "must not be empty",
        "string_too_short": "must not be empty",
    }
    return plain.get(kind, error["msg"]), None


class ProblemsError(ValueError):
    """Tables that are no experiment; `problems` has everything that is wrong with them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"{problem.field}: {problem.what}" for problem in self.problems))
