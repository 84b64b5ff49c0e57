"""The interface of a database to the stack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flatwater.experiment import Experiment
from flatwater.results.schema import ServerFacts
from flatwater.runner.stack.layers.layer import Ground, Layer
from flatwater.runner.stack.layers.storage import Used

if TYPE_CHECKING:
    from flatwater.runner.resuming import Left


class Database(Layer):
    """A layer between the workload and the storage: servers, modelled servers, or nothing."""

    @property
    def used(self) -> Used | None:
        """The part of the storage that it uses."""
        return None

    @property
    def others(self) -> dict[str, str]:
        """Storages beside that of the data of a running server, by the names of their series: each in a few words."""
        return {}

    @property
    def other_places(self) -> list[Path]:
        """Where they are on real drives of this machine."""
        return []

    def stand_on(self, ground: Ground) -> None:
        """Finds the files of the ground that it uses, and checks that it may use them. Errors: UserError."""

    def check_sweep(self, experiment: Experiment) -> None:
        """Refuses, before anything is made, what would make a later cell of the sweep fail. Errors: UserError."""

    def why_not_anew(self, left: Left) -> str | None:
        """Why a cell that an earlier run left can be neither resumed nor begun anew on the data that are there.

        The caller calls it before `take_up`.
        """
        return None

    @property
    def facts(self) -> list[ServerFacts]:
        """Facts about each server of this machine."""
        return []

    @property
    def recoveries_s(self) -> list[float]:
        """Duration of each crash recovery."""
        return []

    @property
    def trouble(self) -> str | None:
        """Why requests may hang, if a server has reported a reason."""
        return None

    @property
    def seam(self) -> str:
        """How the cell was resumed, for the note that also gives the length of the gap."""
        return ""

    def kept(self, text: str, logs: Path) -> str:
        """The text with the paths of the cell's logs replaced by the paths where `end_cell` keeps them."""
        return text

    def explained(self, text: str) -> str:
        """The text of a failure, with what its layers know of the cause."""
        return text
