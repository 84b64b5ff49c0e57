"""The effect of a run on its drives, printed once: of a sweep, the cell that wears them most."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flatwater.results import CellSummary

#: Parts of the sentences that a terminal shows; the report has all sentences.
_SHOWN = ("life", "wear out", "wrote", "maker allows")


class DriveLines:
    """The cell with the shortest life of a drive, and its sentences."""

    def __init__(self) -> None:
        self._count = 0
        self._hardest: tuple[float, str, list[str]] | None = None

    def add(self, summary: CellSummary, label: str) -> None:
        """Adds a finished cell."""
        self._count += 1
        health = summary.health
        if health is None:
            return
        years = float("inf") if health.years is None else health.years
        if self._hardest is None or years < self._hardest[0]:
            self._hardest = years, label, health.text

    def lines(self) -> list[str]:
        """A line for each sentence."""
        if self._hardest is None:
            return []
        years, label, text = self._hardest
        shown = [sentence for sentence in text if any(word in sentence for word in _SHOWN)]
        if self._count == 1:
            return [f"drives: {sentence}" for sentence in shown]
        # If no cell of a sweep has a known life, there is nothing to print.
        return [] if years == float("inf") else [f"drives: {label} wears them most: {sentence}" for sentence in shown]
