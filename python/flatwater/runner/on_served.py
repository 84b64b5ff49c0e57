"""What stacks have in common that serve a file and have another stack drive it: emulated.py and cached.py."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from flatwater._engine import Run
from flatwater.errors import Interrupted, UserError
from flatwater.experiment import Experiment, FileStorage, PlannedCell, Server
from flatwater.owned import Folder
from flatwater.plan.run import Plan
from flatwater.probe import Probe
from flatwater.results.schema import Condition, ResponseLimit, ServerFacts
from flatwater.runner.emulation import require_fuse
from flatwater.runner.files import FileStack
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.servers import ServerStack
from flatwater.runner.stack import Stack
from flatwater.runner.tally import Tally
from flatwater.runner.volume import require_file_system
from flatwater.server import find_server

#: A server needs a file system; this one if none is asked for.
_FILE_SYSTEM_OF_SERVERS = "ext4"


#: Says which file system is on the content.
MADE = "file-system"


class DeviceFileStack(FileStack):
    """fileio on the served file itself. What the model says that is on the device is there: nothing is written first,
    and there is no place for a manifest.
    """

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        super().__init__(experiment, plan)
        self._target.manifest = None

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        self._target.grant()


class OnServedStack(Stack):
    """fileio or servers on a file that is served for each cell anew. Whoever prepares it sets `_stack`."""

    #: Our folder under storage.path.
    FOLDER: ClassVar[str]

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        require_fuse()
        self._experiment = experiment
        self._plan = plan
        self._cell = plan.experiment
        self._stack: Stack | None = None
        self._owned: Folder | None = None
        self._check()

    def take_up(self, left: Left) -> str | None:
        return "the device that was served for it is gone, with the state that it was in"

    def _check(self) -> None:
        """Refuses what the cell cannot have. Errors: UserError."""
        raise NotImplementedError

    def _close(self) -> None:
        """Ends what is served, and undoes what its process could not. Errors: FlatwaterError, Interrupted."""
        raise NotImplementedError

    @property
    def _folder(self) -> Path:
        return self.place.absolute() / self.FOLDER

    @property
    def _has_server(self) -> bool:
        return isinstance(self._cell.database, Server)

    @property
    def _file_system(self) -> str | None:
        asked = getattr(self._cell.storage, "file_system", None)
        return asked or (_FILE_SYSTEM_OF_SERVERS if self._has_server else None)

    def _check_driven(self, what: str, hint: str) -> None:
        """Whether the cell's workload can be driven on one file, or on a file system in it. Errors: UserError."""
        if self._file_system is not None:
            require_file_system(self._file_system)
        elif self._cell.fileio.files != 1:
            told = f"{what} is one file, but workload.files = {self._cell.fileio.files}"
            raise UserError(told, where="workload.files", hint=hint)
        if isinstance(self._cell.database, Server):
            find_server(self._cell.database.binary)

    @property
    def place(self) -> Path:
        return Path(self._cell.storage.path or "")

    def check_sweep(self) -> None:
        """Every cell was checked when the experiment was read."""

    def turn_to(self, plan: PlannedCell) -> None:
        self._plan, self._cell = plan, plan.experiment
        self._check()

    def _open(self, path: Path, size_bytes: int) -> Stack:
        """The stack that drives what is served, to which it is a place like any other."""
        fields: dict[str, Any] = {"kind": "file", "path": str(path)}
        if not self._has_server:
            fields |= {"size": size_bytes, "fill": self._cell.storage.fill}
            fields["overwrite"] = self._file_system is None
        cell = self._cell.model_copy(update={"storage": FileStorage.model_validate(fields)})
        plan = replace(self._plan, experiment=cell)
        if self._has_server:
            return ServerStack(self._experiment, plan)
        return (FileStack if self._file_system else DeviceFileStack)(cell, plan)

    def _own_folder(self) -> Folder:
        """Our folder, made if it is not there, held until the stack is released. Errors: UserError, FlatwaterError."""
        if self._owned is not None and self._owned.path != self._folder:
            self._owned.close()
            self._owned = None
        if self._owned is None:
            self._owned = Folder.open(self._folder, where="storage.path")
        return self._owned

    @property
    def _inner(self) -> Stack:
        assert self._stack is not None
        return self._stack

    def probes(self) -> list[Probe]:
        return self._inner.probes()

    def workload_spec(self, seed: int) -> Plan:
        return self._inner.workload_spec(seed)

    def precondition_spec(self, seed: int) -> Plan | None:
        return self._inner.precondition_spec(seed)

    def read_back_spec(self, plan: Plan) -> Plan | None:
        return self._inner.read_back_spec(plan)

    def start(self, plan: Plan, after: Run | None = None) -> Run:
        return self._inner.start(plan, after)

    def watch(self, journal: Journal, measured_s: float | None) -> None:
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
        return self._stack.warnings() if self._stack is not None else []

    def end_cell(self, logs: Path, *, goes_on: bool = False) -> None:
        try:
            if self._stack is not None:
                self._stack.end_cell(logs)
        finally:
            self._end()

    def _end(self) -> None:
        """The cell is over."""
        self._close()

    def release(self) -> None:
        with suppress(Interrupted):
            self._close()
        if self._owned is not None:
            self._owned.close()
            self._owned = None
