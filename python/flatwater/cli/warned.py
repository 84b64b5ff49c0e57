"""The warnings of all cells, printed once for a run: the cells of a sweep often have the same warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flatwater.results import CellSummary

#: The largest number of printed warnings; the report has all.
LINES_MAX = 20


class Warned:
    """The cells of each warning."""

    def __init__(self) -> None:
        self._cells: dict[str, list[str]] = {}
        self._count = 0

    def add(self, summary: CellSummary, label: str) -> None:
        """Adds the warnings of a finished cell."""
        self._count += 1
        for text in dict.fromkeys(summary.warnings):
            self._cells.setdefault(text, []).append(label)

    def lines(self) -> list[str]:
        """A line for each warning, with the cells that have it."""
        printed = [self._line(text, labels) for text, labels in self._cells.items()]
        more = len(printed) - LINES_MAX
        return printed[:LINES_MAX] + ([f"warning: and {more} others: the report has all"] if more > 0 else [])

    def _line(self, text: str, labels: list[str]) -> str:
        if self._count == 1:
            return f"warning: {text}"
        which = labels[0] if len(labels) == 1 else f"{len(labels):,} of {self._count:,} cells"
        return f"warning: {text} ({which})"
