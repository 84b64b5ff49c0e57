"""Price files: where they are, what is wrong with them and on which line, and the line of a day."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flatwater.cost.line import Per, PriceLine
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.lines import LineIndex
from flatwater.experiment.named_file import require_may_open
from flatwater.experiment.parse import expanded, parse_toml, read_text
from flatwater.experiment.problem import Problem, explain_error, quote
from flatwater.spelling import suggest

#: What is above the lines of a file.
_ABOVE = ("title", "about", "currency", "line")


class InvalidPricesError(UserError):
    """A price file that cannot be used. Reads as its first problem; `problems` has every one."""

    def __init__(self, problems: list[UserError]) -> None:
        first, others = problems[0], len(problems) - 1
        more = f" (and {others} more)" if others else ""
        super().__init__(first.what + more, where=first.where, hint=first.hint)
        self.problems = problems


@dataclass(frozen=True)
class Priced:
    """A line, and the place where it stands: `prices/cards.toml:12`."""

    line: PriceLine
    place: str
    #: Of a file of the user's own, which stands before ours whatever its day.
    own: bool = False


@dataclass(frozen=True)
class PriceBook:
    """Every price line that is known, by name."""

    lines: Mapping[str, Priced]

    def find(self, name: str, where: str) -> Priced:
        """The line of a name. Errors: UserError, with the nearest name as its hint."""
        if name in self.lines:
            return self.lines[name]
        raise UserError(f"there is no price line {quote(name)}", where=where, hint=suggest(name, list(self.lines)))

    def of_device(self, device: str, day: datetime.date) -> list[Priced]:
        """The lines that buy or rent a device: of each unit of sale the one that is nearest to the day."""
        return self._nearest((one for one in self.lines.values() if device in one.line.devices), day)

    def of_machine(self, machine: str, day: datetime.date) -> list[Priced]:
        """The lines that buy or rent a machine: of each unit of sale the one that is nearest to the day."""
        return self._nearest((one for one in self.lines.values() if machine in one.line.machines), day)

    def of_kind(self, kind: str, day: datetime.date) -> Priced | None:
        """The line of a kind that is nearest to the day; None if there is none."""
        found = [one for one in self.lines.values() if one.line.kind == kind]
        return min(found, key=lambda one: _distance(one, day), default=None)

    def latest_of(self, devices: Iterable[str]) -> datetime.date | None:
        """The latest day on which the price of one of the devices was seen; None if none has one."""
        wanted = set(devices)
        days = [one.line.date for one in self.lines.values() if wanted & set(one.line.devices)]
        return max(days, default=None)

    def _nearest(self, found: Iterable[Priced], day: datetime.date) -> list[Priced]:
        nearest: dict[Per, Priced] = {}
        for one in found:
            other = nearest.get(one.line.per)
            if other is None or _distance(one, day) < _distance(other, day):
                nearest[one.line.per] = one
        return list(nearest.values())


def _distance(one: Priced, day: datetime.date) -> tuple[bool, int, str]:
    """How near a line is to a day: one's own first; the name decides between two that are as near."""
    return not one.own, abs((one.line.date - day).days), one.line.name


def prices_dir() -> Path:
    """Where the prices are: `prices/` of the package, to which the source tree's `prices` leads too."""
    place = Path(__file__).parents[1] / "prices"
    if not place.is_dir():
        raise FlatwaterError("the price files are missing", hint="reinstall flatwater")
    return place


def read_book(own: Iterable[Path] = ()) -> PriceBook:
    """The lines that come with flatwater, and those of one's own files, which are taken before ours.

    Errors: InvalidPricesError with file and line; UserError for a file that cannot be read.
    """
    lines = dict(_shipped())
    mine: dict[str, Priced] = {}
    for path in own:
        for priced in _read(path, str(path), own=True):
            name = priced.line.name
            if name in mine:
                what = f"line.name: {quote(name)} is also in {mine[name].place}"
                raise InvalidPricesError([UserError(what, where=priced.place, hint="a name for each line")])
            mine[name] = priced
    return PriceBook(lines | mine)


