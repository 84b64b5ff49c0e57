"""In what two results differ besides what is swept, and whether a ratio of theirs would compare like with like.

What was run is read from the result's experiment, where flatwater wrote every field. An imported result has only the
fields that the other tool told: the rest is unknown, and what is unknown is not taken for equal. The role of each field
(`experiment/roles.py`) says what a difference means: of the workload, the data's size or the figure's direction it
makes two answers to two questions; anything else is what may well be compared, and is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flatwater.errors import UserError
from flatwater.experiment.device.parameters import TABLES as PARAMETERS
from flatwater.experiment.fields import in_kinds, resolve_value, split_open
from flatwater.experiment.kinds import BUILT
from flatwater.experiment.record import Record
from flatwater.experiment.roles import DECISIVE, MATTERS_WITH, Role, role_of, role_with
from flatwater.experiment.units import print_size
from flatwater.results import Cell, Result
from flatwater.results.folder import read_json

#: What of machine.json says that two machines are not the same; clocks and free memory always differ.
VOLATILE = re.compile(r"time|date|load|free|avail|used|mhz|temperature|pid|uptime|cached|frequency", re.IGNORECASE)
#: Variables of a server that no two starts of it share: its places, its names, the moment.
OF_ONE_START = re.compile(
    r"(mysqlx_|admin_|extra_|report_)?(port|socket)|(innodb_|slave_load_|replica_load_)?tmpdir|datadir|pid_file|"
    r"innodb_(data_home_dir|log_group_home_dir|undo_directory)|aria_log_dir_path|wsrep_data_home_dir|init_file|"
    r"general_log_file|slow_query_log_file|log_slow_query_file|log_error|log_basename|(log_bin|relay_log)_(basename|index|info_file)|"
    r"hostname|server_uuid|timestamp|pseudo_\w+|last_\w+|rand_seed\d|insert_id|identity|error_count|warning_count|"
    r"gtid_(binlog|current|slave)_\w+|in_transaction|proxy_user|external_user",
    re.IGNORECASE,
)
#: Which side does not know a field's value.
Unknown = Literal["", "baseline", "other", "both"]
#: Besides the roles of the experiment's fields; `server` is what a server says that it ran with.
Part = Role | Literal["machine", "version", "server"]


@dataclass(frozen=True)
class Difference:
    """A field that is not the same in both, or not known to be; values in plain units, None where absent or unknown."""

    field: str
    role: Part
    baseline: Any
    other: Any
    unknown_in: Unknown = ""

    @property
    def decisive(self) -> bool:
        """Whether it makes the two answers to two questions."""
        return self.role in DECISIVE

    @property
    def text(self) -> str:
        """`workload.block_size (4 KiB / 16 KiB)`; only the name of what is unknown."""
        if self.unknown_in:
            return self.field
        return f"{self.field} ({shown(self.field, self.baseline)} / {shown(self.field, self.other)})"


def shown(name: str, value: Any) -> str:
    """A value as a table has it; sizes in binary units."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and name.endswith("size") and split_open(name)[0] == "":
        return print_size(value)
    return str(value)


@dataclass
class _Run:
    """What is known of how a result was made."""

    fields: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    #: Whether its experiment was written by flatwater, with every field that it had.
    whole: bool = True


def differences(baseline: Result, other: Result) -> list[Difference]:
    """Every field in which two results differ, or may, besides those that both sweep: decisive ones first."""
    ours, theirs = _run_of(baseline), _run_of(other)
    swept = _swept(baseline) | _swept(other)
    found = [
        *_of_experiments(ours, theirs, swept),
        *_of_versions(baseline, other),
        *_of_machines(baseline, other),
    ]
    return sorted(found, key=lambda one: not one.decisive)


