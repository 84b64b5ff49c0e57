"""The differences between two results besides the swept fields, and whether a ratio of the two is meaningful.

The fields of a run come from the result's experiment, in which flatwater wrote every field. An imported result has only
the fields that the other tool reported. The other fields are unknown, and an unknown field does not count as equal. The
role of each field (`experiment/roles.py`) decides what a difference means. If the workload, the data size or the
direction of the figure differs, the two runs measured different things. Any other difference is listed, and the results
can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from flatwater.errors import UserError
from flatwater.experiment.device.parameters import TABLES as PARAMETERS
from flatwater.experiment.fields import resolve_value
from flatwater.experiment.kinds import BUILT, Kinds
from flatwater.experiment.paths import split_open
from flatwater.experiment.record import Record
from flatwater.experiment.roles import DECISIVE, MATTERS_WITH, Role, role_of, role_with
from flatwater.experiment.units import print_size
from flatwater.results import Cell, Result
from flatwater.results.facts import MachineFacts
from flatwater.results.stored import read_json

#: Fields of machine.json that do not show that two machines differ: clocks and free memory always change.
VOLATILE = re.compile(r"time|date|load|free|avail|used|mhz|temperature|pid|uptime|cached|frequency", re.IGNORECASE)
#: Variables of a server that differ at every start: its paths, its names, the time.
OF_ONE_START = re.compile(
    r"(mysqlx_|admin_|extra_|report_)?(port|socket)|(innodb_|slave_load_|replica_load_)?tmpdir|datadir|pid_file|secure_file_priv|"
    r"innodb_(data_home_dir|log_group_home_dir|undo_directory)|aria_log_dir_path|wsrep_data_home_dir|init_file|"
    r"general_log_file|slow_query_log_file|log_slow_query_file|log_error|log_basename|(log_bin|relay_log)_(basename|index|info_file)|"
    r"hostname|server_uuid|timestamp|pseudo_\w+|last_\w+|rand_seed\d|insert_id|identity|error_count|warning_count|"
    r"gtid_(binlog|current|slave)_\w+|in_transaction|proxy_user|external_user",
    re.IGNORECASE,
)
#: The side that does not know a field's value.
Unknown = Literal["", "baseline", "other", "both"]
#: Roles of differences, besides the roles of the experiment's fields; `server` is a variable that a server reported.
Part = Role | Literal["machine", "version", "server"]


@dataclass(frozen=True)
class Difference:
    """A field that differs, or may differ, between the results; values in plain units, None if absent or unknown."""

    field: str
    role: Part
    baseline: Any
    other: Any
    unknown_in: Unknown = ""

    @property
    def decisive(self) -> bool:
        """Whether the two runs measured different things because of this field."""
        return self.role in DECISIVE

    @property
    def text(self) -> str:
        """`workload.block_size (4 KiB / 16 KiB)`; only the name if the value is unknown."""
        if self.unknown_in:
            return self.field
        return f"{self.field} ({shown(self.field, self.baseline)} / {shown(self.field, self.other)})"


def shown(name: str, value: Any) -> str:
    """A value as tables print it; sizes in binary units."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and name.endswith("size") and split_open(name)[0] == "":
        return print_size(value)
    if isinstance(value, list):
        # Statements, for instance: one that stands alone needs no list.
        return "; ".join(map(str, value))
    return str(value)


@dataclass
class _Run:
    """The known fields of the run that made a result."""

    fields: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    #: True if flatwater wrote the experiment, with every field that it had.
    whole: bool = True


def differences(baseline: Result, other: Result) -> list[Difference]:
    """Every field in which two results differ or may differ, without those that both sweep; decisive fields first."""
    ours, theirs = _run_of(baseline), _run_of(other)
    swept = _swept(baseline) | _swept(other)
    found = [
        *_of_experiments(ours, theirs, swept),
        *_of_versions(baseline, other),
        *_of_machines(baseline, other),
    ]
    return sorted(found, key=lambda one: not one.decisive)


def experiment_differences(
    baseline: Mapping[str, Any], other: Mapping[str, Any], swept: Set[str] = frozenset()
) -> list[Difference]:
    """The fields in which two experiments, given as whole data, differ: decisive fields first. `swept` ones are left
    out.
    """
    found = _of_experiments(_run_with(baseline), _run_with(other), swept)
    return sorted(found, key=lambda one: not one.decisive)


