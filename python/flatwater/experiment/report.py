"""How the report draws a sweep."""

from __future__ import annotations

from pydantic import Field

from flatwater.experiment.problem import Table


class Report(Table):
    """`[report]`: which swept field is the x axis, and which one makes the lines."""

    #: The first swept field if absent.
    x: str | None = None
    series: str | None = None
    #: What the cells are called, one name for each in the file's order; by their swept values if absent.
    names: list[str] = Field(default_factory=list)
