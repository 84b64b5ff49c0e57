"""What a run's cost is reckoned with: the day of the prices, the years, and parts that the layers do not tell."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from flatwater.experiment.problem import Table, quote, refuse

#: Years that a cost is reckoned for, if nothing is said: TPC-C prices a system with three years of maintenance.
YEARS = 3.0
YEARS_MAX = 30.0


def read_day(given: Any) -> datetime.date:
    """A day that has come, as TOML has it or as text. Errors: what `refuse` raises."""
    day = given
    if isinstance(given, str):
        try:
            day = datetime.date.fromisoformat(given)
        except ValueError:
            day = None
    if not isinstance(day, datetime.date) or isinstance(day, datetime.datetime):
        raise refuse(f"must be a day, not {quote(given)}", "date = 2010-06-14")
    if day > datetime.datetime.now(datetime.UTC).date():
        raise refuse(f"{day.isoformat()} has not come yet", "the day on which the prices were seen")
    return day


#: A day that has come.
Day = Annotated[datetime.date, BeforeValidator(read_day)]


class CostItem(Table):
    """One entry of `[[cost.items]]`: so many of a price line."""

    line: Annotated[str, Field(min_length=1)]
    #: 0: none of it, although the layers would have some.
    quantity: float = Field(default=1.0, ge=0, le=1e9)


class Cost(Table):
    """`[cost]`: which prices count, and over how many years."""

    years: float = Field(default=YEARS, gt=0, le=YEARS_MAX)
    #: Prices as of this day: of several lines for a part the nearest one; the newest of the storage's if absent.
    date: Day | None = None
    #: A price file of one's own.
    prices: Annotated[str, Field(min_length=1)] | None = None
    #: In addition to what the layers say.
    items: list[CostItem] = Field(default_factory=list)
