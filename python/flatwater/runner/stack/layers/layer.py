"""What every layer of a stack can be asked, and what a layer gives the one above it.

There are two worlds. In real time a layer gives a `Ground`: files of this machine, used like any other files. In
virtual time a layer is a `Model`, which the engine computes. A layer that needs a ground stands on any layer that gives
one, and a layer that needs a model stands on any model, whatever either is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from flatwater.experiment import Experiment, FileStorage, PlannedCell
    from flatwater.experiment.device import Use
    from flatwater.probe import Probe
    from flatwater.runner.interrupt import Interrupt
    from flatwater.runner.journal import Journal
    from flatwater.runner.progress import Reporter
    from flatwater.runner.resuming import Left


@dataclass(frozen=True)
class Ground:
    """Files of this machine that the layer above may use."""

    #: The directory, file or block device, and how much of it.
    files: FileStorage
    #: Whether it is still there when the cell is over. What a process serves is there for one cell only.
    lasts: bool = True
    #: Whether it is a served device itself. Its model says what it holds, so nothing is written to it first.
    is_device: bool = False

    def cell(self, experiment: Experiment) -> Experiment:
        """A cell whose storage is this ground."""
        if experiment.storage is self.files:
            return experiment
        return experiment.model_copy(update={"storage": self.files})


class Layer:
    """One layer of a stack. A verb that is not a layer's own does nothing."""

    #: The cell that it was turned to, with its seed.
    _planned: PlannedCell | None = None

    @property
    def _plan(self) -> PlannedCell:
        assert self._planned is not None, "a stack is turned to a cell when it is opened"
        return self._planned

    @property
    def _cell(self) -> Experiment:
        return self._plan.experiment

    def turn_to(self, plan: PlannedCell) -> None:
        """Goes to the next cell, and checks what it may use. Nothing is made yet. Errors: UserError."""
        self._planned = plan

    def take_up(self, left: Left) -> str | None:
        """Why the cell cannot go on with what an earlier run left of it; None if it can.

        After None, `prepare` goes on with it, or raises CannotResume and is then called again to begin anew.
        """
        return None

    def probes(self) -> list[Probe]:
        """What is sampled each interval."""
        return []

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        """Called several times a second while a workload runs, `measured_s` after its measurement began.

        Errors: FlatwaterError when the run cannot go on.
        """

    def faults(self) -> list[str]:
        """Faults that were injected on purpose, for the summary's warnings."""
        return []

    def warnings(self) -> list[str]:
        """What is weaker than it was asked to be."""
        return []

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        """Ends the cell: puts what belongs to its result into the folder `logs`, and lets go of what it used.

        What a resumed run needs stays if the cell is `resumable`. Errors: FlatwaterError.
        """

    def remove(self) -> None:
        """Deletes what was prepared (`storage.keep = false`); devices and files of others stay."""

    def release(self) -> None:
        """Lets other runs use the storage."""


@runtime_checkable
class Model(Protocol):
    """A layer in virtual time that a workload or a modelled server can stand on.

    `use` says how that uses the storage. What the engine is told of the layer is written by `flatwater.plan`.
    """

    def notes(self, use: Use) -> list[str]:
        """What the models do differently from the devices that they are of, in sentences."""
        ...

    def memory_bytes(self, use: Use) -> int:
        """Memory that the models take."""
        ...


@runtime_checkable
class GroundLayer(Protocol):
    """A layer in real time that files or servers can stand on."""

    def ready(self) -> Ground | None:
        """The ground, if it is there before anything is made; None if it is made for each cell."""
        ...

    def make(self, reporter: Reporter, interrupt: Interrupt) -> Ground:
        """Makes the ground for the cell. Errors: UserError, FlatwaterError, Interrupted."""
        ...


def as_model(layer: Layer) -> Model:
    """A layer that something in virtual time stands on."""
    assert isinstance(layer, Model), "a mixture of both times is refused when the experiment is read"
    return layer
