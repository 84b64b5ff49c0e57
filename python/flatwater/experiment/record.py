"""What is recorded while a cell runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flatwater.experiment.problem import Table
from flatwater.experiment.units import SomeSeconds


class Record(Table):
    """`[record]`: how often the layers report."""

    #: Length of an interval; every layer reports once in each.
    interval_s: Annotated[SomeSeconds, Field(ge=0.1, le=3600)] = 1.0
