"""The four layers of an experiment. Each is read as the kind that its table names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from flatwater.experiment.kinds import BUILT, Kinds, kind_fault, kinds_of
from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import MISSING, Problem, quote
from flatwater.experiment.stage import Findings, Read
from flatwater.experiment.table import moved_below, read_table, reset_fields

#: Kind of workload -> the mode that replaces a missing or wrong one. The hint shows it, too.
_MODES = {"fileio": "rndrd", "oltp": "read_write"}


def read_kinds(tables: Mapping[str, Any]) -> Read[Kinds]:
    """The kind of each layer of a file, without layers that are not a table or have an unknown kind."""
    problems = list(_kind_problems(tables))
    return Read(kinds_of(tables), tuple(problems), frozenset(problem.field.partition(".")[0] for problem in problems))


def _kind_problems(tables: Mapping[str, Any]) -> Iterator[Problem]:
    for layer in BUILT:
        table = tables.get(layer, {})
        if not isinstance(table, Mapping):
            yield Problem(layer, f"must be a table, not {quote(table)}")
        elif "kind" in table and (fault := kind_fault(layer, table["kind"])) is not None:
            yield Problem(f"{layer}.kind", *fault)


def read_layers(tables: Mapping[str, Any], kinds: Kinds) -> Read[dict[str, Layer]]:
    """The layers of a file, by name. There is always a workload."""
    found, layers = Findings(), {}
    if "workload" not in tables:
        layers["workload"] = found.keep(_leave_out("workload", Problem("workload", MISSING, _mode_hint())))
    for layer in BUILT:
        if layer in tables:
            layers[layer] = found.keep(read_layer(layer, tables[layer], kinds))
    return Read(layers, found.problems, found.left_out)


def read_layer(layer: str, table: Any, kinds: Kinds) -> Read[Layer]:
    """Reads a layer's table as the kind that it names, or as the first kind of the layer if that is missing.

    Wrong fields, and fields that conflict with others of the layer, are left out of the value. A wrong kind is not a
    problem here: `read_kinds` has reported it.
    """
    kind: Any = table.get("kind", next(iter(BUILT[layer]))) if isinstance(table, Mapping) else None
    if kind_fault(layer, kind) is not None:
        return _leave_out(layer)
    mode = {"mode": _MODES[kind]} if kind in _MODES else {}
    read = read_table(BUILT[layer][kind], layer, table, kinds, stand_ins=mode)
    problems = tuple(_with_mode_hint(problem, kind) for problem in read.problems)
    if read.value is None:
        return _leave_out(layer, *problems)
    return _check(layer, Read(read.value, problems, read.left_out))


def _check(layer: str, read: Read[Layer]) -> Read[Layer]:
    """Reports conflicts between fields of a layer, and leaves these fields out."""
    conflicts = list(moved_below(layer, read.value.conflicts()))
    found = Findings()
    found.keep(read)
    found.add(conflicts)
    fields = [field for problem in conflicts for field in _useless(layer, problem.field.removeprefix(f"{layer}."))]
    if "trace" in fields:
        # No other trace can replace it.
        return _leave_out(layer, *found.problems)
    left_out = read.left_out | {f"{layer}.{field}" for field in fields}
    return Read(reset_fields(read.value, fields), found.problems, left_out)


def _useless(layer: str, field: str) -> list[str]:
    """The fields that are useless if this one is wrong: a device with one wrong figure is not that device."""
    if layer == "workload":
        return [field]  # parameters of statements
    storage, parameters, figure = field.rpartition("parameters.")
    return [f"{storage}parameters", f"{storage}device"] if parameters and figure else [field]


def _leave_out(layer: str, *problems: Problem) -> Read[Layer]:
    """Replaces a layer that cannot be used with one of another kind."""
    return Read(_stand_in(layer), problems, frozenset({layer}))


def _stand_in(layer: str) -> Layer:
    kind, model = next(iter(BUILT[layer].items()))
    return model.model_validate({"mode": _MODES[kind]} if kind in _MODES else {})


def _with_mode_hint(problem: Problem, kind: str) -> Problem:
    if (problem.field, problem.what) != ("workload.mode", MISSING):
        return problem
    return replace(problem, hint=_mode_hint(kind))


def _mode_hint(kind: str = "fileio") -> str:
    """A hint for a workload without a mode."""
    return f'say what to do, for example mode = "{_MODES.get(kind, _MODES["fileio"])}" in [workload]'
