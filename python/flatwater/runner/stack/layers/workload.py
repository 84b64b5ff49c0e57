"""What a workload is to the stack: it says what is run in the engine's words, and starts it."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

from flatwater._engine import Run
from flatwater.experiment import Experiment
from flatwater.plan.fileio import ModelledFileio, RealFileio
from flatwater.plan.innodb import ModelledDatabase
from flatwater.plan.server import RealDatabase
from flatwater.results.schema import Condition, ResponseLimit
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.layers.layer import Ground, Layer
from flatwater.runner.stack.layers.storage import Used
from flatwater.runner.tally import Tally

#: The plan of a workload under way.
P = TypeVar("P", RealFileio, RealDatabase, ModelledFileio, ModelledDatabase)


class Workload(Layer, Generic[P]):
    """The topmost layer, which hands plans of one class to the engine."""

    @property
    def used(self) -> Used | None:
        """What it uses of the place that it stands on itself."""
        return None

    def stand_on(self, ground: Ground) -> None:
        """Finds what the workload uses of the ground, and makes sure that it may. Errors: UserError."""

    def check_sweep(self, experiment: Experiment) -> None:
        """Refuses, before anything is made, what would end the sweep at one of its later cells. Errors: UserError."""

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None) -> None:
        """Makes everything that it needs be there, when what it stands on is.

        `kept_in` is the cell's folder, where a later run would go on with it; None where none could. Errors: UserError,
        FlatwaterError, Interrupted.
        """

    @property
    def memory_bytes(self) -> int:
        """Memory that its models take, and those of all that is below; 0 in real time."""
        return 0

    @abstractmethod
    def plan(self, seed: int) -> P:
        """The measured workload."""

    @abstractmethod
    def start(self, plan: P, after: Run | None = None) -> Run:
        """Starts a workload. Errors: EngineError, UserError."""

    def precondition_plan(self, seed: int) -> P | None:
        """What runs before the workload, if anything does."""
        return None

    def drain_plan(self, plan: P) -> P | None:
        """What ends a measurement whose own end was cut short, if anything does."""
        return None

    def read_back_plan(self, plan: P) -> P | None:
        """What checks afterwards what the workload wrote, if anything does."""
        return None

    def check(self, reporter: Reporter) -> list[Condition]:
        """Checks, after the run, that the data are consistent. Errors: FlatwaterError, Interrupted."""
        return []

    def response_limits(self, tally: Tally) -> list[ResponseLimit]:
        """The workload's own limits on its latencies, and whether they were kept."""
        return []
