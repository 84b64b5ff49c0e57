"""Names of placed tables that the workload does not have: a server would tell of them after hours of loading only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.problem import Problem, quote
from flatwater.experiment.workload import Oltp, Tpcc
from flatwater.experiment.workload.transactions import Transactions
from flatwater.spelling import FEW_CHOICES, nearest

#: Tables that only a model has (`touches/` of crates/model), and `database.tables` can put elsewhere: undo logs, what
#: tpcc's tables grow into, the change buffer.
_OF_MODELS = ("undo", "growth", "change_buffer")


def placed_table_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Entries of `database.placement.tables`, and of a model's `database.tables`, that name no table."""
    workload, database = experiment.workload, experiment.database
    if not isinstance(workload, Transactions) or not isinstance(database, PlacedLayer) or workload.table_names is None:
        return
    names = workload.table_names
    if isinstance(database, InnodbModel):
        if isinstance(workload, Oltp):
            names = names[: max(1, len(names) // database.servers)]  # each server has its share of them
        if isinstance(workload, Tpcc) and workload.variant == "sysbench-tpcc":
            yield from _problems_of_sets(database)
            return
        yield from _problems("database.tables", database.tables, (*names, *_OF_MODELS))
    yield from _problems("database.placement.tables", database.placement.tables, names)


def _problems_of_sets(database: InnodbModel) -> Iterator[Problem]:
    """The model has each table of all sets in one piece."""
    for field, tables in (
        ("database.tables", database.tables),
        ("database.placement.tables", database.placement.tables),
    ):
        for table in tables:
            if table not in _OF_MODELS:
                about = (f"{field}.{table}", "workload.variant", "database.kind")
                what = "one table of several sets by itself is not modelled"
                yield Problem(f"{field}.{table}", what, 'take it out, or workload.variant = "tpcc-mysql"', about)


def _problems(field: str, tables: Iterable[str], names: Sequence[str]) -> Iterator[Problem]:
    known = frozenset(names)
    for table in tables:
        if table in known:
            continue
        close = nearest(table, names)
        listed = f"it has {', '.join(names[:FEW_CHOICES])}{' and so on' if len(names) > FEW_CHOICES else ''}"
        about = ("workload.kind", "workload.variant", "workload.table_sets", "workload.tables", "database.servers")
        yield Problem(
            f"{field}.{table}",
            f"the workload has no table {quote(table)}",
            f"did you mean {close}?" if close else listed,
            (f"{field}.{table}", "database.kind", *about),
        )
