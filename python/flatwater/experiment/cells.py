"""Cells: an experiment at one position of its sweep."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flatwater.errors import UserError
from flatwater.experiment.conflicts import layer_conflicts
from flatwater.experiment.database import Server
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.kinds import BUILT
from flatwater.experiment.layers import read_kinds, read_layer
from flatwater.experiment.load_hosts import Load
from flatwater.experiment.lookup import published_for
from flatwater.experiment.matching import length
from flatwater.experiment.parse import Tables
from flatwater.experiment.paths import with_values
from flatwater.experiment.problem import Problem
from flatwater.experiment.record import Record
from flatwater.experiment.report import Report
from flatwater.experiment.stage import Findings, Read
from flatwater.experiment.sweep import Sweep
from flatwater.experiment.table import read_table
from flatwater.experiment.twin import FIELD as TWIN_FIELD
from flatwater.experiment.twin import Twin, as_twin
from flatwater.results.schema import FieldValues

#: More cells than this may be a slip of the hand: they are run when that is said to be meant.
CELLS_ASKED = 1000
#: The number of cells of a sweep that are built in advance to find conflicts. The others are checked when they run.
MAX_CHECKED_CELLS = 2000
#: The order of the cells is a list in memory. A run of more cells than this would never end.
MAX_ORDERED_CELLS = 10_000_000


@dataclass(frozen=True)
class PlannedCell:
    """One cell: `set` has the swept values as the user wrote them; in `experiment` they are applied, and nothing is
    swept.
    """

    index: int
    repeat: int
    set: FieldValues
    seed: int
    experiment: Experiment


def count_cells(experiment: Experiment) -> int:
    """The number of cells of an experiment, with repeats. No cell is built, so that 10^9 cells are counted at once."""
    return experiment.sweep.positions * experiment.repeat


def cell_at(experiment: Experiment, index: int) -> PlannedCell:
    """The cell with this number. Raises UserError for values that are valid alone but conflict."""
    repeat, position = divmod(index, experiment.sweep.positions)
    if not 0 <= repeat < experiment.repeat:
        raise IndexError(f"cell {index} of {count_cells(experiment)}")
    values = experiment.sweep.values_at(position)
    return PlannedCell(index, repeat, values, cell_seed(experiment.seed, index), make_cell(experiment, values))


def iter_cells(experiment: Experiment) -> Iterator[PlannedCell]:
    """Every cell in the order of the numbers. Each is built when it is needed."""
    return (cell_at(experiment, index) for index in range(count_cells(experiment)))


def run_order(experiment: Experiment) -> list[int]:
    """The numbers of the cells in the order to run them.

    With one repeat it is the order of the file. With several, one whole repeat runs after another, each shuffled by the
    seed: a drift during the run (temperature, wear, other load) then affects all settings alike.
    """
    total = count_cells(experiment)
    if total > MAX_ORDERED_CELLS:
        raise UserError(
            f"{total:,} cells are more than can be run (at most {MAX_ORDERED_CELLS:,})", hint="sweep fewer values"
        )
    if experiment.repeat == 1:
        return list(range(total))
    shuffler = random.Random(experiment.seed)
    positions = experiment.sweep.positions
    order: list[int] = []
    for repeat in range(experiment.repeat):
        whole = list(range(repeat * positions, (repeat + 1) * positions))
        shuffler.shuffle(whole)
        order += whole
    return order


def cell_seed(seed: int, index: int) -> int:
    """The seed of a cell: it depends only on the experiment's seed and the cell's number.

    It has 53 bits, so that programs that read JSON numbers as doubles keep it.
    """
    digest = hashlib.sha256(f"flatwater:{seed}:{index}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def make_cell(experiment: Experiment, values: FieldValues) -> Experiment:
    """The experiment of one cell: the swept fields are set, nothing is swept, no repeats.

    Raises UserError for values that are valid alone but conflict.
    """
    read = _read_cell(experiment, values)
    if read.problems:
        first = read.problems[0]
        raise UserError(f"{first.what} ({_text(values)})", where=experiment.name or None, hint=first.hint)
    return read.value.model_copy(update={"published": published_for(experiment, values)})


def cell_conflicts(experiment: Experiment, own: Sequence[Problem]) -> Iterator[Problem]:
    """Conflicts between swept values: each kind of conflict once, with the first cell that has it.

    `own` are the conflicts of the experiment's own values.
    """
    if not experiment.sweep.dimensions:
        return
    first: dict[tuple[str, tuple[str, ...]], Problem] = {}
    cells: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for values in itertools.islice(_cells_to_check(experiment.sweep), MAX_CHECKED_CELLS):
        for problem in _read_cell(experiment, values).problems:
            key = (problem.field, problem.rests_on)
            first.setdefault(key, dataclasses.replace(problem, what=f"{problem.what} (cell {_text(values)})"))
            cells[key] += 1
    known = {(problem.field, problem.rests_on) for problem in own}
    for key, problem in first.items():
        others = cells[key] - 1
        if key not in known:
            more = f", and {others} more cell{'' if others == 1 else 's'}" if others else ""
            yield dataclasses.replace(problem, what=problem.what + more)


def _cells_to_check(sweep: Sweep) -> Iterator[FieldValues]:
    """All cells but the first of a small sweep; of a large one, each value with the others' first values."""
    if sweep.positions <= MAX_CHECKED_CELLS:
        yield from (sweep.values_at(position) for position in range(1, sweep.positions))
        return
    first = sweep.values_at(0)
    for dimension in sweep.dimensions:
        for step in range(1, length(dimension)):
            yield first | {field: values[step] for field, values in dimension.items()}


def _read_cell(experiment: Experiment, values: FieldValues) -> Read[Experiment]:
    """A cell, and the conflicts between its values. It shares the layers without swept fields with the experiment."""
    found = Findings()
    tables = _changed_tables(experiment, values)
    kinds = found.keep(read_kinds({layer: {"kind": getattr(experiment, layer).kind} for layer in BUILT} | tables))
    changed = [layer for layer in BUILT if layer in tables]
    changes: dict[str, object] = {layer: found.keep(read_layer(layer, tables[layer], kinds)) for layer in changed}
    if "record" in tables:
        changes["record"] = found.keep(read_table(Record, "record", tables["record"], kinds)) or Record()
    if "load" in tables:
        changes["load"] = found.keep(read_table(Load, "load", tables["load"], kinds)) or Load()
    if isinstance(database := changes.get("database"), Server) and isinstance(experiment.database, Server):
        changes["database"] = database.with_password_of(experiment.database)
    if experiment.twin is not None and values.get(TWIN_FIELD):
        changes["load"] = None
    once = {"repeat": 1, "sweep": Sweep(), "twin": None, "report": Report(), "published": [], "expected": []}
    cell = experiment.model_copy(update=once | changes)
    if not found.problems:
        found.add(layer_conflicts(cell))
    return Read(cell, found.problems)


def _changed_tables(experiment: Experiment, values: FieldValues) -> Tables:
    """The tables that these values change. For a modelled twin also the tables that it replaces."""
    names = {field.partition(".")[0] for field in values}
    is_twin = experiment.twin is not None and bool(values.get(TWIN_FIELD))
    names |= {"database", "storage", "cache"} if is_twin else set()
    parts = {name: getattr(experiment, name) for name in sorted(names)}
    tables = with_values({name: part.model_dump() for name, part in parts.items() if part is not None}, values)
    return tables | as_twin(tables, Twin.model_validate(tables["twin"])) if is_twin else tables


def _text(values: FieldValues) -> str:
    return ", ".join(f"{field} = {value}" for field, value in values.items())
