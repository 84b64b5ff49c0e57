"""Makes an experiment from the tables of a file, or reports all their problems.

One pass: the kinds; the sweep, whose first values are set in the layers; each layer by itself; the layers together; the
cells; and last the file's statements about its cells. Each stage gives a value that the next one can use, also after
errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from flatwater.experiment.cells import cell_conflicts
from flatwater.experiment.conflicts import layer_conflicts, pairing_conflicts, threshold_conflicts
from flatwater.experiment.cost import Cost
from flatwater.experiment.database import NoDatabase, Server
from flatwater.experiment.expected import Expectation
from flatwater.experiment.experiment import Experiment, Heading
from flatwater.experiment.kinds import Kinds
from flatwater.experiment.layers import read_kinds, read_layers
from flatwater.experiment.load_hosts import Load
from flatwater.experiment.paths import with_values
from flatwater.experiment.problem import Problem, ProblemsError, Table, quote
from flatwater.experiment.published import PublishedFigure
from flatwater.experiment.record import Record
from flatwater.experiment.report import Report
from flatwater.experiment.stage import Findings, Read
from flatwater.experiment.sweep import Sweep, read_sweep
from flatwater.experiment.table import read_table
from flatwater.experiment.thresholds import Thresholds
from flatwater.experiment.twin import Twin, swept_with_twin, twin_conflicts
from flatwater.experiment.views import Views, forget_lost_cells, view_problems
from flatwater.experiment.workload.transactions import Transactions

Entry = TypeVar("Entry", PublishedFigure, Expectation)


class Validated(NamedTuple):
    """An experiment, or the problems of its tables."""

    experiment: Experiment | None
    problems: tuple[Problem, ...]


def make_experiment(tables: Mapping[str, Any]) -> Experiment:
    """The experiment in the tables of a file. Errors: ProblemsError."""
    experiment, problems = validate(tables)
    if experiment is None:
        raise ProblemsError(problems)
    return experiment


def validate(tables: Mapping[str, Any], *, overridden: bool = False) -> Validated:
    """The experiment in the tables of a file, or all problems of it.

    `overridden`: the command line changed the tables. Then entries of the report and published figures whose cells do
    not exist any more are dropped.
    """
    found = Findings()
    kinds = found.keep(read_kinds(tables))
    views = found.keep(_read_views(tables, kinds))
    tables = swept_with_twin(tables)
    sweep = found.keep(read_sweep(tables.get("sweep", {}), kinds)).without(found.left_out)
    # With the first values set, the layers describe a cell like any other.
    first = with_values(tables, sweep.values_at(0))
    experiment = found.keep(_read_parts(first, sweep, kinds))
    if experiment.kinds != kinds:
        views = views.of_kinds(experiment.kinds)
    experiment = found.keep(_pair(experiment.model_copy(update=views.parts)))
    if overridden:
        experiment = forget_lost_cells(experiment)
    own = [*layer_conflicts(experiment), *twin_conflicts(experiment.twin, experiment.database)]
    own += threshold_conflicts(experiment, found.left_out)
    found.add([*own, *cell_conflicts(experiment, own), *view_problems(experiment, views)])
    return Validated(None if found.problems else experiment, found.problems)


#: Tables that are neither layers nor lists, and their classes.
_OTHERS: dict[str, type[Table]] = {
    "load": Load,
    "record": Record,
    "twin": Twin,
    "report": Report,
    "cost": Cost,
    "thresholds": Thresholds,
}


def _read_parts(tables: Mapping[str, Any], sweep: Sweep, kinds: Kinds) -> Read[Experiment]:
    """The experiment without its published figures and expectations."""
    found = Findings()
    heading = found.keep(_read_heading(tables, kinds))
    layers = found.keep(read_layers(tables, kinds))
    others = {name: found.keep(_read_other(name, tables, kinds)) for name in _OTHERS if tables.get(name) is not None}
    parts: dict[str, object] = {name: getattr(heading, name) for name in heading.model_fields_set} | layers | others
    # A field that is left out is not swept. The number of cells then differs from the file's.
    parts["sweep"] = kept = sweep.without(found.left_out)
    left_out = found.left_out if kept.fields == sweep.fields else found.left_out | {"sweep"}
    return Read(Experiment.model_validate(parts), found.problems, left_out)


def _read_heading(tables: Mapping[str, Any], kinds: Kinds) -> Read[Heading]:
    """Reads the fields above the tables. Also reports unknown tables."""
    inner = Experiment.model_fields.keys() - Heading.model_fields.keys()
    above = {name: value for name, value in tables.items() if name not in inner}
    read = read_table(Heading, "", above, kinds, siblings=list(Experiment.model_fields))
    return Read(read.value or Heading(), read.problems, read.left_out)


def _read_other(name: str, tables: Mapping[str, Any], kinds: Kinds) -> Read[Table]:
    read = read_table(_OTHERS[name], name, tables[name], kinds)
    return Read(read.value or _OTHERS[name](), read.problems, read.left_out)


def _read_views(tables: Mapping[str, Any], kinds: Kinds) -> Read[Views]:
    """Reads the published figures and the expectations, without those that have a problem."""
    figures = _read_entries(PublishedFigure, "published", tables, kinds)
    expected = _read_entries(Expectation, "expected", tables, kinds)
    views = Views(figures.value, expected.value)
    return Read(views.without_their_order() if figures.left_out else views, (*figures.problems, *expected.problems))


def _read_entries(model: type[Entry], name: str, tables: Mapping[str, Any], kinds: Kinds) -> Read[dict[int, Entry]]:
    """The valid entries of a list of tables, by their places."""
    entries = tables.get(name, [])
    if not isinstance(entries, list):
        return Read({}, (Problem(name, f"must be a list, not {quote(entries)}"),), frozenset({name}))
    reads = [read_table(model, f"{name}.{place}", entry, kinds) for place, entry in enumerate(entries)]
    sound = {place: read.value for place, read in enumerate(reads) if read.value is not None and not read.problems}
    left_out = frozenset(f"{name}.{place}" for place in range(len(entries)) if place not in sound)
    return Read(sound, tuple(problem for read in reads for problem in read.problems), left_out)


def _pair(experiment: Experiment) -> Read[Experiment]:
    """Adds a server to a workload that needs one and has none, so that the rest can be checked."""
    if isinstance(experiment.workload, Transactions) and isinstance(experiment.database, NoDatabase):
        paired = experiment.model_copy(update={"database": Server()})
        return Read(paired, tuple(pairing_conflicts(experiment)), frozenset({"database"}))
    return Read(experiment)
