"""The stack: where the layers below a workload meet. One class a mixture, chosen by `open_stack`.

files.py drives files and block devices; servers.py drives database servers; model.py runs modelled storage in virtual
time; emulated.py serves it in real time; cached.py has a flash cache served.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from flatwater.experiment import Experiment, ModelledStorage, PlannedCell
from flatwater.probe import Probe
from flatwater.results.schema import Condition, ResponseLimit, ServerFacts
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter

if TYPE_CHECKING:
    from flatwater._engine import Run
    from flatwater.plan.run import Plan
    from flatwater.runner.journal import Journal
    from flatwater.runner.resuming import Left
    from flatwater.runner.tally import Tally


class Stack(ABC):
    """What stands below the workload of one experiment: opened once, and made ready for each cell in turn."""

    #: The cell's folder, where a run after this one would go on with it; None where none could.
    kept_in: Path | None = None

    @property
    @abstractmethod
    def place(self) -> Path | None:
        """Where the bytes go, for the machine's description; None when that is another machine's affair."""

    @property
    @abstractmethod
    def device(self) -> str:
        """The storage in a few words."""

    @property
    def cache(self) -> str:
        """The cache and its device in a few words; empty where there is none."""
        return ""

    @abstractmethod
    def check_sweep(self) -> None:
        """Refuses, before anything is made, what would end the sweep at one of its later cells. Errors: UserError."""

    @abstractmethod
    def turn_to(self, plan: PlannedCell) -> None:
        """The next cell: finds what it uses and makes sure that it may. Errors: UserError."""

    @property
    def recomputes(self) -> bool:
        """Whether a cell that is run again gives the same bytes, so that there is no use in half of one."""
        return False

    @abstractmethod
    def take_up(self, left: Left) -> str | None:
        """Told before `prepare` what an earlier run left of the cell: None, and `prepare` makes ready for going on with
        it (or raises CannotResume, and is then called again to begin anew); else why it cannot.
        """

    @abstractmethod
    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        """Makes everything that the cell needs be there. Errors: UserError, FlatwaterError, Interrupted."""

    @abstractmethod
    def probes(self) -> list[Probe]:
        """What is sampled each interval."""

    @abstractmethod
    def workload_spec(self, seed: int) -> Plan:
        """The cell's workload in the engine's words."""

    @abstractmethod
    def start(self, plan: Plan, after: Run | None = None) -> Run:
        """Starts a workload. Errors: EngineError."""

    def precondition_spec(self, seed: int) -> Plan | None:
        """What runs before the workload, if anything does."""
        return None

    def drain_spec(self, plan: Plan) -> Plan | None:
        """What ends a measurement whose own end was cut short, if anything does."""
        return None

    def read_back_spec(self, plan: Plan) -> Plan | None:
        """What checks afterwards what the workload wrote, if anything does."""
        return None

    def watch(self, journal: Journal, measured_s: float | None) -> None:  # noqa: B027 (most stacks need no watching)
        """Called several times a second while a workload runs, `measured_s` after its measurement began.

        Errors: FlatwaterError when the run cannot go on.
        """

    def check(self, reporter: Reporter) -> list[Condition]:
        """Checks, after the run, that the data are consistent."""
        return []

    def response_limits(self, tally: Tally) -> list[ResponseLimit]:
        """The workload's own limits on its latencies, and whether they were kept."""
        return []

    @property
    def recoveries_s(self) -> list[float]:
        """How long each recovery from a crash took."""
        return []

    @property
    def servers(self) -> list[ServerFacts]:
        """The database servers that took part."""
        return []

    @property
    def trouble(self) -> str | None:
        """Why requests may be stuck, where something below said so."""
        return None

    def kept(self, text: str, logs: Path) -> str:
        """A text that may name logs of the cell, with the place where `end_cell` keeps them."""
        return text

    def faults(self) -> list[str]:
        """Faults that were injected on purpose, for the summary's warnings."""
        return []

    def warnings(self) -> list[str]:
        """What is weaker than it was asked to be."""
        return []

    @property
    def seam(self) -> str:
        """What to say of how the cell was taken up, after how long nothing ran."""
        return ""

    def end_cell(self, logs: Path, *, goes_on: bool = False) -> None:  # noqa: B027 (files just stay)
        """The cell is over: what belongs to its result is put into the folder `logs`, and what it used is let go; but
        what a resumed run needs of it stays where the cell `goes_on`.
        """

    @abstractmethod
    def remove(self) -> None:
        """Deletes what was prepared (`storage.keep = false`); devices and files of others stay."""

    @abstractmethod
    def release(self) -> None:
        """Lets other runs use the storage."""


def open_stack(experiment: Experiment, plan: PlannedCell) -> Stack:
    """The stack of an experiment, turned to a cell, whose layers decide the class. Errors: UserError."""
    cell = plan.experiment
    storage = cell.storage
    if cell.cache.kind == "flash" and not cell.in_virtual_time:
        from flatwater.runner.cached import CachedStack

        return CachedStack(experiment, plan)
    if isinstance(storage, ModelledStorage) and storage.real_time:
        from flatwater.runner.emulated import EmulatedStack

        return EmulatedStack(experiment, plan)
    if isinstance(storage, ModelledStorage) and cell.database.kind == "innodb-model":
        from flatwater.runner.innodb_model import InnodbModelStack

        return InnodbModelStack(experiment, plan)
    if isinstance(storage, ModelledStorage):
        from flatwater.runner.model import ModelStack

        return ModelStack(experiment, plan)
    if cell.database.kind == "none":
        from flatwater.runner.files import FileStack

        return FileStack(experiment, plan)
    from flatwater.runner.servers import ServerStack

    return ServerStack(experiment, plan)
