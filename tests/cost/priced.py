"""Price files and candidates of which every sum can be done by hand."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from flatwater.cost.book import PriceBook, Priced
from flatwater.cost.candidate import Candidate
from flatwater.cost.line import PriceLine
from flatwater.cost.parts import Part, Parts

DAY = datetime.date(2010, 6, 14)
LINE = """\
[[line]]
name = "card"
title = "A card"
kind = "flash"
price = 1000
date = 2010-06-14
devices = ["a-card"]
capacity = "100GB"
source = "a test"
"""


def line(name: str, **more: Any) -> PriceLine:
    """A line of 1,000 dollars."""
    fields = {"title": name, "kind": "flash", "price": 1000.0, "date": DAY, "source": "a test"}
    return PriceLine.model_validate({"name": name} | fields | more)


def book(*lines: PriceLine) -> PriceBook:
    """A book of these lines only."""
    return PriceBook({one.name: Priced(one, f"mine.toml:{place}") for place, one in enumerate(lines, start=1)})


def candidate(name: str = "one", throughput: float = 500.0, *parts: Part, **more: Any) -> Candidate:
    """A row that was measured without an interval, on one card if nothing else is said."""
    fields: dict[str, Any] = {"unit": "NOTPM", "low": None, "high": None, **more}
    given = parts or (Part("storage", "a-card", size_bytes=100e9),)
    return Candidate(name=name, throughput=throughput, parts=Parts(given), **fields)


def written(folder: Path, text: str) -> Path:
    """A price file with this text."""
    path = folder / "mine.toml"
    path.write_text(text)
    return path
