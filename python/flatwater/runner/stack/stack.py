"""Composes the four layers of a cell. Each is opened by its kind, and stands on the one below it.

The check of the experiment decides which layers fit together (experiment/conflicts/mixture.py): either all layers are
in virtual time, or none is.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatwater.experiment import Experiment, PlannedCell, cell_at
from flatwater.probe import Probe
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.cache import open_cache, open_cached
from flatwater.runner.stack.database import open_database
from flatwater.runner.stack.layers.cache import Cache
from flatwater.runner.stack.layers.database import Database
from flatwater.runner.stack.layers.layer import Ground, GroundLayer, Layer
from flatwater.runner.stack.layers.running import LoadHosts
from flatwater.runner.stack.layers.storage import Storage
from flatwater.runner.stack.layers.workload import Workload
from flatwater.runner.stack.others import OtherStorages
from flatwater.runner.stack.storage import open_storage
from flatwater.runner.stack.workload import open_workload

if TYPE_CHECKING:
    from flatwater.results.observation import Gap
    from flatwater.runner.journal import Journal
    from flatwater.runner.resuming import Left


class Stack:
    """The layers that the cells of an experiment run on: opened once, and prepared for each cell in turn."""

    def __init__(
        self, experiment: Experiment, storage: Storage, cache: Cache | None, database: Database, workload: Workload[Any]
    ) -> None:
        self.workload = workload
        self.database = database
        self._experiment = experiment
        self._storage = storage
        self._cache = cache
        self._others = OtherStorages(open_cached)
        #: The files that the cell uses; None if the stack uses none, or has not made them yet.
        self._ground: Ground | None = None
        #: The folder of the cell, if a later run on this machine can resume it; else None.
        self.kept_in: Path | None = None

    @property
    def _layers(self) -> list[Layer]:
        """From the bottom up."""
        cache = [self._cache] if self._cache is not None else []
        return [self._storage, *cache, self._others, self.database, self.workload]

    @property
    def _ground_layer(self) -> GroundLayer | None:
        """The layer that gives the ground; None if the stack uses no files of this machine."""
        below = self._cache or self._storage
        return below if isinstance(below, GroundLayer) else None

    @property
    def place(self) -> Path | None:
        """The place of the data, for the machine's description; None if it is on another machine."""
        return self._storage.place(self.workload.used or self.database.used)

    def real_places(self, cell: Experiment) -> list[Path]:
        """The places on real drives of this machine that a cell uses: of its storage, and of the cache's device."""
        storage = self.place if cell.layers["storage"] == "real" else None
        cache = self._cache.place if self._cache is not None else None
        found = [place for place in (storage, cache) if place is not None]
        return [*found, *self._others.real_places(), *self.database.other_places]

    @property
    def device(self) -> str:
        """The storage in a few words."""
        return self._storage.text(self.workload.used or self.database.used)

    @property
    def others(self) -> dict[str, str]:
        """The other storages of the cell in a few words each, with the parts of the servers on them, by their names."""
        return {**self._others.texts(), **self.database.others}

    @property
    def cache(self) -> str:
        """The cache and its device in a few words; empty if there is no cache."""
        return self._cache.text if self._cache is not None else ""

    def turn_to(self, plan: PlannedCell) -> None:
        """Switches to the next cell: finds its files and checks that it may use them. Errors: UserError."""
        for layer in self._layers:
            layer.turn_to(plan)
        self._ground = self._ready()
        if self._ground is not None:
            self._stand_on(self._ground)

    def _ready(self) -> Ground | None:
        """The ground, if all of it exists before the cell is prepared."""
        giver = self._ground_layer
        ground, others = giver.ready() if giver is not None else None, self._others.ready()
        return self._with_others(ground, others) if ground is not None and others is not None else None

    def _with_others(self, ground: Ground, others: dict[str, Path]) -> Ground:
        return replace(ground, others=others, lasts=ground.lasts and self._others.last) if others else ground

    def _stand_on(self, ground: Ground) -> None:
        self.database.stand_on(ground)
        self.workload.stand_on(ground)

    def check_sweep(self) -> None:
        """Refuses, before anything is made, what would make a later cell of the sweep fail. Errors: UserError."""
        if self._ground_layer is None or self._ground is not None:
            self.database.check_sweep(self._experiment)
            self.workload.check_sweep(self._experiment)

    @property
    def recomputes(self) -> bool:
        """Whether a repeated cell gives the same bytes. Then there is no use in resuming half of one."""
        return self._storage.recomputes

    def take_up(self, left: Left) -> str | None:
        """Why the cell cannot be resumed from what an earlier run left; None if it can. The caller calls it before
        `prepare`.

        After None, `prepare` resumes the cell. Or it raises CannotResume, and the caller calls it again to start anew.
        """
        reasons = (layer.take_up(left) for layer in self._layers)
        return next((reason for reason in reasons if reason is not None), None)

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        """Prepares everything that the cell needs. Errors: UserError, FlatwaterError, Interrupted."""
        giver = self._ground_layer
        if giver is not None and self._ready() is None:
            ground = giver.ready() or giver.make(reporter, interrupt)
            self._ground = self._with_others(ground, self._others.make(reporter, interrupt))
            self._stand_on(self._ground)
        self.workload.prepare(reporter, interrupt, self.kept_in if self._lasts else None)

    @property
    def _lasts(self) -> bool:
        """Whether a later cell, or a later run, finds the same files again."""
        if self._ground is None:
            return self._ground_layer is None
        return self._ground.lasts

    def probes(self) -> list[Probe]:
        """The probes that are sampled in each interval."""
        upper = [*self.workload.probes(), *self.database.probes()]
        return [
            *upper,
            *self._storage.probes(),
            *self._others.probes(),
            *(self._cache.probes() if self._cache is not None else []),
        ]

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        """Called several times a second while a workload runs, `measured_s` after its measurement began.

        Errors: FlatwaterError when the run cannot go on.
        """
        for layer in self._layers:
            layer.watch(journal, measured_s)

    def faults(self) -> list[str]:
        """Faults that were injected on purpose, for the summary's warnings."""
        return [fault for layer in self._layers for fault in layer.faults()]

    def gaps(self) -> list[Gap]:
        """Figures that could not be recorded, and why."""
        return [gap for layer in self._layers for gap in layer.gaps()]

    def warnings(self) -> list[str]:
        """The respects in which the stack is weaker than the experiment asks for."""
        return [warning for layer in self._layers for warning in layer.warnings()]

    def end_cell(self, logs: Path, *, resumable: bool = False) -> None:
        """Ends the cell: moves its logs into the folder `logs` and releases its resources. If the cell is `resumable`,
        the data for a resumed run stay. Errors: FlatwaterError.
        """
        with ExitStack() as ending:
            # An exit stack calls in reverse order: the layers end from the top down, even if one of them fails.
            for layer in self._layers:
                if not self._lasts and layer in (self.database, self.workload):
                    # The ground of the cell ends, so the layers above let go of it.
                    ending.callback(layer.release)
                ending.callback(layer.end_cell, logs, resumable=resumable and self._lasts)

    def remove(self) -> None:
        """Deletes the prepared files (`storage.keep = false`). Devices and files of others stay."""
        for layer in reversed(self._layers):
            layer.remove()

    def release(self) -> None:
        """Releases the storage for other runs."""
        with ExitStack() as releasing:
            for layer in self._layers:
                releasing.callback(layer.release)


def open_stack(experiment: Experiment, plan: PlannedCell, hosts: LoadHosts | None = None) -> Stack:
    """A stack for the kinds of a cell's layers, turned to that cell. `hosts` make the load of cells with a `[load]`.

    Errors: UserError.
    """
    cell = plan.experiment
    storage = open_storage(cell)
    cache = open_cache(cell, storage)
    below = cache or storage
    database = open_database(cell, below)
    workload = open_workload(cell, database, below, hosts)
    stack = Stack(experiment, storage, cache, database, workload)
    try:
        stack.turn_to(plan)
    except BaseException:
        stack.release()
        raise
    return stack


def memory_bytes(experiment: Experiment) -> int:
    """Memory of the models of an experiment's first cell. Errors: UserError."""
    return open_stack(experiment, cell_at(experiment, 0)).workload.memory_bytes
