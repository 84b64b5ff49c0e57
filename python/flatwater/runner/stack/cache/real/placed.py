"""A storage of a server's parts that the cache is in front of: two devices and a cache, as one storage."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from flatwater.experiment import Experiment, PlannedCell
from flatwater.experiment.cache import FlashCache
from flatwater.experiment.cache.flash import DATA
from flatwater.experiment.storage import Storage as StorageFields
from flatwater.probe import Probe
from flatwater.probe.disk import DiskProbe
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.stack.cache.real.cache import RealCache
from flatwater.runner.stack.layers.layer import Ground, GroundLayer
from flatwater.runner.stack.layers.storage import SLOW, Storage, Used
from flatwater.runner.stack.storage import open_device


class CachedStorage(Storage, GroundLayer):
    """The ground is a file system on the cache's served file. Its content is made anew for each cell."""

    def __init__(self, storage: StorageFields, prefix: str) -> None:
        """`prefix` is that of the series of the storage."""
        self._prefix = prefix
        self._slow = open_device(storage, replace(SLOW, prefix=prefix))
        self._cache = RealCache(self._slow, f"{prefix}cache_", keeps=False)

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        inner = replace(plan, experiment=_as_only(plan.experiment))
        self._slow.turn_to(inner)
        self._cache.turn_to(inner)

    def place(self, used: Used | None) -> Path | None:
        return self._slow.place(None)

    @property
    def cache_place(self) -> Path | None:
        """The place of the cache's device, if it is real."""
        return self._cache.place

    def text(self, used: Used | None) -> str:
        behind = f", behind a {self._cache.text}" if self._cache.text else ""
        return f"{self._slow.text(None)}{behind}"

    def take_up(self, left: Left) -> str | None:
        return self._cache.take_up(left)

    def ready(self) -> None:
        return None

    def make(self, reporter: Reporter, interrupt: Interrupt) -> Ground:
        return self._cache.make(reporter, interrupt)

    def probes(self) -> list[Probe]:
        storage = self._cell.storage
        device = [DiskProbe(Path(storage.path or ""), self._prefix)] if storage.REALITY == "real" else []
        return [*device, *self._slow.probes(), *self._cache.probes()]

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        self._slow.watch(journal, measured_s)
        self._cache.watch(journal, measured_s)

    def warnings(self) -> list[str]:
        return [*self._slow.warnings(), *self._cache.warnings()]

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        with ExitStack() as ending:
            ending.callback(self._slow.end_cell, logs, resumable=False)
            ending.callback(self._cache.end_cell, logs, resumable=False)

    def remove(self) -> None:
        self._cache.remove()
        self._slow.remove()

    def release(self) -> None:
        with ExitStack() as releasing:
            releasing.callback(self._slow.release)
            releasing.callback(self._cache.release)


def _as_only(cell: Experiment) -> Experiment:
    """The cell whose storage this one is, with the cache in front of it."""
    assert isinstance(cell.cache, FlashCache)
    return cell.model_copy(update={"cache": cell.cache.model_copy(update={"before": DATA})})
