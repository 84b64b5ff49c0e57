"""What can be said of a run before it begins: whether it can begin, how long it takes, what will be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flatwater.experiment import (
    Experiment,
    count_cells,
    device_text,
    list_absent,
    load,
    longest_s,
    print_duration,
    require_runnable,
)
from flatwater.printing import counted
from flatwater.runner.errors import placing_errors
from flatwater.runner.trial import real_seconds
from flatwater.runner.verdicts import Shortfall, find_shortfall


@dataclass(frozen=True)
class Checked:
    """An experiment without mistakes, and what is known of its run."""

    experiment: Experiment
    shortfall: Shortfall | None
    #: What it names and is not on this machine, in words.
    absent: list[str]

    @property
    def warnings(self) -> list[str]:
        """What is no mistake of the file, and ends a run here or leaves it without a verdict."""
        return [*self.absent, *([self.shortfall.text] if self.shortfall else [])]

    @cached_property
    def cells(self) -> int:
        """How many cells there are."""
        return count_cells(self.experiment)

    @cached_property
    def seconds(self) -> float:
        """The time that they take: virtual time where nothing is real. 0 where only a log says when it ends."""
        return longest_s(self.experiment)

    @cached_property
    def real_s(self) -> float | None:
        """The time to compute it, from a short trial. A real cell takes at least its own length."""
        return real_seconds(self.experiment) if self.experiment.in_virtual_time else self.seconds

    @cached_property
    def device(self) -> str:
        """The modelled device, in words."""
        return device_text(self.experiment) or ""

    @property
    def cells_text(self) -> str:
        """`3 cells, about 30 s`."""
        return f"{counted(self.cells, 'cell')}, {self._time}"

    @property
    def modelled_text(self) -> str:
        """The modelled layers; empty where none is."""
        modelled = [layer for layer, what in self.experiment.layers.items() if what == "modelled"]
        return f"modelled: {', '.join(modelled)}{f'; {self.device}' if self.device else ''}" if modelled else ""

    @property
    def _time(self) -> str:
        limit = "at most" if self.experiment.workload.steady_state == "snia" else "about"
        time = f"{limit} {print_duration(self.seconds)}" if self.seconds else "to the end of the log"
        if not self.experiment.in_virtual_time:
            return time
        virtual = "computed, not waited for"
        if self.real_s is not None:
            virtual = f"computed in about {print_duration(max(1.0, round(self.real_s)))} here"
        return f"{time} of virtual time ({virtual})"


def check(file: str, overrides: Sequence[str], *, complete: bool = False) -> Checked:
    """Checks an experiment. `complete`: it must have all that a run needs, also where it names no place and no device.

    Errors: UserError; InvalidExperimentError, with all problems of the file.
    """
    experiment = load(file, overrides)
    storage = experiment.storage
    if complete or storage.path is not None or getattr(storage, "device", None) is not None:
        with placing_errors(experiment):
            require_runnable(experiment)
    return Checked(experiment, find_shortfall(experiment), list_absent(experiment))
