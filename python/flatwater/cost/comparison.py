"""Candidates side by side: what each costs in the years asked, for each unit of throughput, and for the same load."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

from flatwater.cost.book import PriceBook, Priced
from flatwater.cost.candidate import Candidate
from flatwater.cost.frontier import OnFrontier, Point, frontier
from flatwater.cost.sums import Sum, sum_of
from flatwater.errors import UserError
from flatwater.experiment.cost import YEARS, CostItem

#: Prices whose days lie further apart are told: prices of parts fall, and rise, faster than that.
FAR_APART_DAYS = 731


@dataclass(frozen=True)
class Row:
    """One candidate with its sum. What depends on the sum is None where a part has no price."""

    candidate: Candidate
    sum: Sum
    cost: float | None
    #: Cost of the years for each unit of throughput, and its 95 % interval: that of the throughput.
    cost_per: float | None
    cost_per_low: float | None
    cost_per_high: float | None
    #: What is bought, for each unit of throughput.
    price_per: float | None
    watts_per: float | None
    #: Servers like this one that serve the load, and what they cost together.
    servers: int
    cost_of_load: float | None
    frontier: OnFrontier | None

    @property
    def priced(self) -> bool:
        """Whether every part has a price."""
        return self.cost is not None


@dataclass(frozen=True)
class Comparison:
    """The rows, cheapest for each unit of throughput first, and the rules by which they were made."""

    rows: tuple[Row, ...]
    unit: str
    currency: str
    years: float
    day: datetime.date
    load: float
    #: The electricity that is in every cost; None where it is in none.
    electricity: Priced | None
    excluded: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def lines(self) -> list[Priced]:
        """Every price line that a figure stands on, by name."""
        used = {item.priced.line.name: item.priced for row in self.rows for item in row.sum.items}
        if self.electricity is not None:
            used[self.electricity.line.name] = self.electricity
        return [used[name] for name in sorted(used)]


@dataclass(frozen=True)
class Asked:
    """What the command line asks: each None means what the experiments say, or the usual."""

    years: float | None = None
    day: datetime.date | None = None
    load: float | None = None
    items: tuple[CostItem, ...] = ()
    #: Why no frontier can be drawn; empty where one can.
    not_comparable: str = ""


def compare_costs(candidates: Sequence[Candidate], book: PriceBook, asked: Asked) -> Comparison:
    """Every candidate priced on the same day, by the same rules. Errors: UserError."""
    units = sorted({one.unit for one in candidates})
    if len(units) > 1:
        what = f"the runs are in {' and '.join(units)}, which cannot be compared"
        raise UserError(what, hint="give runs of one unit, or --cell")
    years = asked.years or max((one.cost.years for one in candidates), default=YEARS)
    day = asked.day or _day(candidates, book)
    servers = all(_servers_priced(one, book, day) for one in candidates)
    sums = [sum_of(one, book, day, asked.items, servers=servers) for one in candidates]
    currencies = sorted({one.currency for one in sums if one.items})
    if len(currencies) > 1:
        raise UserError(f"the runs are priced in {' and '.join(currencies)}", where="--prices", hint="use one currency")
    currency = currencies[0] if currencies else "USD"
    electricity = _electricity(sums, book, day, currency)
    per_kwh = None if electricity is None else electricity.line.price
    load = asked.load or max(one.throughput for one in candidates)
    costs = [None if one.unpriced or not one.items else one.cost(years, per_kwh) for one in sums]
    on_frontier = _frontier(candidates, costs, asked)
    rows = [
        _row(candidate, total, cost, load, place)
        for candidate, total, cost, place in zip(candidates, sums, costs, on_frontier, strict=True)
    ]
    rows.sort(key=lambda row: (row.cost_per is None, row.cost_per or 0.0))
    excluded = list(dict.fromkeys(text for one in sums for text in one.excluded))
    if electricity is None:
        excluded.append("electricity: " + _why_no_power(sums, currency))
    notes = [*_notes(sums, rows, electricity), *([asked.not_comparable] if asked.not_comparable else [])]
    return Comparison(
        tuple(rows), units[0], currency, years, day, load, electricity, tuple(excluded), tuple(dict.fromkeys(notes))
    )


def _day(candidates: Sequence[Candidate], book: PriceBook) -> datetime.date:
    """The day of the prices, where nobody says one: the newest price of a device that is used; today without any."""
    told = [one.cost.date for one in candidates if one.cost.date is not None]
    if told:
        return max(told)
    devices = [name for one in candidates for name in one.parts.devices]
    return book.latest_of(devices) or datetime.datetime.now(datetime.UTC).date()


def _servers_priced(candidate: Candidate, book: PriceBook, day: datetime.date) -> bool:
    """Whether each of a candidate's machines has a price: machines are in every sum, or in none."""
    machines = [part.name for part in candidate.parts.parts if part.role == "server"]
    return all(book.of_machine(name, day) for name in machines)