@lru_cache(maxsize=1)
def _shipped() -> Mapping[str, Priced]:
    lines: dict[str, Priced] = {}
    for path in sorted(prices_dir().glob("*.toml")):
        for priced in _read(path, f"prices/{path.name}"):
            assert priced.line.name not in lines, f"{priced.place}: {priced.line.name} is in {lines[priced.line.name]}"
            lines[priced.line.name] = priced
    return lines


def _read(path: Path, shown: str, *, own: bool = False) -> Iterator[Priced]:
    if own:
        require_may_open(path)
    text = read_text(expanded(str(path)), "a price file")
    data = parse_toml(path, text)
    index = LineIndex(text)
    found: list[PriceLine] = []
    problems = list(_above_problems(data))
    entries = data.get("line", [])
    for number, entry in enumerate(entries if isinstance(entries, list) else []):
        try:
            found.append(PriceLine.model_validate(_with_currency(entry, data.get("currency"))))
        except ValidationError as error:
            problems += _entry_problems(number, error)
    problems += [] if problems else _twice(found)
    if problems:
        placed = [(index.line_of(problem.field) or 0, problem) for problem in problems]
        raise InvalidPricesError([_placed(shown, *one) for one in sorted(placed, key=lambda one: one[0])])
    for number, line in enumerate(found):
        yield Priced(line, f"{shown}:{index.line_of(f'line.{number}') or 1}", own)


def _above_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    for name in data:
        if name not in _ABOVE:
            yield Problem(name, "unknown field", suggest(name, list(_ABOVE)))
    entries = data.get("line")
    if not isinstance(entries, list) or not entries:
        yield Problem("line", "there is no price line in the file", "[[line]] begins one: see docs/cost.md")


def _with_currency(entry: Any, currency: Any) -> Any:
    if not isinstance(entry, Mapping) or currency is None or "currency" in entry:
        return entry
    return {**entry, "currency": currency}


def _entry_problems(number: int, error: ValidationError) -> Iterator[Problem]:
    for details in error.errors(include_url=False):
        field = ".".join(str(part) for part in details["loc"])
        what, hint = explain_error(details)
        if details["type"] == "extra_forbidden":
            hint = suggest(field, list(PriceLine.model_fields))
        if details["type"] == "string_pattern_mismatch":
            what, hint = f"{quote(details['input'])} is no name", 'letters, digits, ".", "_" and "-"'
        yield Problem(".".join(part for part in (f"line.{number}", field) if part), what, hint)


def _twice(found: list[PriceLine]) -> Iterator[Problem]:
    """Lines of one name, and lines that price the same thing on the same day."""
    names: dict[str, int] = {}
    things: dict[tuple[object, ...], str] = {}
    for number, line in enumerate(found):
        if line.name in names:
            what = f"{quote(line.name)} stands twice: line[{names[line.name]}] has it too"
            yield Problem(f"line.{number}.name", what, "a name for each line")
        names.setdefault(line.name, number)
        twice = next((thing for thing in line.devices if line.devices.count(thing) > 1), None)
        if twice is not None:
            yield Problem(f"line.{number}.devices", f"names {twice} twice", "once is enough")
        for thing in dict.fromkeys((*line.devices, *line.machines)):
            key = (thing, line.per, line.date, line.currency)
            if key in things:
                what = f"{quote(things[key])} prices {thing} on {line.date} too"
                yield Problem(f"line.{number}.date", what, "keep one of the two")
            things.setdefault(key, line.name)


def _placed(shown: str, number: int, problem: Problem) -> UserError:
    field = ".".join(f"[{part}]" if part.isdecimal() else part for part in problem.field.split("."))
    what = f"{field.replace('.[', '[')}: {problem.what}"
    return UserError(what, where=f"{shown}:{number}" if number else shown, hint=problem.hint)
