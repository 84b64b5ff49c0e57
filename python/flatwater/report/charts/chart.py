"""The interface of a chart: one class with a name, an order and a description, which draws figures of a cell or of a
sweep.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from flatwater.report.figure import Figure
from flatwater.report.recorded import Recorded
from flatwater.report.swept import Swept
from flatwater.results import Result


class CellChart(ABC):
    """Draws one cell.

    `fine` and `coarse` name the series (`layer.metric`) that it draws, in full detail or as a strip. The series of
    `together` are stacked, so they are thinned at common times. `draw` leaves out series that were not recorded, and
    returns no figure if none was.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    description: ClassVar[str]
    fine: ClassVar[tuple[str, ...]] = ()
    coarse: ClassVar[tuple[str, ...]] = ()
    together: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @abstractmethod
    def draw(self, recorded: Recorded) -> list[Figure]:
        """The figures of one cell, from its recorded series; empty if there is nothing to show."""


class SweepChart(ABC):
    """Draws the cells of a sweep in one chart."""

    name: ClassVar[str]
    order: ClassVar[int]
    description: ClassVar[str]

    @abstractmethod
    def draw(self, result: Result, swept: Swept) -> list[Figure]:
        """The figures of a whole sweep, from its cells arranged in lines; empty if there is nothing to show."""
