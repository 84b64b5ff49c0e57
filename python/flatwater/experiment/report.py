"""The settings of the report for a sweep."""

from __future__ import annotations

from pydantic import Field

from flatwater.experiment.problem import Table


class Report(Table):
    """`[report]`: the swept field on the x axis, and the one with a line for each value."""

    #: Default: the first swept field.
    x: str | None = None
    series: str | None = None
    #: The names of the cells, in the file's order. Default: their swept values.
    names: list[str] = Field(default_factory=list)
