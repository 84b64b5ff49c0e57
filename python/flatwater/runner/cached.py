"""A workload on a real flash cache: files, or database servers, on what the cache serves as a file.

Each of its two devices is a file of this machine, or a modelled device in real time. The cache is made anew for each
cell; what a server has loaded is written back at the end of one, and is there in the next.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from flatwater.errors import UserError
from flatwater.experiment import Experiment, FlashCache, ModelledStorage, PlannedCell
from flatwater.experiment.device.text import storage_text
from flatwater.experiment.storage import Storage
from flatwater.owned import Folder
from flatwater.probe import Probe, device_text
from flatwater.probe.disk import read_mounts, storage_warning
from flatwater.runner.below import Below, open_below
from flatwater.runner.emulation import unmount
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.on_served import MADE, OnServedStack
from flatwater.runner.progress import Reporter
from flatwater.runner.served import ServedProcess
from flatwater.runner.served_cache import DEVICE_FILE, DRAIN, MOUNT_SOURCE, ServedCache
from flatwater.runner.volume import clear_volume


class CachedStack(OnServedStack):
    """fileio or servers on a flash cache that is served as a file."""

    #: What is mounted, and the pairing record.
    FOLDER: ClassVar[str] = "flatwater-cached"

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        super().__init__(experiment, plan)
        self._below: list[Below] = []
        self._served: ServedCache | None = None

    @property
    def _cache(self) -> FlashCache | None:
        """None in a cell without it: the storage is then served in the same way, so that cells compare."""
        return self._cell.flash_cache

    def _check(self) -> None:
        places = [("storage.path", self._cell.storage)]
        if self._cache is not None:
            places.append(("cache.storage.path", self._cache.fast))
        for field, storage in places:
            path = Path(storage.path or "")
            if not path.is_dir():
                hint = f"mkdir -p {path}: the cached device and the cache are files in directories"
                raise UserError(f"{path} is not a directory", where=field, hint=hint)
        self._check_driven("the cached device", "workload.files = 1")

    @property
    def device(self) -> str:
        return _told(self._cell.storage)

    @property
    def cache(self) -> str:
        return "" if self._cache is None else f"{self._cache.text}, on {_told(self._cache.fast)}"

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        reporter.phase("make the cache", None)
        owned = self._own_folder()
        self._clear()
        volume, mount = owned.make_folder("volume"), owned.make_folder("mounted")
        slow = self._open_below(interrupt)
        make = not slow.begun or owned.read_text(MADE) != self._file_system
        # The pairing record, and the cache device that a cell without a cache has not, but opens.
        for name in ("pair", "no-cache"):
            os.close(owned.make_file(name))
        request = self._cache_request() | {
            "slow": str(slow.file),
            "slow_bytes": slow.bytes,
            "pair": str(self._folder / "pair"),
            "mount": str(mount),
            "file_system": self._file_system,
            "folder": str(volume),
            "make": make,
            "interval_s": self._cell.record.interval_s,
        }
        self._served = ServedCache(request)
        self._served.wait_ready(lambda: interrupt.asked)
        if self._file_system:
            owned.write_text(MADE, self._file_system)
        size_bytes = min(self._cell.storage.size or slow.bytes, slow.bytes)
        self._stack = self._open(volume if self._file_system else mount / DEVICE_FILE, size_bytes)
        self._stack.prepare(reporter, interrupt)

    def _open_below(self, interrupt: Interrupt) -> Below:
        """Makes the devices ready; the slow one."""
        cell, cache = self._cell, self._cache
        seed, interval_s = self._plan.seed, cell.record.interval_s
        slow = open_below(cell.storage, "cached", cell.storage.size, seed, interval_s, kept=self._has_server)
        self._below = [slow]
        if cache is not None:
            self._below.append(open_below(cache.fast, "cache", cache.size, seed + 1, interval_s, kept=False))
        for below in self._below:
            below.wait_ready(interrupt)
        return slow

    def _cache_request(self) -> dict[str, Any]:
        """What the serving process is told of the cache alone."""
        cache = self._cache
        if cache is None:
            return {"plain": True}
        fast = self._below[-1]
        return {
            "plain": False,
            "fast": str(fast.file),
            "fast_bytes": fast.bytes,
            "block_bytes": cache.block_size,
            "preset": None if cache.preset == "none" else cache.preset,
            "settings": cache.changes(),
        }

    def probes(self) -> list[Probe]:
        assert self._served is not None
        found = super().probes()
        for below, layer in zip(self._below, ("storage.", "cache.fast_"), strict=False):
            if below.served is not None:
                found.append(_ServedProbe(below.served, layer))
        return [*found, _ServedProbe(self._served, "cache.")]

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        for served in [below.served for below in self._below] + [self._served]:
            if served is not None:
                for _, text in served.take_incidents():
                    journal.event("incident", text)
                served.require_alive()
        super().watch(journal, measured_s)

    def warnings(self) -> list[str]:
        late = [told for below in self._below if (told := below.warning) is not None]
        place = storage_warning(Path(self._cache.fast.path or "")) if self._cache is not None else None
        return [*late, *([place] if place is not None else []), *super().warnings()]

    def _end(self) -> None:
        # What a server has loaded is there in the next cell.
        self._close(drain=self._has_server)

    def _close(self, *, drain: bool = False) -> None:
        """Ends the cache and what is below it, whatever became of them, and undoes what they could not."""
        if self._stack is not None:
            self._stack.release()
        served, self._served = self._served, None
        below = list(reversed(self._below))
        try:
            if served is not None:
                served.close(DRAIN if drain else "")
        finally:
            with suppress(OSError):
                self._clear()
            for one in below:
                one.close()

    def _clear(self) -> None:
        """Undoes what a killed run left: both mounts are ours."""
        mount = self._folder / "mounted"
        clear_volume(mount / DEVICE_FILE, self._folder / "volume")
        for entry in read_mounts():
            if entry["target"] == os.path.realpath(mount) and entry["source"] == MOUNT_SOURCE:
                unmount(mount, lazily=True)

    def remove(self) -> None:
        """What was made goes, with the folders if nothing else is in them."""
        for below in self._below:
            below.remove()
        owned = Folder.find(self._folder, where="storage.path")
        if owned is not None:
            owned.remove_all()


class _ServedProbe:
    """What the cache, or a served device below it, tells, under the names of its place."""

    def __init__(self, served: ServedProcess, layer: str) -> None:
        self._served = served
        self._layer = layer

    def sample(self) -> dict[str, float]:
        """The series of its own last interval."""
        return {f"{self._layer}{name.partition('.')[2]}": value for name, value in self._served.sample().items()}


def _told(storage: Storage) -> str:
    if isinstance(storage, ModelledStorage):
        return f"{storage_text(storage)}, in real time"
    return device_text(Path(storage.path or ""))
