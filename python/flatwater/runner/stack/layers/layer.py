"""The methods of every layer, and what a layer gives to the one above it.

There are two worlds. In real time a layer gives a `Ground`: files of this machine, used like any other files. In
virtual time a layer is a `Model`, which the engine computes. A layer that needs a ground stands on any layer that gives
one. A layer that needs a model stands on any model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from flatwater.experiment import Experiment, FileStorage, PlannedCell
    from flatwater.experiment.device import Use
    from flatwater.probe import Probe
    from flatwater.results.observation import Gap
    from flatwater.runner.interrupt import Interrupt
    from flatwater.runner.journal import Journal
    from flatwater.runner.progress import Reporter
    from flatwater.runner.resuming import Left


def _nothing() -> None:
    """Files of this machine are ready when they are written."""


@dataclass(frozen=True)
class Ground:
    """Files of this machine that the layer above may use."""

    #: The directory, file or block device, and its used size.
    files: FileStorage
    #: Whether the files stay after the end of the cell. The files of a served device exist for one cell only.
    lasts: bool = True
    #: Whether it is a served device itself. The model defines its content, so nothing is written to it first.
    is_device: bool = False
    #: The directories of the other storages that parts of the servers are placed on, by the storages' names.
    others: Mapping[str, Path] = field(default_factory=dict)
    #: Called when the layer above has written its files, before it uses them. A modelled device begins anew then: what
    #: was done to write them is no part of the cell. Errors: UserError, FlatwaterError, Interrupted.
    settle: Callable[[], None] = _nothing

    def cell(self, experiment: Experiment) -> Experiment:
        """A cell whose storage is this ground."""
        if experiment.storage is self.files:
            return experiment
        return experiment.model_copy(update={"storage": self.files})


class Layer:
    """One layer of a stack. The methods that a layer does not override do nothing."""

    #: The current cell, with its seed.
    _planned: PlannedCell | None = None

    @property
    def _plan(self) -> PlannedCell:
        assert self._planned is not None, "a stack is turned to a cell when it is opened"
        return self._planned

    @property
    def _cell(self) -> Experiment:
        return self._plan.experiment

    def turn_to(self, plan: PlannedCell) -> None:
        """Switches to the next cell, and checks that it may use its files. Makes nothing yet. Errors: UserError."""
        self._planned = plan

    def take_up(self, left: Left) -> str | None:
        """Why the cell cannot be resumed from what an earlier run left; None if it can.

        After None, `prepare` resumes the cell. Or it raises CannotResume, and the caller calls it again to start anew.
        """
        return None

    def probes(self) -> list[Probe]:
        """The probes that are sampled in each interval."""
        return []

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        """Called several times a second while a workload runs, `measured_s` after its measurement began.

        Errors: FlatwaterError when the run cannot continue.
        """

    def faults(self) -> list[str]:
        """Faults that were injected on purpose, for the summary's warnings."""
        return []

    def gaps(self) -> list[Gap]:
        """Figures that could not be recorded, and why."""
        return []

    def warnings(self) -> list[str]:
        """The respects in which the layer is weaker than the experiment asks for."""
        return []

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        """Ends the cell: moves its logs into the folder `logs`, and releases its resources.

        If the cell is `resumable`, the data for a resumed run stay. Errors: FlatwaterError.
        """

    def remove(self) -> None:
        """Deletes the prepared files (`storage.keep = false`). Devices and files of others stay."""

    def release(self) -> None:
        """Releases the storage for other runs."""


@runtime_checkable
class Model(Protocol):
    """A layer in virtual time that a workload or a modelled server can stand on.

    `use` says how they use the storage. `flatwater.plan` writes the engine's description of the layer.
    """

    def notes(self, use: Use) -> list[str]:
        """The differences between the models and their devices, in sentences."""
        ...

    def memory_bytes(self, use: Use) -> int:
        """Memory of the models."""
        ...


@runtime_checkable
class GroundLayer(Protocol):
    """A layer in real time that files or servers can stand on."""

    def ready(self) -> Ground | None:
        """The ground, if it exists before the cell is prepared; None if it is made for each cell."""
        ...

    def make(self, reporter: Reporter, interrupt: Interrupt) -> Ground:
        """Makes the ground for the cell. Errors: UserError, FlatwaterError, Interrupted."""
        ...


def as_model(layer: Layer) -> Model:
    """The layer as a model, for a layer in virtual time above it."""
    assert isinstance(layer, Model), "a mixture of both times is refused when the experiment is read"
    return layer
