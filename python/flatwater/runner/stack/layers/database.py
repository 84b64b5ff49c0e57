"""What a database is to the stack."""

from __future__ import annotations

from pathlib import Path

from flatwater.experiment import Experiment
from flatwater.results.schema import ServerFacts
from flatwater.runner.stack.layers.layer import Ground, Layer
from flatwater.runner.stack.layers.storage import Used


class Database(Layer):
    """A layer between the workload and what is below: servers, modelled ones, or nothing."""

    @property
    def used(self) -> Used | None:
        """What it uses of its place."""
        return None

    def stand_on(self, ground: Ground) -> None:
        """Finds what the database of the cell uses of the ground, and makes sure that it may. Errors: UserError."""

    def check_sweep(self, experiment: Experiment) -> None:
        """Refuses, before anything is made, what would end the sweep at one of its later cells. Errors: UserError."""

    @property
    def facts(self) -> list[ServerFacts]:
        """What is known of each server of this machine that took part."""
        return []

    @property
    def recoveries_s(self) -> list[float]:
        """How long each recovery from a crash took."""
        return []

    @property
    def trouble(self) -> str | None:
        """Why requests may be stuck, where a server said so."""
        return None

    @property
    def seam(self) -> str:
        """What to say of how the cell was taken up, after how long nothing ran."""
        return ""

    def kept(self, text: str, logs: Path) -> str:
        """A text that may name logs of the cell, with the place where `end_cell` keeps them."""
        return text
