"""The settings of the recording."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flatwater.experiment.problem import Table
from flatwater.experiment.units import SomeSeconds


class Record(Table):
    """`[record]`: the interval of the series."""

    #: Length of an interval. Every layer reports once in each interval.
    interval_s: Annotated[SomeSeconds, Field(ge=0.1, le=3600)] = 1.0
