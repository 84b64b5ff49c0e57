"""The four layers of a cell composed: each is opened by its own kind, and stands on the one below it.

What may stand on what is decided when the experiment is read (experiment/conflicts/mixture.py): all layers are in
virtual time, or none is.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatwater.experiment import Experiment, PlannedCell, cell_at
from flatwater.probe import Probe
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.cache import open_cache
from flatwater.runner.stack.database import open_database
from flatwater.runner.stack.layers.cache import Cache
from flatwater.runner.stack.layers.database import Database
from flatwater.runner.stack.layers.layer import Ground, GroundLayer, Layer
from flatwater.runner.stack.layers.storage import Storage
from flatwater.runner.stack.layers.workload import Workload
from flatwater.runner.stack.storage import open_storage
from flatwater.runner.stack.workload import open_workload

if TYPE_CHECKING:
    from flatwater.runner.journal import Journal
    from flatwater.runner.resuming import Left


class Stack:
    """What the cells of an experiment run on: opened once, and made ready for each cell in turn."""

    def __init__(
        self, experiment: Experiment, storage: Storage, cache: Cache | None, database: Database, workload: Workload[Any]
    ) -> None:
        self.workload = workload
        self.database = database
        self._experiment = experiment
        self._storage = storage
        self._cache = cache
        #: What the cell stands on; None where there is nothing, or nothing yet.
        self._ground: Ground | None = None
        #: The cell's folder, where a run after this one would go on with it; None where none could.
        self.kept_in: Path | None = None

    @property
    def _layers(self) -> list[Layer]:
        """From the bottom up."""
        cache = [self._cache] if self._cache is not None else []
        return [self._storage, *cache, self.database, self.workload]

    @property
    def _ground_layer(self) -> GroundLayer | None:
        """The layer that gives the ground; None where the stack needs none of this machine."""
        below = self._cache or self._storage
        return below if isinstance(below, GroundLayer) else None

    @property
    def place(self) -> Path | None:
        """Where the bytes go, for the machine's description; None when that is another machine's affair."""
        return self._storage.place(self.workload.used or self.database.used)

    def real_places(self, cell: Experiment) -> list[Path]:
        """Where a cell's bytes go to real drives of this machine: those of its storage, and of a cache's own device."""
        storage = self.place if cell.layers["storage"] == "real" else None
        cache = self._cache.place if self._cache is not None else None
        return [place for place in (storage, cache) if place is not None]

    @property
    def device(self) -> str:
        """The storage in a few words."""
        return self._storage.text(self.workload.used or self.database.used)

    @property
    def cache(self) -> str:
        """The cache and its device in a few words; empty where there is none."""
        return self._cache.text if self._cache is not None else ""

    def turn_to(self, plan: PlannedCell) -> None:
        """Goes to the next cell: finds what it uses and makes sure that it may. Errors: UserError."""
        for layer in self._layers:
            layer.turn_to(plan)
        giver = self._ground_layer
        self._ground = giver.ready() if giver is not None else None
        if self._ground is not None:
            self._stand_on(self._ground)

    def _stand_on(self, ground: Ground) -> None:
        self.database.stand_on(ground)
        self.workload.stand_on(ground)

    def check_sweep(self) -> None:
        """Refuses, before anything is made, what would end the sweep at one of its later cells. Errors: UserError."""
        if self._ground_layer is None or self._ground is not None:
            self.database.check_sweep(self._experiment)
            self.workload.check_sweep(self._experiment)

    @property
    def recomputes(self) -> bool:
        """Whether a cell that is run again gives the same bytes, so that there is no use in half of one."""
        return self._storage.recomputes

    def take_up(self, left: Left) -> str | None:
        """Why the cell cannot go on with what an earlier run left of it; None if it can. It is called before `prepare`.

        After None, `prepare` goes on with what is left, or raises CannotResume and is then called again to begin anew.
        """
        reasons = (layer.take_up(left) for layer in self._layers)
        return next((reason for reason in reasons if reason is not None), None)

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        """Makes everything that the cell needs be there. Errors: UserError, FlatwaterError, Interrupted."""
        giver = self._ground_layer
        if giver is not None and giver.ready() is None:
            self._ground = giver.make(reporter, interrupt)
            self._stand_on(self._ground)
        self.workload.prepare(reporter, interrupt, self.kept_in if self._lasts else None)

    @property
    def _lasts(self) -> bool:
        """Whether a later cell, or a later run, finds what stands on the ground again."""
        if self._ground is None:
            return self._ground_layer is None
        return self._ground.lasts

    def probes(self) -> list[Probe]:
        """What is sampled each interval."""
        upper = [*self.workload.probes(), *self.database.probes()]
        return [*upper, *self._storage.probes(), *(self._cache.probes() if self._cache is not None else [])]

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        """Called several times a second while a workload runs, `measured_s` after its measurement began.

        Errors: FlatwaterError when the run cannot go on.
        """
        for layer in self._layers:
            layer.watch(journal, measured_s)

    def faults(self) -> list[str]:
        """Faults that were injected on purpose, for the summary's warnings."""
        return [fault for layer in self._layers for fault in layer.faults()]

    def warnings(self) -> list[str]:
        """What is weaker than it was asked to be."""
        return [warning for layer in self._layers for warning in layer.warnings()]

    def end_cell(self, logs: Path, *, resumable: bool = False) -> None:
        """The cell is over: what belongs to its result is put into the folder `logs`, and what it used is let go; but
        what a resumed run needs stays if the cell is `resumable`. Errors: FlatwaterError.
        """
        with ExitStack() as ending:
            # The last is called first: from the top down, each whatever became of the others.
            for layer in self._layers:
                if not self._lasts and layer in (self.database, self.workload):
                    # What they stand on is taken away.
                    ending.callback(layer.release)
                ending.callback(layer.end_cell, logs, resumable=resumable and self._lasts)

    def remove(self) -> None:
        """Deletes what was prepared (`storage.keep = false`); devices and files of others stay."""
        for layer in reversed(self._layers):
            layer.remove()

    def release(self) -> None:
        """Lets other runs use the storage."""
        with ExitStack() as releasing:
            for layer in self._layers:
                releasing.callback(layer.release)


def open_stack(experiment: Experiment, plan: PlannedCell) -> Stack:
    """The stack of an experiment, turned to a cell, whose layers are of its kinds. Errors: UserError."""
    cell = plan.experiment
    storage = open_storage(cell)
    cache = open_cache(cell, storage)
    below = cache or storage
    database = open_database(cell, below)
    workload = open_workload(cell, database, below)
    stack = Stack(experiment, storage, cache, database, workload)
    try:
        stack.turn_to(plan)
    except BaseException:
        stack.release()
        raise
    return stack


def memory_bytes(experiment: Experiment) -> int:
    """Memory that the models of an experiment's first cell take. Errors: UserError."""
    return open_stack(experiment, cell_at(experiment, 0)).workload.memory_bytes
