"""Finding everything that is wrong with an experiment, not only the first thing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from flatwater.experiment.expected import Expectation
from flatwater.experiment.experiment import OVERRIDDEN, Experiment, kinds_of
from flatwater.experiment.fields import all_fields, in_kinds, is_known_elsewhere, path_of, unknown_field_hint
from flatwater.experiment.problem import Problem, explain_error
from flatwater.experiment.published import PublishedFigure
from flatwater.experiment.report import Report
from flatwater.experiment.sweep import swept_fields
from flatwater.spelling import nearest

#: Kinds and fields, then fields of one layer together, then layers together, each perhaps in two steps.
_STAGES = 8
#: What stands in for a layer that cannot be left out, while the rest is looked at.
_REQUIRED: dict[str, Any] = {"workload": {"mode": "rndrd"}}
#: What stands in for a workload's mode, by kind: also what a hint shows.
_MODES = {"fileio": "rndrd", "oltp": "read_write"}
#: An experiment of the library that shows every field of a kind.
_SHOWING = {"fileio": "quick", "oltp": "oltp-quick", "tpcc": "tpcc-quick"}
#: A hint lists no more fields than this.
_MOST_LISTED = 14
#: Stands in for a wrong published figure, so that the others keep their numbers: fits any cell.
_ANY_FIGURE = {"metric": "flatness", "value": 1.0, "unit": "1", "source": "none"}
#: The same for a wrong expectation.
_ANY_EXPECTATION = {"verdict": ["flat"], "source": "none"}
_STAND_INS = {"published": _ANY_FIGURE, "expected": _ANY_EXPECTATION}


def validate(data: dict[str, Any], *, overridden: bool = False) -> tuple[Experiment | None, list[Problem]]:
    """The experiment that the data of a file says, or everything that is wrong with it.

    A wrong field hides from pydantic what rests on it, so it is taken out and the rest is validated again. What then
    rests on a field that is gone is not told: it may be true of the default only.
    """
    data = copy.deepcopy(data)
    found: list[Problem] = []
    gone: set[str] = set()
    for _ in range(_STAGES):
        try:
            experiment = Experiment.model_validate(data, context=OVERRIDDEN if overridden else None)
        except ValidationError as error:
            details = error.errors(include_url=False)
        else:
            return (None if found else experiment), found
        # A kind that is not built says nothing about its layer's other fields.
        unbuilt = {str(d["loc"][0]) for d in details if _is_kind(d)}
        if any(d["loc"][0] == "sweep" for d in details):
            swept = swept_fields(data["sweep"])
            details = [d for d in details if not _waits_for_sweep(d, swept)]
        kinds = kinds_of(data)
        for d in details:
            problem = problem_of(d, kinds)
            if problem not in found and (_is_kind(d) or not _rests_on(problem, gone | unbuilt)):
                found.append(problem)
        gone |= unbuilt
        for d in details:
            gone |= _take_out(data, d)
    return None, found


def problem_of(error: ErrorDetails, kinds: Mapping[str, str]) -> Problem:
    """One pydantic error in the file's words; `kinds` are those of the layers that are known."""
    field = ".".join(str(part) for part in error["loc"])
    what, hint = explain_error(error)
    rests_on = error.get("ctx", {}).get("rests_on", ())
    if error["type"] == "extra_forbidden":
        with in_kinds(kinds):
            hint = _sibling_hint(*field.rpartition(".")[::2], kinds)
    if field in ("workload", "workload.mode") and error["type"] == "missing":
        hint = f'say what to do, for example mode = "{_stand_in_mode(kinds)}" in [workload]'
    return Problem(field, what, hint, tuple(rests_on))


def _stand_in_mode(kinds: Mapping[str, str]) -> str:
    return _MODES.get(kinds.get("workload", "fileio"), "rndrd")


