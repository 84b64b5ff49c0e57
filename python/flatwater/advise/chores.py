"""What an array does for itself while it is measured, and how much slower the run was meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flatwater.analysis.bound import Evidence
from flatwater.analysis.bound.finding import LISTED_MIN

Marks = np.ndarray[Any, np.dtype[np.bool_]]
#: A chore that takes less than a tenth of the throughput is not worth a plan, and hardly to be told from scatter.
_LOSS_MIN = 0.1


@dataclass(frozen=True)
class Slowed:
    """A part of the run in which the array had something else to do."""

    #: Of the measured intervals, 0 to 1.
    active: float
    #: Throughput meanwhile / throughput in the rest; None if there is no rest.
    ratio: float | None

    @property
    def share(self) -> float:
        """The share of the run that it cost; all of its time where nothing can be compared."""
        return self.active * (1 - self.ratio if self.ratio is not None else 1.0)

    def text(self, what: str) -> str:
        """`a patrol read was under way in 40 % of the seconds, with 0.71x the throughput of the others`."""
        told = f"{what} in {100 * self.active:.0f} % of the seconds"
        return told if self.ratio is None else f"{told}, with {self.ratio:.2f}x the throughput of the others"


def slowed(evidence: Evidence, marked: Marks) -> Slowed | None:
    """None if the marked intervals are few, or the run was not slower in them."""
    line = evidence.load.throughput
    if line is None:
        return None
    known = np.isfinite(line.value)
    inside, outside = line.value[known & marked], line.value[known & ~marked]
    active = len(inside) / max(len(inside) + len(outside), 1)
    if active < LISTED_MIN:
        return None
    # The rest must be large enough to have a level of its own.
    if active > 1 - LISTED_MIN:
        return Slowed(active, None)
    if not float(outside.mean()) > 0:
        return None
    ratio = float(inside.mean() / outside.mean())
    return Slowed(active, ratio) if ratio <= 1 - _LOSS_MIN else None


def events_without(evidence: Evidence, *kinds: str) -> tuple[str, ...]:
    """The experiment's overrides that leave out what a modelled array does; empty if it does other things too."""
    storage = evidence.experiment.storage if evidence.experiment is not None else None
    events = getattr(storage, "events", [])
    return ("storage.events=[]",) if events and all(event.kind in kinds for event in events) else ()
