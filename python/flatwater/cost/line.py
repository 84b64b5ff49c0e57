"""A price line: what something cost, on which day, by whom it was told, and what it can do and takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from flatwater.experiment.cost import Day
from flatwater.experiment.problem import Problem, Table, quote, raise_problems, refuse
from flatwater.experiment.units import Size
from flatwater.spelling import suggest

#: ISO 4217 codes that a price may be in. Sums are made in one currency: nothing here knows a rate of exchange.
CURRENCIES = (
    *("AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "ILS", "INR", "JPY"),
    *("KRW", "MXN", "NOK", "NZD", "PLN", "RON", "SEK", "SGD", "THB", "TRY", "TWD", "UAH", "USD", "ZAR"),
)

#: item            bought once
#: GB              bought once, for each 10^9 bytes; of memory for each 2^30, as its makers count
#: hour, month     rented
#: GB-month, IOPS-month, MiB/s-month   rented, for each of them that is provisioned
#: kWh             electricity
Per = Literal["item", "GB", "hour", "month", "GB-month", "IOPS-month", "MiB/s-month", "kWh"]
#: What a line is of. A `server` has its processors and, where `capacity` says so, memory.
Kind = Literal["flash", "disk", "memory", "controller", "server", "volume", "instance", "electricity", "other"]

#: Figures beside the price, each of which may have a source of its own.
FIGURES = ("capacity", "power_w", "endurance", "dwpd", "warranty_years", "rack_units")
#: A year of hours, and a twelfth of it: 365.25 days.
HOURS_PER_YEAR = 8766.0
HOURS_PER_MONTH = HOURS_PER_YEAR / 12


def _currency(given: Any) -> Any:
    if given not in CURRENCIES:
        raise refuse(f"{quote(given)} is no currency that is known here", suggest(str(given), list(CURRENCIES)))
    return given


class PriceLine(Table):
    """One `[[line]]` of a price file."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    title: str = Field(min_length=1, max_length=300)
    kind: Kind
    price: float = Field(ge=0, le=1e12)
    currency: Annotated[str, BeforeValidator(_currency)] = "USD"
    per: Per = "item"
    #: Of what is rented by the GB, IOPS or MiB/s: how much of it costs nothing.
    included: float = Field(default=0, ge=0, le=1e12)
    #: When the price was seen.
    date: Day
    #: Who told the price, and where.
    source: str = Field(min_length=1, max_length=2000)
    #: Names of `devices/` that this buys or rents one of.
    devices: list[str] = Field(default_factory=list)
    #: Names of `machines/` that this buys or rents one of.
    machines: list[str] = Field(default_factory=list)
    #: Bytes of one item.
    capacity: Size | None = None
    #: Electric power of one item under load, W; of memory that is sold by the GB and has no `capacity`, of a GB.
    power_w: float | None = Field(default=None, ge=0, le=1e6)
    #: Bytes that its maker says a host may write to one item.
    endurance: Size | None = None
    #: The same as drive writes per day, over the years of the warranty.
    dwpd: float | None = Field(default=None, gt=0, le=1000)
    warranty_years: float | None = Field(default=None, gt=0, le=20)
    #: Height in a rack.
    rack_units: float | None = Field(default=None, gt=0, le=100)
    #: What the price is of and is not, in a sentence: a street price, a quotation, an estimate.
    note: str = Field(default="", max_length=2000)
    #: Figure -> its source, where it is not the price's.
    sources: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _no_conflicts(self) -> Self:
        raise_problems(self.name, self._conflicts())
        return self

    def _conflicts(self) -> Iterator[Problem]:
        if (self.dwpd is None) != (self.warranty_years is None):
            given, missing = ("dwpd", "warranty_years") if self.warranty_years is None else ("warranty_years", "dwpd")
            yield Problem(given, f"says nothing without {missing}", f"{missing} = ...")
        elif self.dwpd is not None and self.endurance is not None:
            yield Problem("dwpd", "and endurance are two ratings", "keep one of them")
        elif self.dwpd is not None and self.capacity is None:
            yield Problem("dwpd", "says nothing without capacity", 'capacity = "3840GB"')
        if self.included and not self.per.endswith("-month"):
            yield Problem("included", f"has no meaning per {self.per}", "take it out")
        for name in ("power_w", "rack_units"):
            if self.per == "GB" and self.kind != "memory" and self.capacity is None and getattr(self, name) is not None:
                yield Problem(name, "is of one item, and nothing tells how many GB an item has", 'capacity = "3840GB"')
        if (self.kind == "electricity") != (self.per == "kWh"):
            yield Problem("per", f"{quote(self.per)} is no unit of {self.kind}", 'kWh is of kind "electricity"')
        for name in self.sources:
            if name not in FIGURES:
                yield Problem(f"sources.{name}", "is no figure of a line", suggest(name, list(FIGURES)))
            elif getattr(self, name) is None:
                yield Problem(f"sources.{name}", f"there is no {name} in this line", f"{name} = ..., or take it out")

    @property
    def rated_bytes(self) -> float | None:
        """Bytes that a host may write to one item, by its maker's rating; None where nothing is told."""
        if self.endurance is not None:
            return float(self.endurance)
        if self.dwpd is None or self.warranty_years is None or self.capacity is None:
            return None
        return self.dwpd * self.capacity * self.warranty_years * HOURS_PER_YEAR / 24

    @property
    def gb(self) -> float | None:
        """GB of one item: 2^30 bytes each of memory, 10^9 of everything else."""
        return None if self.capacity is None else self.capacity / gb_bytes(self.kind)

    def source_of(self, figure: str) -> str:
        """Where a figure of the line comes from."""
        return self.sources.get(figure, self.source)


def gb_bytes(kind: Kind) -> float:
    """Bytes of one GB, as whoever sells it counts."""
    return float(2**30) if kind == "memory" else 1e9
