"""What the parts of a candidate cost: a line item for each, traced to its dated price line."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from flatwater.cost.book import PriceBook, Priced
from flatwater.cost.candidate import Candidate
from flatwater.cost.life import Life, Wearing, life_of
from flatwater.cost.line import HOURS_PER_MONTH, HOURS_PER_YEAR, Kind, gb_bytes
from flatwater.cost.parts import DEVICE_ROLES, Part, Role
from flatwater.errors import UserError
from flatwater.experiment.cost import CostItem

#: Months of a year.
MONTHS = 12
#: A drive may be so much larger than what a line sells and still be it: makers and models round capacities.
CAPACITY_SLACK = 0.05
#: What a line that was told with `--item` or `[[cost.items]]` stands for, by its kind: parts of these roles are then
#: not derived from the layers.
_STANDS_FOR: dict[Kind, tuple[Role, ...]] = {
    "memory": ("memory",),
    "server": ("server",),
    "instance": ("server", "memory"),
}
#: Kinds of lines that can be the storage of a run whose experiment does not name it.
_STORAGE_KINDS: tuple[Kind, ...] = ("flash", "disk", "volume", "instance", "other")


@dataclass(frozen=True)
class Item:
    """One line of a sum: so many of a price line, and what they come to."""

    role: str
    priced: Priced
    #: Pieces, GB, IOPS, ...: in the line's unit of sale.
    quantity: float
    #: Paid once, and each month.
    once: float
    monthly: float
    watts: float | None = None
    #: Of one drive under this load.
    life: Life | None = None
    rack_units: float | None = None
    gb: float | None = None

    @property
    def bought(self) -> bool:
        """Whether it is bought, so that it takes its owner's electricity and is replaced when it is worn out."""
        return self.priced.line.per in ("item", "GB")

    def replacements(self, years: float) -> int:
        """How often it is bought again within the years because it is worn out."""
        life = self.life.years if self.life is not None else None
        if not self.bought or life is None or life >= years:
            return 0
        return math.ceil(years / max(life, 1 / HOURS_PER_YEAR)) - 1


@dataclass(frozen=True)
class Sum:
    """The line items of a candidate."""

    items: tuple[Item, ...]
    currency: str
    #: Parts that no line prices: a sum that lacks storage or memory is none.
    unpriced: tuple[str, ...] = ()
    #: What is left out on purpose.
    excluded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def price(self) -> float:
        """What is paid once."""
        return sum(item.once for item in self.items)

    @property
    def monthly(self) -> float:
        """What is paid each month."""
        return sum(item.monthly for item in self.items)

    @property
    def watts(self) -> float | None:
        """Electric power of all that is bought; None where that of one part is not known, or nothing is bought."""
        known = [item.watts for item in self.items if item.bought]
        return None if not known or any(one is None for one in known) else sum(one or 0.0 for one in known)

    @property
    def rack_units(self) -> float | None:
        """Height in a rack, where a line tells one."""
        known = [item.rack_units for item in self.items if item.rack_units is not None]
        return sum(known) if known else None

    @property
    def life_years(self) -> float | None:
        """Years until the first drive is worn out; None where nothing tells."""
        known = [item.life.years for item in self.items if item.life is not None]
        return min((one for one in known if one is not None), default=None)

    @property
    def price_per_gb(self) -> float | None:
        """Price of the storage that is bought, for each GB of its capacity; of what is rented there is none."""
        stored = [item for item in self.items if item.role == "storage" and item.bought and item.gb]
        return sum(item.once for item in stored) / sum(item.gb or 0.0 for item in stored) if stored else None

    def replaced(self, years: float) -> float:
        """Price of the drives that wear out within the years."""
        return sum(item.once * item.replacements(years) for item in self.items)

    def electricity(self, years: float, per_kwh: float) -> float | None:
        """Price of the electricity of the years; None where the power is not known."""
        return None if self.watts is None else self.watts / 1000 * HOURS_PER_YEAR * years * per_kwh

    def cost(self, years: float, per_kwh: float | None) -> float:
        """What is paid in so many years. `per_kwh` None: electricity is left out."""
        power = self.electricity(years, per_kwh) if per_kwh is not None else 0.0
        return self.price + self.replaced(years) + self.monthly * MONTHS * years + (power or 0.0)


def sum_of(
    candidate: Candidate, book: PriceBook, day: datetime.date, told: Sequence[CostItem], *, servers: bool
) -> Sum:
    """The line items of a candidate with prices of a day.

    `told`: items of the command line, after the experiment's own. `servers`: whether machines are priced.
    Errors: UserError for a line that there is not, or for two currencies.
    """
    own = [(one, "[[cost.items]]") for one in candidate.cost.items] + [(one, "--item") for one in told]
    named = [(book.find(one.line, where), one.quantity) for one, where in own]
    items, unpriced, excluded = [], [], []
    for part in _kept(candidate.parts.parts, [priced for priced, _ in named]):
        if part.role == "server" and not servers:
            excluded.append(f"the server ({part.name})")
            continue
        if part.array and book.of_device(part.array, day):
            part = replace(part, name=part.array, count=1, size_bytes=None)
        elif part.array:
            excluded.append(f"the controller of {part.array}")
        found = list(_items(candidate, part, book, day))
        items += found
        if not found:
            unpriced.append(_unpriced(part, book, day))
    if any(item.priced.line.kind == "instance" for item in items):
        items = [item for item in items if item.role not in ("memory", "server")]
    # What is told as it is derived wears as it does: only its quantity could be another.
    same = {(item.priced.line.name, item.quantity): item for item in items}
    items = [item for item in items if item.priced.line.name not in {priced.line.name for priced, _ in named}]
    items += [
        same.get((priced.line.name, quantity)) or _told_item(candidate, priced, quantity)
        for priced, quantity in named
        if quantity
    ]
    currencies = sorted({item.priced.line.currency for item in items})
    if len(currencies) > 1:
        what = f"{candidate.name}: the sum mixes {' and '.join(currencies)}, and no rate of exchange is known here"
        raise UserError(what, where="--prices", hint="price all parts in one currency")
    currency = currencies[0] if currencies else "USD"
    # The notes are of how much memory is priced.
    notes = candidate.parts.notes if any(item.role == "memory" for item in items) else ()
    return Sum(tuple(items), currency, tuple(unpriced), tuple(excluded), notes)


