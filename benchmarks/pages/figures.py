"""What was measured, beside what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.pairs import Ratio, Target, spread


@dataclass(frozen=True)
class Figure:
    """One figure, with each of its tries. `target` is None for what is shown only."""

    title: str
    tries: tuple[float, ...]
    unit: str
    target: Target | None = None

    @property
    def spread(self) -> Ratio:
        """The median of the tries, and its interval."""
        return spread(self.tries)

    def cells(self) -> list[str]:
        """A line of the page."""
        found = self.spread
        told = f"{found.median:.3g} {self.unit}"
        if found.rounds > 1:
            told += f" [{found.low:.3g}, {found.high:.3g}]"
        if self.target is None:
            return [self.title, told, str(found.rounds), "", "shown only"]
        return [self.title, told, str(found.rounds), f"< {self.target.limit:g} {self.unit}", found.verdict(self.target)]

    def line(self) -> str:
        """A line of progress."""
        return ", ".join(one for one in self.cells() if one)


@dataclass(frozen=True)
class Section:
    """A heading of the page, how its figures came about, and the figures."""

    heading: str
    how: str
    figures: Sequence[Figure]