def cell_differences(baseline: Cell, other: Cell) -> list[Difference]:
    """The differences of two cells only: the unit of their figures, the modelled layers, the servers' variables."""
    found: list[Difference] = []
    if baseline.summary is not None and other.summary is not None:
        a, b = baseline.summary, other.summary
        if a.unit != b.unit:
            found.append(Difference("unit", "direction", a.unit, b.unit))
        layers = [layer for layer in {**a.layers, **b.layers} if a.layers.get(layer) != b.layers.get(layer)]
        found += [Difference(f"layers.{one}", "stack", a.layers.get(one), b.layers.get(one)) for one in layers]
        servers = [[f"{one.flavour} {one.version}" for one in summary.servers] for summary in (a, b)]
        if servers[0] != servers[1]:
            first, second = (", ".join(dict.fromkeys(one)) or None for one in servers)
            found.append(Difference("server", "server", first, second))
    ours, theirs = (server_variables(cell.result.path, cell.index) for cell in (baseline, other))
    if ours and theirs:
        found += [
            Difference(f"server.{name}", "server", ours.get(name), theirs.get(name))
            for name in sorted({*ours, *theirs})
            if ours.get(name) != theirs.get(name)
        ]
    return found


def _swept(result: Result) -> set[str]:
    return {name for cell in result.cells for name in cell.set}


def _run_of(result: Result) -> _Run:
    """The fields of a result's experiment, in plain units."""
    return _run_with(result.experiment, whole=result.manifest.source != "import")


def _run_with(data: Mapping[str, Any], *, whole: bool = True) -> _Run:
    run = _Run(whole=whole)
    for layer, built in BUILT.items():
        table = data.get(layer)
        kind = table.get("kind") if isinstance(table, Mapping) else None
        if isinstance(kind, str) and kind in built:
            run.kinds[layer] = kind
    kinds = Kinds(**run.kinds)
    for name, value in _leaves(data):
        run.fields[name] = _plain(name, value, kinds)
    return run


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        field_ = f"{prefix}{name}"
        role = role_of(field_)
        if role == "about" or (role is None and not isinstance(value, Mapping)):
            continue
        # A mixture of block sizes is one value. The dots in a parameter's name belong to the name.
        if isinstance(value, Mapping) and field_ != "workload.block_size" and field_ not in PARAMETERS:
            yield from _leaves(value, f"{field_}.")
        else:
            yield field_, value


def _plain(name: str, value: Any, kinds: Kinds) -> Any:
    try:
        return resolve_value(name, value, kinds)
    except (ValueError, KeyError, UserError):
        return value


def _of_experiments(ours: _Run, theirs: _Run, swept: Set[str]) -> Iterator[Difference]:
    expected = {**_schema(ours.kinds), **_schema(theirs.kinds)}
    names = ["workload.kind", *expected, *(name for name in {**ours.fields, **theirs.fields} if name not in expected)]
    kinds = {run.kinds.get("workload") for run in (ours, theirs)}
    workload_kind = kinds.pop() if len(kinds) == 1 else None
    for name in dict.fromkeys(names):
        role = role_with(name, workload_kind)
        # A field that both sweep has the same value in the cells of one row. A swept table is present with all its
        # entries.
        if role is None or any(name == one or name.startswith(f"{one}.") for one in swept):
            continue
        if not any(_matters(run, name, swept) for run in (ours, theirs)):
            continue
        a, b = _value_in(ours, name), _value_in(theirs, name)
        unknown = _where(a is _UNKNOWN, b is _UNKNOWN)
        if unknown:
            # For the stack, the name of the layer is enough: no field of it is known.
            if role in DECISIVE:
                yield Difference(name, role, _value_or_none(a), _value_or_none(b), unknown)
        elif _value_or_none(a) != _value_or_none(b) and not _follows(ours, theirs, name, a, b):
            yield Difference(name, role, _value_or_none(a), _value_or_none(b))
    for layer in BUILT:
        where = _where(not ours.whole, not theirs.whole)
        if where and layer != "workload" and any(run.kinds.get(layer, "none") != "none" for run in (ours, theirs)):
            yield Difference(layer, "stack", None, None, where)


def _where(baseline: bool, other: bool) -> Unknown:
    """The side that does not know the value."""
    if baseline and other:
        return "both"
    return "baseline" if baseline else "other" if other else ""