def _kept(parts: Sequence[Part], told: Sequence[Priced]) -> Iterator[Part]:
    """The parts that no told line stands for."""
    kinds = {priced.line.kind for priced in told}
    roles = {role for kind in kinds for role in _STANDS_FOR.get(kind, ())}
    for part in parts:
        if part.role in roles:
            continue
        if part.unknown and part.role == "storage" and kinds & set(_STORAGE_KINDS):
            continue
        yield part


def _unpriced(part: Part, book: PriceBook, day: datetime.date) -> str:
    if part.unknown:
        return f"{part.role}: {part.unknown}"
    if lines := _lines_of(part, book, day):
        line = lines[0].line
        return f"{part.role}: {line.name} is priced per {line.per}, and how many it takes is not known"
    return f"{part.role}: no price line has {part.name}" if part.name else f"{part.role}: there is no price line of it"


def _items(candidate: Candidate, part: Part, book: PriceBook, day: datetime.date) -> Iterator[Item]:
    for priced in _lines_of(part, book, day):
        if _quantity(part, priced) is not None:
            yield _item(candidate, part, priced)


def _lines_of(part: Part, book: PriceBook, day: datetime.date) -> list[Priced]:
    """The price lines that have a part, whether or not its quantity is known."""
    if part.role == "memory":
        priced = book.of_kind("memory", day)
        return [] if priced is None else [priced]
    return book.of_machine(part.name, day) if part.role == "server" else book.of_device(part.name, day)


def _quantity(part: Part, priced: Priced) -> float | None:
    """So many of a line as a part takes, in the line's unit of sale; None where nothing tells how many.

    What is not known is not 0: such a part would cost nothing.
    """
    line = priced.line
    if line.per == "item" and part.role == "memory":
        return float(math.ceil((part.size_bytes or 0.0) / line.capacity)) if line.capacity else None
    if line.per in ("item", "hour", "month", "kWh"):
        return float(part.count * _pieces(part, priced))
    each = {"IOPS-month": part.iops, "MiB/s-month": part.mib_per_s}.get(line.per, part.size_bytes)
    if each is None:
        return None
    return part.count * each / (gb_bytes(line.kind) if line.per in ("GB", "GB-month") else 1.0)


def _item(candidate: Candidate, part: Part, priced: Priced) -> Item:
    """The line item of a part whose quantity is known."""
    line = priced.line
    quantity = _quantity(part, priced) or 0.0
    made = _made(part.role, priced, quantity)
    if part.role not in DEVICE_ROLES or line.kind != "flash":
        return made
    wearing = candidate.wearing.get(part.role, Wearing(None)) if part.count == 1 else Wearing(None)
    # The drive that ran is told more closely by its own file than by what is sold, which may hold several.
    life = life_of(wearing, part.rated_bytes or line.rated_bytes, part.cell_bytes)
    if part.count > 1 and part.role == "storage":
        life = replace(life, cell_years=candidate.member_years)
    return replace(made, life=life)


def _pieces(part: Part, priced: Priced) -> int:
    """How many of a line one drive of a part takes: more than one where what is sold is smaller than what ran."""
    sold = priced.line.capacity
    if part.role not in DEVICE_ROLES or part.size_bytes is None or not sold:
        return 1
    return max(1, math.ceil(part.size_bytes / sold - CAPACITY_SLACK))


def _told_item(candidate: Candidate, priced: Priced, quantity: float) -> Item:
    """A line that was told with its quantity. One drive that stands for a real run's storage wears as that does."""
    line = priced.line
    made = _made("told", priced, quantity)
    stands = any(part.role == "storage" and part.unknown for part in candidate.parts.parts)
    if line.kind in ("flash", "disk") and stands:
        made = replace(made, role="storage")
    if line.kind == "flash" and stands and quantity == 1:
        wearing = candidate.wearing.get("storage", Wearing(None))
        return replace(made, life=life_of(wearing, line.rated_bytes, None))
    return made


def _made(role: str, priced: Priced, quantity: float) -> Item:
    line = priced.line
    paid = max(quantity - line.included, 0.0) * line.price
    once = paid if line.per in ("item", "GB") else 0.0
    monthly = paid * HOURS_PER_MONTH if line.per == "hour" else paid if line.per.endswith("month") else 0.0
    gb = quantity if line.per == "GB" else None if line.gb is None else line.gb * quantity
    # Figures of one item: of what is sold by the GB, an item is `capacity`, and without one it is a GB of memory.
    items = quantity / line.gb if line.per == "GB" and line.gb else quantity
    return Item(
        role,
        priced,
        quantity,
        once,
        monthly,
        watts=None if line.power_w is None else line.power_w * items,
        rack_units=None if line.rack_units is None else line.rack_units * items,
        gb=gb,
    )
