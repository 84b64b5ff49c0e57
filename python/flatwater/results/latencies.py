"""Latencies of the measured phase, merged from the lines of a journal."""

from __future__ import annotations

import base64
from pathlib import Path

from flatwater._engine import Histogram
from flatwater.errors import UserError
from flatwater.results.phases import MEASURE
from flatwater.results.schema import JournalLine
from flatwater.results.series import read_journal

#: Kinds of requests that only support the others. They have their own latencies and are not counted as operations.
SERVING = ("connect", "fsync")


class Latencies:
    """Histograms by kind of request."""

    def __init__(self) -> None:
        self.by_kind: dict[str, Histogram] = {}

    def add(self, line: JournalLine, kind: str) -> None:
        """Adds the requests of one kind in an interval. Errors: ValueError for a histogram that is none."""
        found = Histogram.from_v2(base64.b64decode(line["histograms"][kind]))
        self.by_kind.setdefault(kind, Histogram()).merge(found)

    def merged(self) -> dict[str, Histogram]:
        """Those by kind, and of all requests together as `all`."""
        together = Histogram()
        # Merged in a fixed order, because the bytes of the result depend on it.
        for kind in sorted(self.by_kind.keys() - set(SERVING)):
            together.merge(self.by_kind[kind])
        return {**({"all": together} if together.count() else {}), **self.by_kind}

    def encoded(self) -> dict[str, str]:
        """The same, each as base64 of HdrHistogram V2+DEFLATE."""
        return {kind: base64.b64encode(histogram.to_v2()).decode() for kind, histogram in self.merged().items()}


def latencies_of_journal(journal: Path) -> dict[str, str]:
    """The latencies of the measured phase so far, encoded; empty without a journal. Errors: UserError if damaged."""
    found = Latencies()
    for line in read_journal(journal):
        if line.get("phase") == MEASURE:
            for kind in line.get("histograms", {}):
                try:
                    found.add(line, kind)
                except ValueError as error:
                    what = f"the histogram {kind!r} at {line['time_s']:g} s is damaged: {error}"
                    raise UserError(what, where=str(journal)) from None
    return found.encoded()