def _sibling_hint(table: str, name: str, kinds: Mapping[str, str]) -> str:
    """The field that an unknown one was probably meant to be."""
    models: dict[str, type[BaseModel]] = {"": Experiment, "report": Report}
    models |= {"published": PublishedFigure, "expected": Expectation}
    first = table.partition(".")[0]
    if first in models:
        siblings = list(models[first].model_fields)
    else:
        siblings = [known.rpartition(".")[2] for known in all_fields() if known.rpartition(".")[0] == table]
    field = f"{table}.{name}" if table else name
    if any(known.rpartition(".")[2] == name for known in all_fields()) or is_known_elsewhere(field):
        return unknown_field_hint(field)
    close = nearest(name, siblings)
    if close:
        return f"did you mean {close}?"
    if len(siblings) > _MOST_LISTED:
        showing = _SHOWING.get(kinds.get("workload", ""), "quick")
        return f"`flatwater show {showing} --resolved` shows every field"
    return f"there is: {', '.join(siblings)}"


def _is_kind(error: ErrorDetails) -> bool:
    return error["loc"][1:] == ("kind",) and not _is_pairing(error)


def _is_pairing(error: ErrorDetails) -> bool:
    """Whether the kinds of two layers do not go together; each alone is well."""
    return error["loc"][1:] == ("kind",) and len(error.get("ctx", {}).get("rests_on", ())) > 1


def _waits_for_sweep(error: ErrorDetails, swept: set[str]) -> bool:
    """Whether a sweep that cannot be read may be why: its first values are then missing in the layers."""
    if error["loc"][0] in ("sweep", "published", "expected"):
        return False
    field = ".".join(str(part) for part in error["loc"])
    return error["type"] == "problem" or any(f"{name}.".startswith(f"{field}.") for name in swept)


def _rests_on(problem: Problem, gone: set[str]) -> bool:
    about = {problem.field.removeprefix("sweep."), *problem.rests_on}
    return any(f"{field}.".startswith(f"{name}.") for field in about for name in gone)


def _take_out(data: dict[str, Any], error: ErrorDetails) -> set[str]:
    """Takes what an error is about out of the data; returns the fields that are gone."""
    loc = [str(part) for part in error["loc"]]
    table, rest = loc[0], ".".join(loc[1:])
    sweep = data.get("sweep")
    if table == "sweep":
        if not rest or not isinstance(sweep, dict):
            del data["sweep"]
            return set()
        if loc[1] == "zip":
            return swept_fields({"zip": sweep.pop("zip", None)})
        drop_from_sweep(sweep, rest)
        return {rest}
    if table in _STAND_INS and isinstance(data[table], list) and rest:
        data[table][int(loc[1])] = _STAND_INS[table]
        return set()
    if _is_pairing(error):
        # The workload says what was meant.
        other = {"kind": "server"} if table == "workload" else {}
        return _replace_layer(data, "database", other)
    if rest == "kind":
        return _replace_layer(data, table, _REQUIRED.get(table, {}))
    field = ".".join(loc)
    if field == "workload.trace":
        # No other trace could stand in for it.
        return _replace_layer(data, table, _REQUIRED[table])
    drop_from_sweep(sweep, field)
    stand_in = _stand_in_mode(kinds_of(data)) if field == "workload.mode" else _REQUIRED.get(field)
    if error["type"] == "missing" and stand_in is None:
        loc = loc[:-1]
    _replace(data, loc, stand_in)
    return {field}


def _replace_layer(data: dict[str, Any], layer: str, table: dict[str, Any]) -> set[str]:
    """Sets another table for a layer of which nothing is swept any more; returns what is gone."""
    data[layer] = table
    for field in swept_fields(data.get("sweep")):
        if field.startswith(f"{layer}."):
            drop_from_sweep(data.get("sweep"), field)
    return {layer}


def drop_from_sweep(sweep: Any, field: str) -> None:
    """Takes a field out of a sweep, written flat or nested, in the grid or walked with others."""
    if isinstance(sweep, dict):
        zips = sweep.get("zip")
        for table in [sweep, *(zips if isinstance(zips, list) else [zips])]:
            _drop(table, field)


def _drop(table: Any, field: str) -> None:
    if isinstance(table, dict):
        table.pop(field, None)
        first, _, rest = field.partition(".")
        if rest:
            _drop(table.get(first), rest)


def _replace(data: dict[str, Any], loc: list[str], value: Any) -> None:
    """Sets what stands at a place; None takes it out."""
    *tables, name = path_of(".".join(loc))
    table: Any = data
    for part in tables:
        table = table.get(part) if isinstance(table, dict) else None
    if isinstance(table, dict):
        table.pop(name, None)
        if value is not None:
            table[name] = value
