"""The other storages of a cell, which parts of its servers are placed on. Each is opened like a storage of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flatwater.errors import UserError
from flatwater.experiment import Experiment, FileStorage, ModelledStorage, PlannedCell, Server
from flatwater.experiment.cache import FlashCache, NoCache
from flatwater.experiment.database.placed import Other, PlacedLayer
from flatwater.experiment.storage import Storage as StorageFields
from flatwater.experiment.storage.text import storage_text
from flatwater.probe import Probe
from flatwater.probe.disk import DiskProbe, storage_warning
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.layers.layer import GroundLayer, Layer
from flatwater.runner.stack.layers.storage import Storage, Used

if TYPE_CHECKING:
    from flatwater.runner.journal import Journal
    from flatwater.runner.resuming import Left


def others_of(cell: Experiment) -> dict[str, Other]:
    """The other storages of a cell with real servers, by their names; none in virtual time."""
    return cell.database.others if isinstance(cell.database, Server) else {}


def prefix_of(name: str) -> str:
    """The prefix of the series of a storage. Those of the model have the same (crates/model, machine.rs)."""
    return f"storage.{name}_"


class OtherStorages(Layer):
    """The storages beside that of the data, as far as the current cell uses them."""

    def __init__(self, open_cached: Callable[[StorageFields, str], Storage]) -> None:
        """`open_cached` opens a storage that the cell's cache is in front of, with the prefix of its series."""
        self._open_cached = open_cached
        self._storages: dict[str, Storage] = {}
        #: The directory of each, once it is ready.
        self._places: dict[str, Path] = {}

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        self.release()
        for name, other in others_of(plan.experiment).items():
            with _of(name):
                self._storages[name] = storage = self._open(name, other, plan.experiment)
                storage.turn_to(replace(plan, experiment=_on(plan.experiment, name, other)))

    def _open(self, name: str, other: Other, cell: Experiment) -> Storage:
        if _is_cached(cell, name):
            return self._open_cached(other.storage, prefix_of(name))
        return _open(name, other)

    def ready(self) -> dict[str, Path] | None:
        """The directories, if all exist before the cell is prepared; else None."""
        for name, storage in self._storages.items():
            assert isinstance(storage, GroundLayer)
            ground = storage.ready()
            if ground is None:
                return None
            self._places[name] = Path(ground.files.path or "").absolute()
        return dict(self._places)

    def make(self, reporter: Reporter, interrupt: Interrupt) -> dict[str, Path]:
        """Makes those that do not exist. Errors: UserError, FlatwaterError, Interrupted."""
        for name, storage in self._storages.items():
            assert isinstance(storage, GroundLayer)
            with _of(name):
                ground = storage.ready() or storage.make(reporter, interrupt)
            self._places[name] = Path(ground.files.path or "").absolute()
        return dict(self._places)

    @property
    def last(self) -> bool:
        """Whether their files stay after the end of the cell."""
        others = others_of(self._cell).items()
        return all(
            isinstance(other.storage, FileStorage) and not _is_cached(self._cell, name) for name, other in others
        )

    def texts(self) -> dict[str, str]:
        """Whether each storage is real or modelled, what it is in a few words, and what is on it."""
        database, told = self._cell.database, dict[str, str]()
        for name, other in (database.others if isinstance(database, PlacedLayer) else {}).items():
            path = Path(other.storage.path or "")
            storage = self._storages.get(name)
            text = storage.text(Used(path, path)) if storage is not None else storage_text(other.storage) or ""
            told[name] = f"{other.storage.REALITY}: {text} ({other.text})"
        return told

    def real_places(self) -> list[Path]:
        """The directories that are on real drives of this machine."""
        own = [
            Path(other.storage.path or "")
            for other in others_of(self._cell).values()
            if isinstance(other.storage, FileStorage)
        ]
        caches = (getattr(storage, "cache_place", None) for storage in self._storages.values())
        return [*own, *(place for place in caches if place is not None)]

    def take_up(self, left: Left) -> str | None:
        reasons = (storage.take_up(left) for storage in self._storages.values())
        return next((reason for reason in reasons if reason is not None), None)

    def probes(self) -> list[Probe]:
        probes: list[Probe] = []
        for name, storage in self._storages.items():
            # A cached one has the figures of its device below the cache, not of the file system above.
            if name in self._places and not _is_cached(self._cell, name):
                probes.append(DiskProbe(self._places[name], prefix_of(name)))
            probes += storage.probes()
        return probes

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        for storage in self._storages.values():
            storage.watch(journal, measured_s)

    def warnings(self) -> list[str]:
        places = [storage_warning(place) for place in self.real_places()]
        late = [f"{name}: {text}" for name, storage in self._storages.items() for text in storage.warnings()]
        return [*late, *(text for text in places if text is not None)]

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        others = others_of(self._cell)
        with ExitStack() as ending:
            for name, storage in self._storages.items():
                if isinstance(others[name].storage, ModelledStorage) or _is_cached(self._cell, name):
                    # The content of a served device is made anew for each cell.
                    ending.callback(storage.remove)
                ending.callback(storage.end_cell, logs, resumable=resumable)

    def release(self) -> None:
        storages, self._storages, self._places = self._storages, {}, {}
        with ExitStack() as releasing:
            for storage in storages.values():
                releasing.callback(storage.release)


def _is_cached(cell: Experiment, name: str) -> bool:
    """Whether the cache is in front of this storage, or would be if the cell had it: both are served in one way."""
    return isinstance(cell.cache, FlashCache) and cell.cache.before == name


def _on(cell: Experiment, name: str, other: Other) -> Experiment:
    """The cell with this storage in the place of its own, and without a cache that is elsewhere."""
    without = {} if _is_cached(cell, name) else {"cache": NoCache()}
    return cell.model_copy(update={"storage": other.storage, **without})


def _open(name: str, other: Other) -> Storage:
    if isinstance(other.storage, ModelledStorage):
        from flatwater.runner.stack.storage.modelled.emulated import EmulatedFiles

        return EmulatedFiles(name, prefix_of(name))
    from flatwater.runner.stack.storage.real import LocalFiles

    return LocalFiles()


@contextmanager
def _of(name: str) -> Iterator[None]:
    """Errors of the storage name the user's fields of this one."""
    try:
        yield
    except UserError as error:
        place = f"database.storages.{name}."
        where, hint = error.where, error.hint
        if where is not None and where.startswith("storage."):
            where = place + where.removeprefix("storage.")
        raise UserError(error.what, where=where, hint=hint.replace("storage.", place) if hint else hint) from None
