"""A workload on a modelled device in real time: files, or database servers, on a device that is served as a file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from flatwater._engine import Run
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, FileStorage, PlannedCell, Server, device_text
from flatwater.probe import Probe
from flatwater.results.schema import Condition, ResponseLimit, ServerFacts
from flatwater.runner.emulation import DEVICE_FILE, Emulation, clear_mount_point, engine_spec, require_fuse
from flatwater.runner.files import FileStack
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.served import Lag, ServedDevice
from flatwater.runner.servers import ServerStack
from flatwater.runner.stack import Stack
from flatwater.runner.tally import Tally
from flatwater.runner.volume import clear_volume, require_file_system
from flatwater.server import find_server

#: Our folder under storage.path: the content, its sidecar, and what is mounted.
FOLDER = "flatwater-emulated"
#: A server needs a file system; this one if none is asked for.
FILE_SYSTEM_OF_SERVERS = "ext4"


class DeviceFileStack(FileStack):
    """fileio on the served file itself. What the model says that is on the device is there: nothing is written first,
    and there is no place for a manifest.
    """

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        super().__init__(experiment, plan)
        self._target.manifest = None

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        pass


class DeviceProbe:
    """What the served device tells of itself, and how far it was behind."""

    def __init__(self, served: ServedDevice) -> None:
        self._served = served

    def sample(self) -> dict[str, float]:
        """The series of the device's own last interval."""
        return self._served.sample()


class EmulatedStack(Stack):
    """fileio or servers on a modelled device that is served as a file. Each cell has a device of its own."""

    # A killed emulation forgets how the pages were mixed: a cell is measured in one piece.
    resumable = False

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        require_fuse()
        self._experiment = experiment
        self._plan = plan
        self._cell = plan.experiment
        self._served: ServedDevice | None = None
        self._stack: Stack | None = None
        self._before = self._after = Lag()
        self._measuring = False
        self._check()

    @property
    def _folder(self) -> Path:
        return Path(self._cell.modelled.path or "").absolute() / FOLDER

    @property
    def _file_system(self) -> str | None:
        storage = self._cell.modelled
        return storage.file_system or (FILE_SYSTEM_OF_SERVERS if isinstance(self._cell.database, Server) else None)

    def _check(self) -> None:
        path = Path(self._cell.modelled.path or "")
        if not path.is_dir():
            raise UserError(f"{path} is not a directory", where="storage.path", hint=f"mkdir -p {path}")
        if self._file_system is not None:
            require_file_system(self._file_system)
        elif self._cell.fileio.files != 1:
            what = f"the served device is one file, but workload.files = {self._cell.fileio.files}"
            raise UserError(what, where="workload.files", hint='workload.files = 1, or storage.file_system = "ext4"')
        if isinstance(self._cell.database, Server):
            find_server(self._cell.database.binary)

    @property
    def place(self) -> Path:
        return Path(self._cell.modelled.path or "")

    @property
    def device(self) -> str:
        on = f", {self._file_system} on it" if self._file_system else ""
        return f"{device_text(self._cell)}, in real time{on}"

    def check_sweep(self) -> None:
        """Every cell was checked against its device when the experiment was read."""

    def turn_to(self, plan: PlannedCell) -> None:
        self._plan, self._cell = plan, plan.experiment
        self._check()

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        reporter.phase("make the device", None)
        emulation = self._emulation()
        volume = self._folder / "volume"
        try:
            self._folder.mkdir(exist_ok=True)
            clear_volume(emulation.mount / DEVICE_FILE, volume)
            cleared = clear_mount_point(emulation.mount)
            volume.mkdir(exist_ok=True)
        except OSError as error:
            raise FlatwaterError(f"cannot use {self._folder}: {error.strerror}", where="storage.path") from None
        if cleared:
            reporter.note(cleared)
        begun = emulation.backing.exists() and not emulation.emptied
        spec = engine_spec(emulation)
        made = self._made()
        make = not begun or made.read_text() != self._file_system if made.exists() else True
        self._served = ServedDevice(spec, file_system=self._file_system, folder=volume, make=make)
        self._served.wait_ready(lambda: interrupt.asked)
        if self._file_system:
            made.write_text(self._file_system)
        self._stack = self._open(volume if self._file_system else emulation.mount / DEVICE_FILE)
        self._before = self._after = Lag()
        self._measuring = False
        self._stack.prepare(reporter, interrupt)

    def _made(self) -> Path:
        """Says which file system is on the content."""
        return self._folder / "file-system"

    def _emulation(self) -> Emulation:
        storage = self._cell.modelled
        use = storage.use(asynchronous=True)
        # What a server has loaded is loaded once; files hold nothing that is worth keeping from one cell to the next.
        kept = isinstance(self._cell.database, Server)
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
            engine_spec(asked)
        except UserError:
            return True
        return False

    def _open(self, path: Path) -> Stack:
        """The stack that drives the served device, to which it is a place like any other."""
        storage = self._cell.modelled
        server = isinstance(self._cell.database, Server)
        fields: dict[str, Any] = {"kind": "file", "path": str(path)}
        if not server:
            fields |= {"size": storage.size or self._usable_bytes(), "fill": storage.fill}
            fields["overwrite"] = self._file_system is None
        cell = self._cell.model_copy(update={"storage": FileStorage.model_validate(fields)})
        plan = replace(self._plan, experiment=cell)
        if server:
            return ServerStack(self._experiment, plan)
        return (FileStack if self._file_system else DeviceFileStack)(cell, plan)

    def _usable_bytes(self) -> int:
        storage = self._cell.modelled
        return storage.modelled_device.usable_bytes(storage.use()) // 4096 * 4096

    @property
    def _inner(self) -> Stack:
        assert self._stack is not None
        return self._stack

    def probes(self) -> list[Probe]:
        assert self._served is not None
        return [*self._inner.probes(), DeviceProbe(self._served)]

    def workload_spec(self, seed: int) -> dict[str, Any]:
        return self._inner.workload_spec(seed)

    def precondition_spec(self, seed: int) -> dict[str, Any] | None:
        return self._inner.precondition_spec(seed)

    def read_back_spec(self, spec: dict[str, Any]) -> dict[str, Any] | None:
        return self._inner.read_back_spec(spec)

    def start(self, spec: dict[str, Any], after: Run | None = None) -> Run:
        return self._inner.start(spec, after)

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        if self._served is not None:
            for _, text in self._served.take_incidents():
                journal.event("incident", text)
            if measured_s is not None:
                if not self._measuring:
                    self._before, self._measuring = self._served.lag, True
                self._after = self._served.lag
            self._served.require_alive()
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

    def faults(self) -> list[str]:
        return self._stack.faults() if self._stack is not None else []

    def warnings(self) -> list[str]:
        own = self._lag_warning()
        inner = self._stack.warnings() if self._stack is not None else []
        return [*([own] if own else []), *inner]

    def _lag_warning(self) -> str | None:
        from flatwater.runner.emulation import lag_warning

        lag = self._after.since(self._before)
        return lag_warning(lag.late_pct, lag.answers, None)

    def end_cell(self, logs: Path) -> None:
        try:
            if self._stack is not None:
                self._stack.end_cell(logs)
        finally:
            self._close()

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
                clear_mount_point(emulation_mount)

    def remove(self) -> None:
        """The content goes, with the folder if nothing else is in it."""
        for name in ("content", "content.flatwater.json", "file-system"):
            (self._folder / name).unlink(missing_ok=True)
        for name in ("mounted", "volume", ""):
            with suppress(OSError):
                (self._folder / name).rmdir()

    def release(self) -> None:
        with suppress(Interrupted):
            self._close()
