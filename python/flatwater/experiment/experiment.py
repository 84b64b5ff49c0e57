"""An experiment: four layers, a stopwatch, and what is swept."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

from flatwater.errors import UserError
from flatwater.experiment.cache import Cache, FlashCache, NoCache
from flatwater.experiment.conflicts import layer_conflicts
from flatwater.experiment.database import Database, NoDatabase, Server
from flatwater.experiment.expected import Expectation, expectation_faults
from flatwater.experiment.fields import in_kinds, with_values
from flatwater.experiment.kinds import BUILT, read_layer
from flatwater.experiment.problem import Problem, Table, explain_error, quote, raise_problems
from flatwater.experiment.published import (
    PublishedFigure,
    figure_faults,
    published_for,
    relative_faults,
    unit_faults,
)
from flatwater.experiment.record import Record
from flatwater.experiment.report import Report
from flatwater.experiment.scale import SCALE_MAX
from flatwater.experiment.storage import FileStorage, ModelledStorage, Storage
from flatwater.experiment.sweep import Sweep, length, swept_fields
from flatwater.experiment.twin import FIELD as TWIN_FIELD
from flatwater.experiment.twin import Twin, as_twin, swept_with_twin, twin_conflicts
from flatwater.experiment.workload import Fileio, Workload
from flatwater.experiment.workload.transactions import Transactions
from flatwater.spelling import nearest

#: How many cells of a sweep are built to find values that do not go together; the rest are checked as they come.
MAX_CHECKED_CELLS = 2000
#: Cell numbers must fit 32 bits in a result.
MAX_REPEAT = 10_000

#: Validation context of an experiment that is not quite the file's: `--set` was used.
OVERRIDDEN = {"overridden": True}


def kinds_of(data: Any) -> dict[str, str]:
    """Layer -> kind, as far as it is to be known, of an experiment's data that may be wrong in any way."""
    found: dict[str, str] = {}
    tables = data if isinstance(data, Mapping) else {}
    swept = swept_fields(tables.get("sweep"))
    for layer, built in BUILT.items():
        table = tables.get(layer, {})
        kind = table.get("kind", next(iter(built))) if isinstance(table, Mapping) else getattr(table, "kind", None)
        if isinstance(kind, str) and kind in built and f"{layer}.kind" not in swept:
            found[layer] = kind
    return found


