"""The interface of a workload to the stack: it writes the engine's plans, and starts them."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from flatwater._engine import Run
from flatwater.experiment import Experiment
from flatwater.plan.fileio import ModelledFileio, RealFileio
from flatwater.plan.innodb import ModelledDatabase
from flatwater.plan.server import RealDatabase
from flatwater.results.load_host import LoadHost
from flatwater.results.observation import Statement
from flatwater.results.schema import Condition, ResponseLimit
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.layers.layer import Ground, Layer
from flatwater.runner.stack.layers.running import Observation, Running
from flatwater.runner.stack.layers.storage import Used
from flatwater.runner.tally import Tally

#: The class of the workload's plans.
P = TypeVar("P", RealFileio, RealDatabase, ModelledFileio, ModelledDatabase, Observation)


class Workload(Layer, Generic[P]):
    """The topmost layer. It gives plans of one class to the engine."""

    #: Whether the end is the user's to choose: a request to stop then completes the cell.
    ends_at_will: ClassVar[bool] = False

    @property
    def used(self) -> Used | None:
        """The part of the storage that it uses itself."""
        return None

    def stand_on(self, ground: Ground) -> None:
        """Finds the files of the ground that it uses, and checks that it may use them. Errors: UserError."""

    def check_sweep(self, experiment: Experiment) -> None:
        """Refuses, before anything is made, what would make a later cell of the sweep fail. Errors: UserError."""

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None) -> None:
        """Prepares what the workload needs, after the layers below were prepared.

        `kept_in` is the folder of the cell if a later run can resume it, else None. Errors: UserError, FlatwaterError,
        Interrupted.
        """

    @property
    def memory_bytes(self) -> int:
        """Memory of all models of the stack; 0 in real time."""
        return 0

    @abstractmethod
    def plan(self, seed: int) -> P:
        """The plan of the measured workload."""

    @abstractmethod
    def start(self, plan: P, after: Run | None = None) -> Running:
        """Starts a workload. Errors: EngineError, UserError."""

    def precondition_plan(self, seed: int) -> P | None:
        """The plan of the preconditioning, if there is any."""
        return None

    def drain_plan(self, plan: P) -> P | None:
        """The plan that completes the outstanding requests of an interrupted measurement, if one is needed."""
        return None

    def read_back_plan(self, plan: P) -> P | None:
        """The plan that verifies afterwards what the workload wrote, if it verifies."""
        return None

    def check(self, reporter: Reporter) -> list[Condition]:
        """Checks after the run that the data are consistent. Errors: FlatwaterError, Interrupted."""
        return []

    def statements(self) -> list[Statement]:
        """The statements that took most of the time, if somebody else's clients sent them."""
        return []

    def load_hosts(self) -> list[LoadHost]:
        """The hosts that made the load; empty if this machine did."""
        return []

    def response_limits(self, tally: Tally) -> list[ResponseLimit]:
        """The workload's limits on its latencies, and whether they were met."""
        return []
