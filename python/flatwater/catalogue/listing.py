"""The runs of a catalogue, one entry each: what a list of them shows, chooses and sorts by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa

from flatwater.catalogue.catalogue import Catalogue
from flatwater.catalogue.tables import RUN

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass
class Entry:
    """A run in a list. Of a sweep, the figures are of its cells."""

    #: Its path, as other commands take it.
    run: str
    name: str
    title: str
    status: str
    source: str
    created_at: datetime | None
    cells: int
    cells_done: int
    note: str
    #: Verdict -> the number of cells that have it, the most frequent first.
    verdicts: dict[str, int] = field(default_factory=dict)
    #: Of the means below; of several units, which only imported results have, that of the first cell.
    unit: str = ""
    #: The lowest and the highest mean of all cells; None where there is none.
    mean_min: float | None = None
    mean_max: float | None = None
    #: The names of the thresholds that a cell breaks.
    thresholds_failed: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The verdict in a word, or those of a sweep with their counts: `3 flat, 1 dips`; without any, the status."""
        if len(self.verdicts) == 1 and self.cells == 1:
            return next(iter(self.verdicts))
        if self.verdicts:
            return ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        return self.status

    def as_json(self) -> dict[str, object]:
        """The fields for JSON; the time is ISO 8601, UTC."""
        return vars(self) | {"created_at": self.created_at.isoformat() if self.created_at is not None else None}


def entries(catalogue: Catalogue) -> list[Entry]:
    """An entry for each run, the newest first."""
    runs = _rows(catalogue.tables["runs"], *_OF_RUNS)
    found = {run: Entry(run, *rest) for run, *rest in runs}
    for entry in found.values():
        entry.created_at = entry.created_at and entry.created_at.replace(tzinfo=UTC)
    verdicts: dict[str, Counter[str]] = {}
    for run, verdict, unit, mean in _rows(catalogue.tables["summary"], "verdict", "unit", "mean"):
        entry = found[run]
        if verdict is not None:
            verdicts.setdefault(run, Counter())[verdict] += 1
        entry.unit = entry.unit or unit
        if mean is not None and unit == entry.unit:
            entry.mean_min = mean if entry.mean_min is None else min(mean, entry.mean_min)
            entry.mean_max = mean if entry.mean_max is None else max(mean, entry.mean_max)
    for run, counted in verdicts.items():
        found[run].verdicts = dict(counted.most_common())
    for run, threshold, passed in _rows(catalogue.tables["thresholds"], "threshold", "passed"):
        if not passed and threshold not in found[run].thresholds_failed:
            found[run].thresholds_failed.append(threshold)
    for run, tag, value in _rows(catalogue.tables["tags"], "tag", "value"):
        found[run].tags[tag] = value
    return sort(found.values(), "date")


#: The columns of a run that an entry has, in its order.
_OF_RUNS = ("name", "title", "status", "source", "created_at", "cells", "cells_done", "note")


def _rows(table: pa.Table, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The run and some columns of each row."""
    return zip(*(table[name].to_pylist() for name in (RUN, *columns)), strict=True)


def _date(entry: Entry) -> Any:
    return entry.created_at or _LONG_AGO


#: Name of an order -> the key, and whether the largest comes first.
_ORDERS: dict[str, tuple[Callable[[Entry], Any], bool]] = {
    "date": (_date, True),
    "run": (lambda entry: entry.run, False),
    "name": (lambda entry: (entry.name, entry.run), False),
    "verdict": (lambda entry: (entry.verdict, entry.run), False),
    "mean": (lambda entry: (entry.unit, entry.mean_max is not None, entry.mean_max or 0.0), True),
}
#: What a list may be sorted by.
ORDERS = tuple(_ORDERS)


def sort(some: Iterable[Entry], order: str, *, reverse: bool = False) -> list[Entry]:
    """The entries in one of the `ORDERS`: the newest or the highest first, names from A; `reverse` turns it round."""
    key, largest_first = _ORDERS[order]
    return sorted(sorted(some, key=lambda entry: entry.run), key=key, reverse=largest_first != reverse)


def choose(
    some: Iterable[Entry],
    *,
    tags: Iterable[tuple[str, str | None]] = (),
    verdict: str | None = None,
    since: datetime | None = None,
) -> list[Entry]:
    """The entries that have all these tags (None: with any value), a cell of the verdict, and were made since then."""
    tests: list[Callable[[Entry], bool]] = [partial(_has_tag, name=name, value=value) for name, value in tags]
    if verdict is not None:
        tests.append(lambda entry: verdict in entry.verdicts)
    if since is not None:
        tests.append(lambda entry: bool(_date(entry) >= since))
    return [entry for entry in some if all(test(entry) for test in tests)]


def _has_tag(entry: Entry, name: str, value: str | None) -> bool:
    return name in entry.tags and value in (None, entry.tags[name])
