"""The basis of a run's cost: the day of the prices, the number of years, and parts that the layers do not have."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from flatwater.experiment.problem import Table, quote, refuse

#: The default number of years: TPC-C prices a system with three years of maintenance.
YEARS = 3.0
YEARS_MAX = 30.0
#: No price of a part is older: IBM announced the 305 RAMAC, the first computer with a disk, in September 1956.
FIRST_DAY = datetime.date(1956, 9, 1)


def read_day(given: Any) -> datetime.date:
    """A day that is not in the future, from a TOML date or a text. Errors: what `refuse` raises."""
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
    if day < FIRST_DAY:
        raise refuse(f"{day.isoformat()} is before the first disk was sold", "the day on which the prices were seen")
    return day


#: A day that is not in the future.
Day = Annotated[datetime.date, BeforeValidator(read_day)]


class CostItem(Table):
    """One entry of `[[cost.items]]`: a quantity of a price line."""

    line: Annotated[str, Field(min_length=1)]
    #: 0 removes a part that the layers would have.
    quantity: float = Field(default=1.0, ge=0, le=1e9)


class Cost(Table):
    """`[cost]`: the prices and the number of years."""

    years: float = Field(default=YEARS, gt=0, le=YEARS_MAX)
    #: Of several price lines for a part, the one nearest to this day counts. Default: the newest price of the storage.
    date: Day | None = None
    #: The user's own price file.
    prices: Annotated[str, Field(min_length=1)] | None = None
    #: Parts in addition to those of the layers.
    items: list[CostItem] = Field(default_factory=list)