def _matters(run: _Run, name: str, swept: Set[str]) -> bool:
    """Whether a field has an effect in a run: the parameter of an unused distribution has none."""
    if name not in MATTERS_WITH:
        return True
    other, values = MATTERS_WITH[name]
    value = run.fields.get(other)
    return other in swept or (value in values if values else bool(value))


class _Absent:
    """Not a value: the run has no such field, or its value is unknown."""


_UNKNOWN, _NOT_THERE = _Absent(), _Absent()


def _value_or_none(value: Any) -> Any:
    return None if isinstance(value, _Absent) else value


def _value_in(run: _Run, name: str) -> Any:
    """The field's value; `_UNKNOWN` if the run has an unknown value, `_NOT_THERE` if its kinds have no such field."""
    if name in run.fields:
        return run.fields[name]
    layer, _, rest = name.partition(".")
    schema = _schema(run.kinds)
    if layer in run.kinds and name not in schema and "." not in rest:
        return _NOT_THERE
    if not run.whole:
        return _UNKNOWN
    if name in schema:
        # A TOML file has no null: a field whose default is None was not written. This version writes every other field.
        return None if schema[name] is None else _UNKNOWN
    return _NOT_THERE if layer in run.kinds or role_of(name) not in DECISIVE else _UNKNOWN


def _schema(kinds: Mapping[str, str]) -> dict[str, str | int | float | bool | None]:
    """Every field of these kinds that a written experiment has, with its default (None where there is none)."""
    tables = [(layer, BUILT[layer][kind]) for layer, kind in kinds.items()]
    found = {
        f"{layer}.{name}": info.get_default(call_default_factory=True)
        for layer, model in tables
        for name, info in model.model_fields.items()
        if not info.exclude
    }
    found |= {f"record.{name}": info.default for name, info in Record.model_fields.items()}
    # The entries of an inner table represent it; an empty inner table does not appear.
    return {name: None if not isinstance(value, str | int | float | bool) else value for name, value in found.items()}


def _follows(ours: _Run, theirs: _Run, name: str, a: Any, b: Any) -> bool:
    """Whether only one of two kinds has the field, at its default: the difference of the kinds is listed already."""
    layer = name.partition(".")[0]
    if _NOT_THERE not in (a, b) or ours.kinds.get(layer) == theirs.kinds.get(layer):
        return False
    run, value = (ours, a) if b is _NOT_THERE else (theirs, b)
    return value is None or value == _schema(run.kinds).get(name)


def _of_versions(baseline: Result, other: Result) -> Iterator[Difference]:
    ours, theirs = baseline.manifest.flatwater_version, other.manifest.flatwater_version
    if ours != theirs:
        yield Difference("flatwater_version", "version", ours, theirs)


def _of_machines(baseline: Result, other: Result) -> Iterator[Difference]:
    where = _where(not baseline.machine, not other.machine)
    if where:
        yield Difference("machine", "machine", None, None, where)
        return
    ours, theirs = machine_facts(baseline.machine), machine_facts(other.machine)
    for name in dict.fromkeys([*ours, *theirs]):
        if ours.get(name) != theirs.get(name):
            yield Difference(f"machine.{name}", "machine", ours.get(name), theirs.get(name))


def machine_facts(machine: MachineFacts) -> dict[str, str]:
    """The facts of a machine as texts, by dotted names, without those that always change."""
    return {name: text for name, text in _texts(machine).items() if not VOLATILE.search(name)}


def _texts(tree: Any, prefix: str = "") -> dict[str, str]:
    if isinstance(tree, dict):
        return {
            key: value for name, branch in tree.items() for key, value in _texts(branch, f"{prefix}{name}.").items()
        }
    return {prefix.rstrip("."): str(tree)}


def server_variables(result: Path, cell: int) -> dict[str, Any]:
    """The variables that the (first) server of a cell reported, without those that differ at every start; empty if no
    server did. Errors: UserError.
    """
    folder = result / "servers" / f"{cell:04}"
    for path in (folder / "variables.json", *sorted(folder.glob("*/variables.json"))):
        if path.is_file():
            found = read_json(path)
            told = found if isinstance(found, dict) else {}
            return {name: value for name, value in told.items() if not OF_ONE_START.fullmatch(name)}
    return {}