def experiment_differences(baseline: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """In what two experiments differ, as whole data of theirs tell: decisive fields first."""
    found = _of_experiments(_run_with(baseline), _run_with(other), set())
    return sorted(found, key=lambda one: not one.decisive)


def cell_differences(baseline: Cell, other: Cell) -> list[Difference]:
    """What is of two cells only: their figures' unit, which layers were modelled, what their servers ran with."""
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
    ours, theirs = _variables(baseline), _variables(other)
    if ours and theirs:
        found += [
            Difference(f"server.{name}", "server", ours.get(name), theirs.get(name))
            for name in sorted({*ours, *theirs})
            if ours.get(name) != theirs.get(name) and not OF_ONE_START.fullmatch(name)
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
    with in_kinds(run.kinds):
        for name, value in _leaves(data):
            run.fields[name] = _plain(name, value)
    return run


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        field_ = f"{prefix}{name}"
        role = role_of(field_)
        if role == "about" or (role is None and not isinstance(value, Mapping)):
            continue
        # A mixture of block sizes is one value; a parameter's dots are of its name.
        if isinstance(value, Mapping) and field_ != "workload.block_size" and field_ not in PARAMETERS:
            yield from _leaves(value, f"{field_}.")
        else:
            yield field_, value


def _plain(name: str, value: Any) -> Any:
    try:
        return resolve_value(name, value)
    except (ValueError, KeyError, UserError):
        return value


def _of_experiments(ours: _Run, theirs: _Run, swept: set[str]) -> Iterator[Difference]:
    expected = {**_schema(ours.kinds), **_schema(theirs.kinds)}
    names = ["workload.kind", *expected, *(name for name in {**ours.fields, **theirs.fields} if name not in expected)]
    kinds = {run.kinds.get("workload") for run in (ours, theirs)}
    workload_kind = kinds.pop() if len(kinds) == 1 else None
    for name in dict.fromkeys(names):
        role = role_with(name, workload_kind)
        # What both sweep has the same value in cells of one row; a table that is swept is there with all it holds.
        if role is None or any(name == one or name.startswith(f"{one}.") for one in swept):
            continue
        if not any(_matters(run, name, swept) for run in (ours, theirs)):
            continue
        a, b = _value_in(ours, name), _value_in(theirs, name)
        unknown = _where(a is _UNKNOWN, b is _UNKNOWN)
        if unknown:
            # Of the stack, one word for the layer is enough: nobody told anything of it.
            if role in DECISIVE:
                yield Difference(name, role, _told(a), _told(b), unknown)
        elif _told(a) != _told(b) and not _follows(ours, theirs, name, a, b):
            yield Difference(name, role, _told(a), _told(b))
    for layer in BUILT:
        where = _where(not ours.whole, not theirs.whole)
        if where and layer != "workload" and any(run.kinds.get(layer, "none") != "none" for run in (ours, theirs)):
            yield Difference(layer, "stack", None, None, where)


def _where(baseline: bool, other: bool) -> Unknown:
    """Which of the two sides it is that does not know."""
    if baseline and other:
        return "both"
    return "baseline" if baseline else "other" if other else ""


def _matters(run: _Run, name: str, swept: set[str]) -> bool:
    """Whether a field means anything in a run: the parameter of a distribution that is not used does not."""
    if name not in MATTERS_WITH:
        return True
    other, values = MATTERS_WITH[name]
    value = run.fields.get(other)
    return other in swept or (value in values if values else bool(value))


class _Absent:
    """Not a value: the run has no such field, or nobody told it."""


_UNKNOWN, _NOT_THERE = _Absent(), _Absent()


def _told(value: Any) -> Any:
    return None if isinstance(value, _Absent) else value


def _value_in(run: _Run, name: str) -> Any:
    """The field's value; `_UNKNOWN` where it has one that was not told, `_NOT_THERE` where its kinds have no such."""
    if name in run.fields:
        return run.fields[name]
    layer, _, rest = name.partition(".")
    schema = _schema(run.kinds)
    if layer in run.kinds and name not in schema and "." not in rest:
        return _NOT_THERE
    if not run.whole:
        return _UNKNOWN
    if name in schema:
        # A TOML file has no null: what is None by default was not written. Anything else was, by this version.
        return None if schema[name] is None else _UNKNOWN
    return _NOT_THERE if layer in run.kinds or role_of(name) not in DECISIVE else _UNKNOWN


def _schema(kinds: Mapping[str, str]) -> dict[str, Any]:
    """Every field of these kinds that a written experiment has, with its default (None where there is none)."""
    tables = [(layer, BUILT[layer][kind]) for layer, kind in kinds.items()]
    found = {
        f"{layer}.{name}": info.get_default(call_default_factory=True)
        for layer, model in tables
        for name, info in model.model_fields.items()
        if not info.exclude
    }
    found |= {f"record.{name}": info.default for name, info in Record.model_fields.items()}
    # A table within is told by its entries; an empty one is not told at all.
    return {name: None if not isinstance(value, str | int | float | bool) else value for name, value in found.items()}


def _follows(ours: _Run, theirs: _Run, name: str, a: Any, b: Any) -> bool:
    """Whether only one of two kinds has the field, at its default: the kinds differ, and that is told."""
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
    ours, theirs = _texts(baseline.machine), _texts(other.machine)
    for name in dict.fromkeys([*ours, *theirs]):
        if ours.get(name) != theirs.get(name) and not VOLATILE.search(name):
            yield Difference(f"machine.{name}", "machine", ours.get(name), theirs.get(name))


def _texts(tree: Any, prefix: str = "") -> dict[str, str]:
    if isinstance(tree, dict):
        return {
            key: value for name, branch in tree.items() for key, value in _texts(branch, f"{prefix}{name}.").items()
        }
    return {prefix.rstrip("."): str(tree)}


def _variables(cell: Cell) -> dict[str, Any]:
    """What the cell's (first) server said that it ran with; empty where none did."""
    folder = cell.result.path / "servers" / f"{cell.index:04}"
    for path in (folder / "variables.json", *sorted(folder.glob("*/variables.json"))):
        if path.is_file():
            found = read_json(path)
            return found if isinstance(found, dict) else {}
    return {}
