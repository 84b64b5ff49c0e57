"""A workload on a modelled device in real time: files, or database servers, on a device that is served as a file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from flatwater.errors import UserError
from flatwater.experiment import Experiment, PlannedCell, device_text
from flatwater.owned import Folder
from flatwater.probe import Probe
from flatwater.runner.emulation import DEVICE_FILE, Emulation, check, plan_of_emulation, release_mount, remove_backing
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.on_served import MADE, OnServedStack
from flatwater.runner.progress import Reporter
from flatwater.runner.served import Lag, ServedDevice
from flatwater.runner.volume import clear_volume


class DeviceProbe:
    """What the served device tells of itself, and how far it was behind."""

    def __init__(self, served: ServedDevice) -> None:
        self._served = served

    def sample(self) -> dict[str, float]:
        """The series of the device's own last interval."""
        return self._served.sample()


class EmulatedStack(OnServedStack):
    """fileio or servers on a modelled device that is served as a file. Each cell has a device of its own."""

    #: The content, its sidecar, and what is mounted. A killed emulation forgets how the pages were mixed.
    FOLDER: ClassVar[str] = "flatwater-emulated"

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        super().__init__(experiment, plan)
        self._served: ServedDevice | None = None
        self._before = self._after = Lag()
        self._measuring = False

    def _check(self) -> None:
        path = Path(self._cell.modelled.path or "")
        if not path.is_dir():
            raise UserError(f"{path} is not a directory", where="storage.path", hint=f"mkdir -p {path}")
        self._check_driven("the served device", 'workload.files = 1, or storage.file_system = "ext4"')

    @property
    def device(self) -> str:
        on = f", {self._file_system} on it" if self._file_system else ""
        return f"{device_text(self._cell)}, in real time{on}"

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        reporter.phase("make the device", None)
        owned = self._own_folder()
        emulation = self._emulation()
        clear_volume(emulation.mount / DEVICE_FILE, owned.path / "volume")
        cleared = release_mount(emulation.mount)
        owned.make_folder("mounted")
        volume = owned.make_folder("volume")
        if cleared:
            reporter.note(cleared)
        begun = emulation.backing.exists() and not emulation.emptied
        plan = plan_of_emulation(emulation)
        make = not begun or owned.read_text(MADE) != self._file_system
        self._served = ServedDevice(plan, file_system=self._file_system, folder=volume, make=make)
        self._served.wait_ready(lambda: interrupt.asked)
        if self._file_system:
            owned.write_text(MADE, self._file_system)
        size_bytes = self._cell.modelled.size or self._usable_bytes()
        self._stack = self._open(volume if self._file_system else emulation.mount / DEVICE_FILE, size_bytes)
        self._before = self._after = Lag()
        self._measuring = False
        self._stack.prepare(reporter, interrupt)

    def _emulation(self) -> Emulation:
        storage = self._cell.modelled
        use = storage.use(asynchronous=True)
        # What a server has loaded is loaded once; files hold nothing that is worth keeping from one cell to the next.
        kept = self._has_server
        return Emulation(
            name=storage.device or "",
            device=storage.modelled_device,
            use=use,
            backing=self._folder / "content",
            mount=self._folder / "mounted",
            # Files are as large as asked for, on a device that is as large as it is.
            size_bytes=storage.size if kept else None,
            used_bytes=storage.used_bytes,
            initial=use.initial,
            emptied=not kept or self._is_of_another(),
            # What is measured is the model; a power cut costs the result anyway.
            durable=False,
            seed=self._plan.seed,
            interval_s=self._cell.record.interval_s,
        )

    def _is_of_another(self) -> bool:
        """Whether the content was made for a device that is used otherwise: it is then made anew."""
        storage = self._cell.modelled
        use = storage.use(asynchronous=True)
        content, mount = self._folder / "content", self._folder / "mounted"
        asked = Emulation(
            storage.device or "", storage.modelled_device, use, content, mount, storage.size, initial=use.initial
        )
        try:
            check(asked)
        except UserError:
            return True
        return False

    def _usable_bytes(self) -> int:
        storage = self._cell.modelled
        return storage.modelled_device.usable_bytes(storage.use()) // 4096 * 4096

    def probes(self) -> list[Probe]:
        assert self._served is not None
        return [*super().probes(), DeviceProbe(self._served)]

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        if self._served is not None:
            for _, text in self._served.take_incidents():
                journal.event("incident", text)
            if measured_s is not None:
                if not self._measuring:
                    self._before, self._measuring = self._served.lag, True
                self._after = self._served.lag
            self._served.require_alive()
        super().watch(journal, measured_s)

    def warnings(self) -> list[str]:
        own = self._lag_warning()
        return [*([own] if own else []), *super().warnings()]

    def _lag_warning(self) -> str | None:
        from flatwater.runner.emulation import lag_warning

        lag = self._after.since(self._before)
        return lag_warning(lag.late_pct, lag.answers, None)

    def _close(self) -> None:
        """Ends the device, whatever became of it, and undoes what its process could not."""
        if self._stack is not None:
            self._stack.release()
        served, self._served = self._served, None
        if served is None:
            return
        try:
            served.close()
        finally:
            emulation_mount = self._folder / "mounted"
            with suppress(OSError, UserError):
                clear_volume(emulation_mount / DEVICE_FILE, self._folder / "volume")
                release_mount(emulation_mount)

    def remove(self) -> None:
        """The content goes, with the folder if nothing else is in it."""
        owned = Folder.find(self._folder, where="storage.path")
        if owned is not None:
            remove_backing(owned.path / "content")
            owned.remove_all()