def _electricity(sums: Sequence[Sum], book: PriceBook, day: datetime.date, currency: str) -> Priced | None:
    """The price of electricity: only where the power of everything bought is known, or sums could not be compared."""
    bought = [one for one in sums if any(item.bought for item in one.items)]
    if not bought or any(one.watts is None for one in bought):
        return None
    found = book.of_kind("electricity", day)
    return found if found is not None and found.line.currency == currency else None


def _why_no_power(sums: Sequence[Sum], currency: str) -> str:
    unknown = [item.priced.line.name for one in sums for item in one.items if item.bought and item.watts is None]
    if not any(item.bought for one in sums for item in one.items):
        return "nothing that takes it is bought"
    if not unknown:
        return f"no price line has it in {currency}"
    return f"the power of {', '.join(dict.fromkeys(unknown))} is not known"


def _frontier(candidates: Sequence[Candidate], costs: Sequence[float | None], asked: Asked) -> list[OnFrontier | None]:
    if asked.not_comparable:
        return [None] * len(candidates)
    known = [(place, cost) for place, cost in enumerate(costs) if cost is not None]
    points = [_point(candidates[place], cost) for place, cost in known]
    judged = dict(zip((place for place, _ in known), frontier(points), strict=True))
    return [judged.get(place) for place in range(len(candidates))]


def _point(candidate: Candidate, cost: float) -> Point:
    low = candidate.throughput if candidate.low is None else candidate.low
    high = candidate.throughput if candidate.high is None else candidate.high
    return Point(cost, candidate.throughput, low, high)


def _row(candidate: Candidate, total: Sum, cost: float | None, load: float, place: OnFrontier | None) -> Row:
    # A load that is a rounding error above what one server does takes one server.
    servers = max(1, math.ceil(load / candidate.throughput - 1e-9))
    priced = cost is not None

    def per(throughput: float | None) -> float | None:
        return None if cost is None or not throughput else cost / throughput

    return Row(
        candidate=candidate,
        sum=total,
        cost=cost,
        cost_per=per(candidate.throughput),
        cost_per_low=per(candidate.high),
        cost_per_high=per(candidate.low),
        price_per=total.price / candidate.throughput if priced and total.price else None,
        watts_per=total.watts / candidate.throughput if total.watts is not None and not total.unpriced else None,
        servers=servers,
        cost_of_load=None if cost is None else cost * servers,
        frontier=place,
    )


def _notes(sums: Sequence[Sum], rows: Sequence[Row], electricity: Priced | None) -> list[str]:
    notes = [note for one in sums for note in one.notes]
    notes += [f"{row.candidate.name}: {note}" for row in rows for note in row.candidate.notes]
    days = {item.priced.line.date for one in sums for item in one.items}
    if days and (max(days) - min(days)).days > FAR_APART_DAYS:
        notes.append(
            f"the prices are of different times, {min(days)} to {max(days)}: their sum was never anybody's price"
        )
    if electricity is not None and days and abs((electricity.line.date - max(days)).days) > FAR_APART_DAYS:
        notes.append(f"the price of electricity is of {electricity.line.date}: the nearest that there is")
    return notes