class Experiment(Table):
    """A whole experiment file, resolved. A swept field stands at the first of its values."""

    #: The file's stem if absent.
    name: str = ""
    title: str = ""
    about: str = ""
    #: Where the experiment was published.
    source: str = ""
    #: How often each cell is measured.
    repeat: int = Field(default=1, ge=1, le=MAX_REPEAT)
    #: How many times larger than the file says: `apply_scale` has done it by now, and it is `scaled_by`.
    scale: Annotated[float, Field(gt=0, le=SCALE_MAX)] = Field(default=1.0, exclude=True)
    scaled_by: Annotated[float, Field(gt=0)] = 1.0
    #: Everything random follows from it. 53 bits, as the cells' seeds.
    seed: int = Field(default=1, ge=0, lt=2**53)
    # `read_layer` picks the class by `kind`; a second kind of a layer makes it a union.
    workload: Annotated[Workload, BeforeValidator(partial(read_layer, "workload"))]
    database: Annotated[Database, BeforeValidator(partial(read_layer, "database"))] = NoDatabase()
    cache: Annotated[Cache, BeforeValidator(partial(read_layer, "cache"))] = NoCache()
    storage: Annotated[Storage, BeforeValidator(partial(read_layer, "storage"))] = FileStorage()
    record: Record = Record()
    sweep: Sweep = Sweep()
    twin: Twin | None = None
    report: Report = Report()
    published: list[PublishedFigure] = Field(default_factory=list)
    #: Of all cells together, so that a single cell has none.
    expected: list[Expectation] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _start_sweep(cls, data: Any) -> Any:
        """Sets swept fields to their first value: what stands in the layers is then a cell like any other."""
        if isinstance(data, Mapping):
            data = swept_with_twin(data)
        if not isinstance(data, Mapping) or "sweep" not in data:
            return data
        try:
            sweep = Sweep.model_validate(data["sweep"])
        except ValidationError:
            return data  # told where `sweep` itself is validated
        return with_values(data, sweep.values_at(0)) if sweep.dimensions else data

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        if info.context == OVERRIDDEN:
            self._forget_lost_cells()
        own = [*layer_conflicts(self), *twin_conflicts(self.twin, self.database.REALITY)]
        raise_problems("experiment", [*own, *self._cell_conflicts(own), *self._view_conflicts()])
        return self

    # The last validator is the outermost: everything above runs within it.
    @model_validator(mode="wrap")
    @classmethod
    def _know_the_kinds(cls, data: Any, handler: Callable[[Any], Self]) -> Self:
        with in_kinds(kinds_of(data)):
            return handler(data)

    def _forget_lost_cells(self) -> None:
        """An override may take away what the report and the published figures of the file speak of."""
        lost: dict[str, Any] = {
            axis: None for axis in ("x", "series") if getattr(self.report, axis) not in self.sweep.fields
        }
        if len(self.report.names) != self.sweep.positions:
            lost["names"] = []
        self.report = self.report.model_copy(update=lost)
        self.published = [
            figure
            for figure in self.published
            if not any((*figure_faults(self, figure), *relative_faults(self, figure), *unit_faults(self, figure)))
        ]
        self.expected = [one for one in self.expected if not any(expectation_faults(self, one))]

    @property
    def layers(self) -> dict[str, str]:
        """Layer -> `real`, `modelled` or `none`."""
        told = {layer: getattr(self, layer).REALITY for layer in BUILT}
        if self.in_virtual_time:
            told["workload"] = "modelled"
        if told["cache"] != "none":
            told["cache"] = "none" if self.flash_cache is None else "modelled" if self.in_virtual_time else "real"
        return told

    @property
    def in_virtual_time(self) -> bool:
        """Whether everything is modelled, so that no clock is read and nothing of this machine is measured."""
        return isinstance(self.storage, ModelledStorage) and not self.storage.real_time

    @property
    def files(self) -> FileStorage:
        """The storage, where it is known to be files or a device of this machine."""
        if not isinstance(self.storage, FileStorage):
            raise TypeError(f"the storage is a modelled {self.storage.kind}, not files")
        return self.storage

    @property
    def flash_cache(self) -> FlashCache | None:
        """The flash cache; None where there is none, or where this cell is without it."""
        return self.cache if isinstance(self.cache, FlashCache) and self.cache.enabled else None

    @property
    def modelled(self) -> ModelledStorage:
        """The storage, where it is known to be modelled."""
        if not isinstance(self.storage, ModelledStorage):
            raise TypeError("the storage is not modelled")
        return self.storage

    @property
    def fileio(self) -> Fileio:
        """The workload, where it is known to be reads and writes of files."""
        if not isinstance(self.workload, Fileio):
            raise TypeError(f"the workload is {self.workload.kind}, not fileio")
        return self.workload

    @property
    def transactions(self) -> Transactions:
        """The workload, where it is known to be one on a server."""
        if not isinstance(self.workload, Transactions):
            raise TypeError(f"the workload {self.workload.kind} uses no server")
        return self.workload

    @property
    def server(self) -> Server:
        """The database, where it is known to be a server."""
        if not isinstance(self.database, Server):
            raise TypeError(f"the database is {self.database.kind}, not a server")
        return self.database

    @property
    def schema_name(self) -> str:
        """The schema that holds the workload's tables on the server."""
        address = self.server.address
        return self.server.schema_name or (address.schema if address else None) or self.transactions.SCHEMA

    @property
    def size_per_file(self) -> int | None:
        """Bytes that the workload uses of each file; None where only the block device knows its size."""
        used = self.storage.used_bytes
        return None if used is None else used // self.fileio.files

    def cell(self, values: Mapping[str, Any]) -> Experiment:
        """The experiment of one cell: swept fields set, nothing swept, once.

        Raises UserError where values that are valid alone do not go together.
        """
        try:
            cell = self._with(values)
        except ValidationError as error:
            what, hint = explain_error(error.errors(include_url=False)[0])
            told = ", ".join(f"{field} = {value}" for field, value in values.items())
            raise UserError(f"{what} ({told})", where=self.name or None, hint=hint) from None
        cell.published = published_for(self, values)
        return cell

    def _with(self, values: Mapping[str, Any]) -> Experiment:
        fixed = self.model_dump(exclude={"repeat", "sweep", "report", "published", "expected"})
        data = with_values(fixed, values)
        if values.get(TWIN_FIELD):
            data = as_twin(data)
        elif self.twin is not None:
            data["twin"] = None
        cell = Experiment.model_validate(data)
        if isinstance(self.database, Server) and isinstance(cell.database, Server):
            cell.database.inherit_password(self.database)
        return cell

    def _cell_conflicts(self, own: Sequence[Problem]) -> Iterator[Problem]:
        """Swept values that do not go together: each kind of conflict once, with the first cell that has it."""
        if not self.sweep.dimensions:
            return
        told: dict[tuple[str, tuple[str, ...]], Problem] = {}
        cells: Counter[tuple[str, tuple[str, ...]]] = Counter()
        for values in itertools.islice(self._cells_to_check(), MAX_CHECKED_CELLS):
            try:
                self._with(values)
            except ValidationError as error:
                cell = ", ".join(f"{field} = {value}" for field, value in values.items())
                for details in error.errors(include_url=False):
                    what, hint = explain_error(details)
                    field = ".".join(str(part) for part in details["loc"])
                    rests_on = tuple(details.get("ctx", {}).get("rests_on", ()))
                    told.setdefault((field, rests_on), Problem(field, f"{what} (cell {cell})", hint, rests_on))
                    cells[field, rests_on] += 1
        known = {(problem.field, problem.rests_on) for problem in own}
        for key, problem in told.items():
            others = cells[key] - 1
            if key not in known:
                more = f", and {others} more cell{'' if others == 1 else 's'}" if others else ""
                yield dataclasses.replace(problem, what=problem.what + more)

    def _cells_to_check(self) -> Iterator[dict[str, Any]]:
        """Every cell but the first of a small sweep; of a large one, each value beside the others' first values."""
        sweep = self.sweep
        if sweep.positions <= MAX_CHECKED_CELLS:
            yield from (sweep.values_at(position) for position in range(1, sweep.positions))
            return
        first = sweep.values_at(0)
        for dimension in sweep.dimensions:
            for step in range(1, length(dimension)):
                yield first | {field: values[step] for field, values in dimension.items()}

    def _view_conflicts(self) -> Iterator[Problem]:
        """The report and the published figures speak of cells that there are."""
        swept = self.sweep.fields
        for axis in ("x", "series"):
            field = getattr(self.report, axis)
            if field is not None and field not in swept:
                close = nearest(field, swept)
                hint = f"did you mean {close}?" if close else f"swept: {', '.join(swept) or 'nothing'}"
                yield Problem(f"report.{axis}", f"{field} is not swept", hint, (field,))
        if self.report.series is not None and self.report.series == self.report.x:
            yield Problem("report.series", "is the same field as report.x", "take it out", ("report.x",))
        names = self.report.names
        if names and len(names) != self.sweep.positions:
            what = f"names {len(names)} of {self.sweep.positions:,} cells"
            yield Problem("report.names", what, "one for each cell, in the sweep's order", ("sweep",))
        elif len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            yield Problem("report.names", f"two cells are called {quote(twice)}", "a name for each")
        for number, figure in enumerate(self.published):
            about = tuple(figure.set)
            for what, advice in figure_faults(self, figure):
                yield Problem(f"published.{number}.set", what, advice, about)
            for what, advice in relative_faults(self, figure):
                yield Problem(f"published.{number}.relative_to", what, advice, tuple(figure.relative_to or ()))
            for what, advice in unit_faults(self, figure):
                yield Problem(f"published.{number}.unit", what, advice, ("workload.unit",))
        for number, one in enumerate(self.expected):
            for field, what, advice in expectation_faults(self, one):
                yield Problem(f"expected.{number}.{field}", what, advice, tuple(one.set))
