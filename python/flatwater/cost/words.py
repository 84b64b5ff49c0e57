"""A comparison as words: the columns of its table, its notes, and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from flatwater.cost.book import Priced
from flatwater.cost.comparison import Comparison, Row
from flatwater.cost.life import Life
from flatwater.cost.line import HOURS_PER_YEAR
from flatwater.cost.sums import Item

#: Signs of currencies that have one that everybody reads.
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
#: Longer lives than this are only said to be longer: nobody keeps a drive for so long.
LIFE_YEARS_MAX = 100.0
#: Prices from here on are printed without a fraction.
_WHOLE_FROM = 100.0
_MISSING = "-"


@dataclass(frozen=True)
class Column:
    """One column of the table. `about` explains its heading; `main`: it is of the costs themselves."""

    heading: str
    about: str
    texts: tuple[str, ...]
    main: bool = False


def money(value: float | None, currency: str) -> str:
    """A price for people: no fractions of large ones, four digits of small ones."""
    if value is None:
        return _MISSING
    sign = _SIGNS.get(currency, f"{currency} ")
    return f"{sign}{value:,.0f}" if value >= _WHOLE_FROM else f"{sign}{value:.4g}"


def number(value: float | None) -> str:
    """A figure for people, four digits."""
    if value is None:
        return _MISSING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def life_text(life: Life | None) -> str:
    """The years of a drive in a few words."""
    years = None if life is None else life.years
    if years is None:
        return _MISSING
    return f"over {LIFE_YEARS_MAX:.0f}" if years > LIFE_YEARS_MAX else f"{years:.3g}"


def columns(comparison: Comparison) -> list[Column]:
    """The table, a row for each candidate. Columns in which nothing is known are left out."""
    rows, currency, unit = comparison.rows, comparison.currency, comparison.unit
    sign, years = _SIGNS.get(currency, currency), _years(comparison.years)
    found = [
        Column(unit, "throughput", tuple(number(row.candidate.throughput) for row in rows), main=True),
        Column("price", "bought once", tuple(_price(row, currency) for row in rows)),
        Column(
            f"{sign}/GB", "price of the storage, a GB", tuple(money(row.sum.price_per_gb, currency) for row in rows)
        ),
        Column(
            f"cost, {years}", "bought, rented, replaced", tuple(money(row.cost, currency) for row in rows), main=True
        ),
        Column(
            f"{sign}/{unit}",
            f"cost of {years} / throughput",
            tuple(money(row.cost_per, currency) for row in rows),
            main=True,
        ),
        Column("95 % interval", "of the column before", tuple(_interval(row, currency) for row in rows), main=True),
        Column(f"W/{unit}", "power of what is bought", tuple(number(row.watts_per) for row in rows)),
        Column("life, years", "until a drive is worn out", tuple(_life(row) for row in rows)),
        Column("servers", f"for {number(comparison.load)} {unit}", tuple(str(row.servers) for row in rows)),
        Column("cost of these", f"{years}", tuple(money(row.cost_of_load, currency) for row in rows)),
        Column("frontier", "nothing does as much for less", tuple(row.frontier or _MISSING for row in rows), main=True),
    ]
    return [one for one in found if any(text != _MISSING for text in one.texts)]


def _years(years: float) -> str:
    return f"{years:g} year" if years == 1 else f"{years:g} years"


def _price(row: Row, currency: str) -> str:
    return money(row.sum.price, currency) if row.priced and row.sum.price else _MISSING


def _interval(row: Row, currency: str) -> str:
    if row.cost_per_low is None or row.cost_per_high is None:
        return _MISSING
    return f"{money(row.cost_per_low, currency)} to {money(row.cost_per_high, currency)}"


def _life(row: Row) -> str:
    years = row.sum.life_years
    return life_text(None if years is None else Life(years, None))


def headline(comparison: Comparison) -> str:
    """What the table says, in a sentence or two; empty where nothing is priced."""
    priced = [row for row in comparison.rows if row.priced]
    if not priced:
        return ""
    best, currency, unit = priced[0], comparison.currency, comparison.unit
    # Of one row alone nothing is the cheapest.
    which = "" if len(priced) == 1 else "Cheapest for its throughput: "
    told = f"{which}{best.candidate.name}, {money(best.cost_per, currency)} per {unit}"
    if best.cost_per_low is not None and best.cost_per_high is not None:
        told += f" ({_interval(best, currency)})"
    told += f" over {_years(comparison.years)}."
    cheapest = min(priced, key=lambda row: row.cost_of_load or 0.0)
    if len(priced) > 1 and comparison.load:
        servers = "1 server" if cheapest.servers == 1 else f"{cheapest.servers} servers"
        without = "" if all(_has_server(row) for row in priced) else ", without the price of the servers themselves"
        told += (
            f" Cheapest for {number(comparison.load)} {unit}: {servers} of {cheapest.candidate.name}, "
            f"{money(cheapest.cost_of_load, currency)}{without}."
        )
    return told


def _has_server(row: Row) -> bool:
    """Whether the machine itself is in the sum."""
    return any(item.priced.line.kind in ("server", "instance") for item in row.sum.items)


def notes(comparison: Comparison) -> Iterator[str]:
    """What a reader must know: what lacks a price, what is left out, from when the prices are."""
    for row in comparison.rows:
        for what in row.sum.unpriced:
            yield f"{row.candidate.name} has no cost: {what} (hint: --item LINE=QUANTITY)"
    yield from (f"note: {text}" for text in comparison.notes)
    yield f"not in it: {'; '.join(comparison.excluded)}" if comparison.excluded else "nothing of it is left out"


def item_texts(row: Row, comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """The line items of a row: role, quantity, line, price, once, a month, source.

    Drives that are bought again and the electricity of the years are items too, so that the items are the cost.
    """
    currency = row.sum.currency
    for item in row.sum.items:
        once = money(item.once, currency) if item.once or not item.monthly else _MISSING
        monthly = money(item.monthly, currency) if item.monthly else _MISSING
        yield _item_text(item.role, item.quantity, item.priced.line.title, item.priced, once, monthly)
        times = item.replacements(comparison.years)
        if times:
            what = f"the same, bought again {times:,} {'time' if times == 1 else 'times'}: worn out"
            again = money(item.once * times, currency)
            yield _item_text(item.role, item.quantity * times, what, item.priced, again, _MISSING)
    power = comparison.electricity
    if power is not None and row.sum.watts is not None:
        kwh = row.sum.watts / 1000 * HOURS_PER_YEAR * comparison.years
        paid = money(kwh * power.line.price, currency)
        yield _item_text("electricity", kwh, f"kWh of {_years(comparison.years)}", power, paid, _MISSING)


def _item_text(role: str, quantity: float, what: str, priced: Priced, once: str, monthly: str) -> tuple[str, ...]:
    line = priced.line
    source = f"{line.name}, {line.date}: {line.source}" + (f" ({line.note})" if line.note else "")
    price = f"{money(line.price, line.currency)} per {line.per}"
    # A file of one's own may have ends of lines in its texts.
    texts = (role, number(quantity), what, price, once, monthly, source)
    return tuple(" ".join(text.split()) for text in texts)


#: The headings of `item_texts`.
ITEM_HEADINGS = ("part", "quantity", "what", "price", "once", "a month", "line, day and source")


def as_data(comparison: Comparison) -> dict[str, object]:
    """Everything that is told, as JSON has it: each sum names its lines."""
    return {
        "unit": comparison.unit,
        "currency": comparison.currency,
        "years": comparison.years,
        "prices_as_of": comparison.day.isoformat(),
        "load": comparison.load,
        "electricity": None if comparison.electricity is None else comparison.electricity.line.name,
        "excluded": list(comparison.excluded),
        "notes": list(comparison.notes),
        "rows": [_row_data(row, comparison) for row in comparison.rows],
        "lines": {one.line.name: {**one.line.model_dump(mode="json"), "place": one.place} for one in comparison.lines},
    }


def _row_data(row: Row, comparison: Comparison) -> dict[str, object]:
    candidate = row.candidate
    per_kwh = None if comparison.electricity is None else comparison.electricity.line.price
    return {
        "name": candidate.name,
        "run": candidate.run,
        "cell": candidate.cell,
        "modelled": candidate.modelled,
        "predicted": candidate.predicted,
        "throughput": candidate.throughput,
        "throughput_low": candidate.low,
        "throughput_high": candidate.high,
        "price": row.sum.price if row.priced else None,
        "monthly": row.sum.monthly if row.priced else None,
        "replaced": row.sum.replaced(comparison.years) if row.priced else None,
        "electricity": None if per_kwh is None else row.sum.electricity(comparison.years, per_kwh),
        "cost": row.cost,
        "cost_per_unit": row.cost_per,
        "cost_per_unit_low": row.cost_per_low,
        "cost_per_unit_high": row.cost_per_high,
        "price_per_unit": row.price_per,
        "price_per_gb": row.sum.price_per_gb,
        "watts": row.sum.watts,
        "watts_per_unit": row.watts_per,
        "rack_units": row.sum.rack_units,
        "life_years": row.sum.life_years,
        "servers": row.servers,
        "cost_of_load": row.cost_of_load,
        "frontier": row.frontier,
        "unpriced": list(row.sum.unpriced),
        "items": [_item_data(item, comparison.years) for item in row.sum.items],
    }


def _item_data(item: Item, years: float) -> dict[str, object]:
    return {
        "role": item.role,
        "line": item.priced.line.name,
        "quantity": item.quantity,
        "once": item.once,
        "monthly": item.monthly,
        "watts": item.watts,
        "life": None if item.life is None else asdict(item.life) | {"years": item.life.years},
        "replacements": item.replacements(years),
    }
