"""A modelled device in real time, served as a file: as a ground, or as a device of a real cache."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from flatwater.errors import Interrupted, UserError
from flatwater.experiment import ModelledStorage, PlannedCell
from flatwater.experiment.storage import Storage as StorageFields
from flatwater.experiment.storage.text import storage_text
from flatwater.owned import Folder
from flatwater.plan.emulation import EmulatedDevice as EmulatedDevicePlan
from flatwater.probe import Probe
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.stack.layers.layer import Ground, GroundLayer
from flatwater.runner.stack.layers.storage import CONTENT, Device, Role, Storage, Used
from flatwater.runner.stack.served.ground import GONE, MADE, check_served, file_system_of, has_server, served_ground
from flatwater.runner.stack.served.mounts import release_mount, require_fuse
from flatwater.runner.stack.served.process import ServedProbe
from flatwater.runner.stack.served.trimming import trim_free_space
from flatwater.runner.stack.served.volume import clear_volume
from flatwater.runner.stack.storage.modelled.emulation import (
    DEVICE_FILE,
    Emulation,
    lag_warning,
    plan_of_emulation,
    remove_backing,
)
from flatwater.runner.stack.storage.modelled.process import FORGET, SETTLE, Lag, ServedDevice

#: The names, in the device's folder, of its mount point and of the mount point of its file system.
MOUNTED, VOLUME = "mounted", "volume"


class _Emulated(Storage):
    """The process that serves a device: its series, and its lag while a cell was measured."""

    #: The prefix of its series.
    _prefix = "storage."

    def __init__(self) -> None:
        self._served: ServedDevice | None = None
        self._before = self._after = Lag()
        self._measuring = False

    def _serve(self, plan: EmulatedDevicePlan, *, file_system: str | None, folder: Path, make: bool) -> ServedDevice:
        self._before = self._after = Lag()
        self._measuring = False
        self._served = ServedDevice(plan, file_system=file_system, folder=folder, make=make)
        return self._served

    def probes(self) -> list[Probe]:
        return [ServedProbe(self._served, self._prefix)] if self._served is not None else []

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        if self._served is None:
            return
        if measured_s is not None:
            if not self._measuring:
                self._before, self._measuring = self._served.lag, True
            self._after = self._served.lag
        self._served.watch(journal)

    def warnings(self) -> list[str]:
        lag = self._after.since(self._before)
        late = lag_warning(lag.late_pct, lag.answers, None)
        return [late] if late else []

    def _end_process(self) -> None:
        """Ends the process, also after a failure. Errors: FlatwaterError."""
        served, self._served = self._served, None
        if served is not None:
            served.close()


class EmulatedFiles(_Emulated, GroundLayer):
    """A served device for files or servers. Each cell has its own process."""

    #: The name of flatwater's folder below storage.path: it has the content, its sidecar and the mount points.
    FOLDER = "flatwater-emulated"

    def __init__(self, name: str = "", prefix: str = "storage.") -> None:
        """`name`: of one of several storages of a cell, whose content is made anew for each cell."""
        require_fuse()
        super().__init__()
        self._name, self._prefix = name, prefix
        self._owned: Folder | None = None

    @property
    def _path(self) -> Path:
        return Path(self._cell.storage.path or "")

    @property
    def _folder(self) -> Path:
        return self._path.absolute() / (f"{self.FOLDER}-{self._name}" if self._name else self.FOLDER)

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        if not self._path.is_dir():
            raise UserError(f"{self._path} is not a directory", where="storage.path", hint=f"mkdir -p {self._path}")
        check_served(self._cell, "the served device", 'workload.files = 1, or storage.file_system = "ext4"')

    def take_up(self, left: Left) -> str | None:
        return GONE

    def place(self, used: Used | None) -> Path:
        return self._path

    def text(self, used: Used | None) -> str:
        file_system = file_system_of(self._cell)
        on = f", {file_system} on it" if file_system else ""
        return _text(self._cell.storage) + on

    def ready(self) -> None:
        return None

    def make(self, reporter: Reporter, interrupt: Interrupt) -> Ground:
        reporter.phase("make the device", None)
        owned = self._own_folder()
        mount, file_system = owned.path / MOUNTED, file_system_of(self._cell)
        clear_volume(mount / DEVICE_FILE, owned.path / VOLUME)
        cleared = release_mount(mount)
        owned.make_folder(MOUNTED)
        volume = owned.make_folder(VOLUME)
        if cleared:
            reporter.note(cleared)
        plan, begun = _plan_of(self._emulation(owned.path))
        make = not begun or owned.read_text(MADE) != file_system
        served = self._serve(plan, file_system=file_system, folder=volume, make=make)
        served.wait_ready(lambda: interrupt.requested)
        if file_system:
            owned.write_text(MADE, file_system)

        def settle() -> None:
            if file_system:
                reporter.phase("trim the device", None)
                self._trim(served, volume, plan.bytes, lambda: interrupt.requested)

        size_bytes = self._cell.modelled.size or _usable_bytes(self._cell.modelled)
        return served_ground(self._cell, mount / DEVICE_FILE, volume, size_bytes, settle)

    def _own_folder(self) -> Folder:
        """The folder, made if missing, and locked until `release`. Errors: UserError, FlatwaterError."""
        if self._owned is not None and self._owned.path != self._folder:
            self._owned.close()
            self._owned = None
        if self._owned is None:
            self._owned = Folder.open(self._folder, where="storage.path")
        return self._owned

    def _emulation(self, folder: Path) -> Emulation:
        storage = self._cell.modelled
        # The data of a server are loaded once and kept. Plain files are made again for each cell.
        server = has_server(self._cell)
        kept = server and not self._name
        # Plain files have the requested size, on a device of its full capacity.
        sizes = {"size_bytes": storage.size if server else None, "used_bytes": self._used_bytes()}
        emulation = _emulation(storage, folder, self._plan.seed, self._cell.record.interval_s, kept=kept, **sizes)
        # Files are written to an empty device: what it holds of others is no part of that.
        return replace(emulation, emptied_model=storage.occupied is not None and file_system_of(self._cell) is not None)

    def _trim(self, served: ServedDevice, volume: Path, device_bytes: int, stop: Callable[[], bool]) -> None:
        """Gives the device the room that the cell asks for, and lets it begin. Errors: FlatwaterError, Interrupted."""
        occupied = self._cell.modelled.occupied
        if occupied is not None:
            # Other programs hold what is not given back now.
            served.order(FORGET, stop)
        trim_free_space(volume, device_bytes, None if occupied is None else int(device_bytes * occupied), stop)
        served.order(SETTLE, stop)

    def _used_bytes(self) -> int | None:
        """Bytes that the device holds at first. With a file system, what is not trimmed when its files are made."""
        storage = self._cell.modelled
        if storage.occupied is None or storage.used_bytes is None:
            return storage.used_bytes
        usable = _usable_bytes(storage)
        return usable if file_system_of(self._cell) else max(storage.used_bytes, int(usable * storage.occupied))

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        self._close()

    def _close(self) -> None:
        """Ends the device, also after a failure, and undoes what its process could not undo."""
        if self._served is None:
            return
        try:
            self._end_process()
        finally:
            mount = self._folder / MOUNTED
            with suppress(OSError, UserError):
                clear_volume(mount / DEVICE_FILE, self._folder / VOLUME)
                release_mount(mount)

    def remove(self) -> None:
        """Deletes the content, and the folder if nothing else is in it."""
        owned = Folder.find(self._folder, where="storage.path")
        if owned is not None:
            remove_backing(owned.path / CONTENT)
            owned.remove_all()

    def release(self) -> None:
        with suppress(Interrupted):
            self._close()
        owned, self._owned = self._owned, None
        if owned is not None:
            owned.close()


class EmulatedDevice(_Emulated, Device):
    """A served device under a real cache."""

    def __init__(self, role: Role, storage: ModelledStorage) -> None:
        _Emulated.__init__(self)
        Device.__init__(self, role)
        self._prefix = role.prefix
        self._storage = storage
        self._owned: Folder | None = None

    def use(self, storage: StorageFields) -> None:
        assert isinstance(storage, ModelledStorage)
        self._storage = storage

    def place(self, used: Used | None) -> Path:
        return Path(self._storage.path or "")

    def text(self, used: Used | None) -> str:
        return _text(self._storage)

    def _remove_content(self, owned: Folder) -> None:
        remove_backing(owned.path / CONTENT)

    def open(self, size: int | None, seed: int, interval_s: float, *, kept: bool) -> None:
        self._owned = folder = self._open_folder(self._storage.path)
        sizes = {"size_bytes": size, "used_bytes": size}
        emulation = _emulation(self._storage, folder.path, seed, interval_s, kept=kept, **sizes)
        release_mount(emulation.mount)
        folder.make_folder(MOUNTED)
        plan, self.begun = _plan_of(emulation)
        self._serve(plan, file_system=None, folder=folder.path, make=False)
        self.file, self.bytes = emulation.mount / DEVICE_FILE, plan.bytes

    def wait_ready(self, interrupt: Interrupt) -> None:
        if self._served is not None:
            self._served.wait_ready(lambda: interrupt.requested)

    def close(self) -> None:
        owned, self._owned = self._owned, None
        if owned is None:
            return
        was_served = self._served is not None
        try:
            self._end_process()
        finally:
            if was_served:
                with suppress(OSError, UserError):
                    release_mount(owned.path / MOUNTED)
            owned.close()


def _text(storage: object) -> str:
    return f"{storage_text(storage)}, in real time"


def _usable_bytes(storage: ModelledStorage) -> int:
    return storage.modelled_device.usable_bytes(storage.use()) // 4096 * 4096


def _emulation(
    storage: ModelledStorage,
    folder: Path,
    seed: int,
    interval_s: float,
    *,
    kept: bool,
    size_bytes: int | None,
    used_bytes: int | None,
) -> Emulation:
    """The emulation of a storage, with its content in a folder of flatwater. The content stays if `kept`."""
    use = storage.use(asynchronous=True)
    return Emulation(
        name=storage.device or "",
        device=storage.modelled_device,
        use=use,
        backing=folder / CONTENT,
        mount=folder / MOUNTED,
        size_bytes=size_bytes,
        used_bytes=used_bytes,
        initial=use.initial,
        emptied=not kept,
        # The model is measured, and a power failure destroys the result anyway.
        durable=False,
        seed=seed,
        interval_s=interval_s,
    )


def _plan_of(emulation: Emulation) -> tuple[EmulatedDevicePlan, bool]:
    """The plan of an emulated device, and whether its old content stays. Errors: UserError, FlatwaterError."""
    begun = emulation.backing.exists() and not emulation.emptied
    try:
        return plan_of_emulation(emulation), begun
    except UserError:
        if emulation.emptied:
            raise
    # The content belongs to a device with another use: it is made anew.
    return plan_of_emulation(replace(emulation, emptied=True)), False
