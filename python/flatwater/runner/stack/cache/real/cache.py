"""A real flash cache: it uses two devices, and gives the served file, or a file system on it.

Each cell gets a new cache. The loaded data of a server are written back at the end of a cell, and are on the storage in
the next.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from flatwater.errors import Interrupted, UserError
from flatwater.experiment import FlashCache, PlannedCell
from flatwater.owned import Folder
from flatwater.owned.mounted import read_mounts
from flatwater.probe import Probe
from flatwater.probe.disk import storage_warning
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.stack.cache.real.process import DEVICE_FILE, DRAIN, MOUNT_SOURCE, Request, ServedCache
from flatwater.runner.stack.layers.cache import Cache
from flatwater.runner.stack.layers.layer import Ground, GroundLayer
from flatwater.runner.stack.layers.storage import FAST, Device, Role
from flatwater.runner.stack.served.ground import GONE, MADE, check_served, file_system_of, has_server, served_ground
from flatwater.runner.stack.served.mounts import require_fuse, unmount
from flatwater.runner.stack.served.process import ServedProbe
from flatwater.runner.stack.served.volume import clear_volume
from flatwater.runner.stack.storage import open_device

#: The folder below storage.path for the mount points and the pairing record.
FOLDER = "flatwater-cached"


class RealCache(Cache, GroundLayer):
    """A flash cache on two devices. Each is a file of this machine or an emulated device."""

    def __init__(self, slow: Device, prefix: str = "cache.", *, keeps: bool = True) -> None:
        """`slow` is the stack's storage. The stack turns, watches and ends it. `prefix` is that of the series. Without
        `keeps`, a server's data are of no use to the next cell.
        """
        require_fuse()
        self._slow = slow
        self._prefix = prefix
        self._keeps = keeps
        self._fast: Device | None = None
        self._owned: Folder | None = None
        self._served: ServedCache | None = None

    @property
    def _cache(self) -> FlashCache | None:
        """None in a cell without a cache. The storage is then served in the same way, so that cells can be compared."""
        return self._cell.flash_cache

    @property
    def _path(self) -> Path:
        return Path(self._cell.storage.path or "")

    @property
    def _folder(self) -> Path:
        return self._path.absolute() / FOLDER

    @property
    def text(self) -> str:
        if self._cache is None or self._fast is None:
            return ""
        return f"{self._cache.text}, on {self._fast.text(None)}"

    @property
    def place(self) -> Path | None:
        """The place of the cache's device, if it is real."""
        if self._cache is None or self._fast is None or self._cache.fast.REALITY != "real":
            return None
        return self._fast.place(None)

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        places = [("storage.path", self._path)]
        if self._cache is not None:
            places.append(("cache.storage.path", Path(self._cache.fast.path or "")))
        for field, path in places:
            if not path.is_dir():
                hint = f"mkdir -p {path}: the cached device and the cache are files in directories"
                raise UserError(f"{path} is not a directory", where=field, hint=hint)
        check_served(self._cell, "the cached device", "workload.files = 1")
        self._fast = open_device(self._cache.fast, self._fast_role) if self._cache is not None else None

    def take_up(self, left: Left) -> str | None:
        return GONE

    def ready(self) -> None:
        return None

    def make(self, reporter: Reporter, interrupt: Interrupt) -> Ground:
        reporter.phase("make the cache", None)
        owned = self._own_folder()
        self._clear()
        volume, mount = owned.make_folder("volume"), owned.make_folder("mounted")
        self._open_devices(interrupt)
        slow, file_system = self._slow, file_system_of(self._cell)
        make = not slow.begun or owned.read_text(MADE) != file_system
        # Until it is drained, the cache holds a part of the file system: after a kill, the storage alone is incomplete.
        owned.remove(MADE)
        # The pairing record, and the file that a cell without a cache opens as its cache device.
        for name in ("pair", "no-cache"):
            os.close(owned.make_file(name))
        request = self._request() | {
            "slow": str(slow.file),
            "slow_bytes": slow.bytes,
            "pair": str(self._folder / "pair"),
            "mount": str(mount),
            "file_system": file_system,
            "folder": str(volume),
            "make": make,
            "interval_s": self._cell.record.interval_s,
        }
        self._served = ServedCache(request)
        self._served.wait_ready(lambda: interrupt.requested)
        size_bytes = min(self._cell.storage.size or slow.bytes, slow.bytes)
        return served_ground(self._cell, mount / DEVICE_FILE, volume, size_bytes)

    def _own_folder(self) -> Folder:
        """The folder, made if missing, and locked until `release`. Errors: UserError, FlatwaterError."""
        if self._owned is not None and self._owned.path != self._folder:
            self._owned.close()
            self._owned = None
        if self._owned is None:
            self._owned = Folder.open(self._folder, where="storage.path")
        return self._owned

    def _open_devices(self, interrupt: Interrupt) -> None:
        cell, seed, interval_s = self._cell, self._plan.seed, self._cell.record.interval_s
        self._slow.open(cell.storage.size, seed, interval_s, kept=self._keeps and has_server(cell))
        if self._cache is not None and self._fast is not None:
            self._fast.open(self._cache.size, seed + 1, interval_s, kept=False)
        for device in self._devices:
            device.wait_ready(interrupt)

    @property
    def _fast_role(self) -> Role:
        return replace(FAST, prefix=f"{self._prefix}fast_")

    @property
    def _devices(self) -> list[Device]:
        return [self._slow] if self._fast is None else [self._slow, self._fast]

    def _request(self) -> Request:
        """The request to the serving process, for the cache alone."""
        cache, fast = self._cache, self._fast
        if cache is None or fast is None:
            return {"plain": True}
        return {
            "plain": False,
            "fast": str(fast.file),
            "fast_bytes": fast.bytes,
            "block_bytes": cache.block_size,
            "preset": None if cache.preset == "none" else cache.preset,
            "settings": cache.changes(),
        }

    def probes(self) -> list[Probe]:
        probes = self._fast.probes() if self._fast is not None else []
        return [*probes, ServedProbe(self._served, self._prefix)] if self._served is not None else probes

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        if self._fast is not None:
            self._fast.watch(journal, measured_s)
        if self._served is not None:
            self._served.watch(journal)

    def warnings(self) -> list[str]:
        late = self._fast.warnings() if self._fast is not None else []
        place = storage_warning(Path(self._cache.fast.path or "")) if self._cache is not None else None
        return [*late, *([place] if place is not None else [])]

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        # The next cell needs the loaded data of a server.
        self._close(drain=self._keeps and has_server(self._cell))

    def _close(self, *, drain: bool = False) -> None:
        """Ends the cache and its device, also after a failure, and undoes what they could not undo."""
        served, self._served = self._served, None
        with ExitStack() as last:
            if self._fast is not None:
                last.callback(self._fast.close)
            last.callback(self._clear_quietly)
            if served is not None:
                served.close(DRAIN if drain else "")
                file_system = file_system_of(self._cell)
                if file_system and (drain or self._cache is None) and served.ended_well:
                    self._own_folder().write_text(MADE, file_system)

    def _clear_quietly(self) -> None:
        # A folder that another run has locked is not touched.
        if self._owned is not None:
            with suppress(OSError):
                self._clear()

    def _clear(self) -> None:
        """Undoes what a killed run left. Both mounts are flatwater's."""
        mount = self._folder / "mounted"
        clear_volume(mount / DEVICE_FILE, self._folder / "volume")
        for entry in read_mounts():
            if entry["target"] == os.path.realpath(mount) and entry["source"] == MOUNT_SOURCE:
                unmount(mount, lazily=True)

    def remove(self) -> None:
        """Deletes the files, and the folders if nothing else is in them."""
        if self._fast is not None:
            self._fast.remove()
        owned = Folder.find(self._folder, where="storage.path")
        if owned is not None:
            owned.remove_all()

    def release(self) -> None:
        if self._planned is None:
            return
        with suppress(Interrupted):
            self._close()
        owned, self._owned = self._owned, None
        if owned is not None:
            owned.close()
