"""A workload on a real flash cache: files, or database servers, on what the cache serves as a file.

Each of its two devices is a file of this machine, or a modelled device in real time. The cache is made anew for each
cell; what a server has loaded is written back at the end of one, and is there in the next.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from flatwater._engine import Run
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, FileStorage, FlashCache, ModelledStorage, PlannedCell, Server
from flatwater.experiment.device.text import storage_text
from flatwater.experiment.storage import Storage
from flatwater.probe import Probe, device_text
from flatwater.probe.disk import read_mounts
from flatwater.results.schema import Condition, ResponseLimit, ServerFacts
from flatwater.runner.below import Below, open_below
from flatwater.runner.emulated import FILE_SYSTEM_OF_SERVERS, DeviceFileStack
from flatwater.runner.emulation import require_fuse, unmount
from flatwater.runner.files import FileStack
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.served import ServedProcess
from flatwater.runner.served_cache import DEVICE_FILE, DRAIN, MOUNT_SOURCE, ServedCache
from flatwater.runner.servers import ServerStack
from flatwater.runner.stack import Stack
from flatwater.runner.tally import Tally
from flatwater.runner.volume import clear_volume, require_file_system
from flatwater.server import find_server

#: Our folder under storage.path: what is mounted, and the pairing record.
FOLDER = "flatwater-cached"


class CachedStack(Stack):
    """fileio or servers on a flash cache that is served as a file."""

    # What was in the cache when a run was killed is not what would have been in it.
    resumable = False

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        require_fuse()
        self._experiment = experiment
        self._plan = plan
        self._cell = plan.experiment
        self._below: list[Below] = []
        self._served: ServedCache | None = None
        self._stack: Stack | None = None
        self._check()

    @property
    def _cache(self) -> FlashCache | None:
        """None in a cell without it: the storage is then served in the same way, so that cells compare."""
        return self._cell.flash_cache

    @property
    def _folder(self) -> Path:
        return Path(self._cell.storage.path or "").absolute() / FOLDER

    @property
    def _has_server(self) -> bool:
        return isinstance(self._cell.database, Server)

    @property
    def _file_system(self) -> str | None:
        asked = getattr(self._cell.storage, "file_system", None)
        return asked or (FILE_SYSTEM_OF_SERVERS if self._has_server else None)

    def _check(self) -> None:
        places = [("storage.path", self._cell.storage)]
        if self._cache is not None:
            places.append(("cache.storage.path", self._cache.fast))
        for field, storage in places:
            path = Path(storage.path or "")
            if not path.is_dir():
                hint = f"mkdir -p {path}: the cached device and the cache are files in directories"
                raise UserError(f"{path} is not a directory", where=field, hint=hint)
        if self._file_system is not None:
            require_file_system(self._file_system)
        elif self._cell.fileio.files != 1:
            what = f"the cached device is one file, but workload.files = {self._cell.fileio.files}"
            raise UserError(what, where="workload.files", hint="workload.files = 1")
        if isinstance(self._cell.database, Server):
            find_server(self._cell.database.binary)

    @property
    def place(self) -> Path:
        return Path(self._cell.storage.path or "")

    @property
    def device(self) -> str:
        return _told(self._cell.storage)

    @property
    def cache(self) -> str:
        return "" if self._cache is None else f"{self._cache.text}, on {_told(self._cache.fast)}"

    def check_sweep(self) -> None:
        """Every cell was checked when the experiment was read."""

    def turn_to(self, plan: PlannedCell) -> None:
        self._plan, self._cell = plan, plan.experiment
        self._check()

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        reporter.phase("make the cache", None)
        volume, mount = self._folder / "volume", self._folder / "mounted"
        try:
            self._folder.mkdir(exist_ok=True)
            self._clear()
            volume.mkdir(exist_ok=True)
            mount.mkdir(exist_ok=True)
        except OSError as error:
            raise FlatwaterError(f"cannot use {self._folder}: {error.strerror}", where="storage.path") from None
        slow = self._open_below(interrupt)
        made = self._folder / "file-system"
        make = not slow.begun or not made.exists() or made.read_text() != self._file_system
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
            made.write_text(self._file_system)
        self._stack = self._open(volume if self._file_system else mount / DEVICE_FILE, slow.bytes)
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

    def _open(self, path: Path, slow_bytes: int) -> Stack:
        """The stack that drives what is served, to which it is a place like any other."""
        fields: dict[str, Any] = {"kind": "file", "path": str(path)}
        if not self._has_server:
            size = self._cell.storage.size or slow_bytes
            fields |= {"size": min(size, slow_bytes), "fill": self._cell.storage.fill}
            fields["overwrite"] = self._file_system is None
        cell = self._cell.model_copy(update={"storage": FileStorage.model_validate(fields)})
        plan = replace(self._plan, experiment=cell)
        if self._has_server:
            return ServerStack(self._experiment, plan)
        return (FileStack if self._file_system else DeviceFileStack)(cell, plan)

    @property
    def _inner(self) -> Stack:
        assert self._stack is not None
        return self._stack

    def probes(self) -> list[Probe]:
        assert self._served is not None
        found = self._inner.probes()
        for below, layer in zip(self._below, ("storage.", "cache.fast_"), strict=False):
            if below.served is not None:
                found.append(_ServedProbe(below.served, layer))
        return [*found, _ServedProbe(self._served, "cache.")]

    def workload_spec(self, seed: int) -> dict[str, Any]:
        return self._inner.workload_spec(seed)

    def precondition_spec(self, seed: int) -> dict[str, Any] | None:
        return self._inner.precondition_spec(seed)

    def read_back_spec(self, spec: dict[str, Any]) -> dict[str, Any] | None:
        return self._inner.read_back_spec(spec)

    def start(self, spec: dict[str, Any], after: Run | None = None) -> Run:
        return self._inner.start(spec, after)

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        for served in [below.served for below in self._below] + [self._served]:
            if served is not None:
                for _, text in served.take_incidents():
                    journal.event("incident", text)
                served.require_alive()
        if self._stack is not None:
            self._stack.watch(journal, measured_s)

    def check(self, reporter: Reporter) -> list[Condition]:
        return self._inner.check(reporter)

    def response_limits(self, tally: Tally) -> list[ResponseLimit]:
        return self._stack.response_limits(tally) if self._stack is not None else []

    @property
    def recoveries_s(self) -> list[float]:
        return self._stack.recoveries_s if self._stack is not None else []

    @property
    def servers(self) -> list[ServerFacts]:
        return self._stack.servers if self._stack is not None else []

    @property
    def trouble(self) -> str | None:
        return self._stack.trouble if self._stack is not None else None

    def kept(self, text: str, logs: Path) -> str:
        return self._stack.kept(text, logs) if self._stack is not None else text

    def warnings(self) -> list[str]:
        inner = self._stack.warnings() if self._stack is not None else []
        return [*(told for below in self._below if (told := below.warning) is not None), *inner]

    def end_cell(self, logs: Path) -> None:
        try:
            if self._stack is not None:
                self._stack.end_cell(logs)
        finally:
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
        for name in ("pair", "no-cache", "file-system"):
            (self._folder / name).unlink(missing_ok=True)
        for name in ("mounted", "volume", ""):
            with suppress(OSError):
                (self._folder / name).rmdir()

    def release(self) -> None:
        with suppress(Interrupted):
            self._close()


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
