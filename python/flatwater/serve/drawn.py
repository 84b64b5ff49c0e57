"""Reports and comparisons: drawn when they are asked for, kept in memory for a while, never written into a result."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from flatwater.analysis import compare
from flatwater.analysis.compare import cells_by_set, nothing_shared, set_key, unique_names
from flatwater.analysis.side_by_side import as_document
from flatwater.errors import UserError
from flatwater.report.charts import CELL_CHARTS
from flatwater.report.document import Document, as_html
from flatwater.report.overlay import overlay
from flatwater.report.page import render
from flatwater.results import open_result
from flatwater.serve.folders import Stamp
from flatwater.serve.listed import Listed
from flatwater.serve.opened import Opened
from flatwater.serve.span import lines_within
from flatwater.serve.sparkline import sparkline

#: Bytes of the pages that are kept, compressed; a page takes about half a megabyte.
KEPT_BYTES = 48 * 1024 * 1024
#: Cells that a comparison draws over each other.
OVERLAYS_MAX = 4
#: gzip's quickest: plotly's program is most of a page, and 1 MB on this machine's own network costs nothing.
LEVEL = 1

Name = tuple[str, str, Stamp]


class Drawn:
    """The pages. All methods may be called from any thread; they are drawn one at a time."""

    def __init__(self) -> None:
        self._drawing = threading.Lock()
        self._opened = Opened()
        self._kept: OrderedDict[Name, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def report(self, listed: Listed, *, resumed: bool = False) -> bytes:
        """The report of a result, compressed by gzip; `resumed`: with a button to go on with it.

        Errors: FlatwaterError.
        """
        name = (f"report, {resumed}", listed.place.key, listed.place.stamp)
        found = self._get(name)
        if found is None:
            with self._drawing:
                spans = f"/run/{listed.place.key}/span"
                resume = f"/run/{listed.place.key}/resume" if resumed else ""
                found = self._get(name) or _packed(
                    render(open_result(listed.place.path), home="/", spans=spans, resume=resume)
                )
            if listed.status != "running":
                self._keep(name, found)
        return found

    def span(self, listed: Listed, index: int, start_s: float, end_s: float) -> bytes | None:
        """The lines of a part of a cell's time, as JSON; None if there is no such cell. Errors: FlatwaterError."""
        with self._drawing:
            cell = self._opened.cell(listed, index)
            return None if cell is None else lines_within(cell, start_s, end_s, CELL_CHARTS)

    def sparkline(self, listed: Listed) -> bytes:
        """The small line of a result, as SVG."""
        name = ("sparkline", listed.place.key, listed.place.stamp)
        found = self._get(name)
        if found is None:
            found = sparkline(listed).encode()
            self._keep(name, found)
        return found

    def comparison(self, listed: Sequence[Listed]) -> bytes:
        """Results against the first, compressed by gzip. Errors: UserError if they share no cell."""
        with self._drawing:
            results = [open_result(one.place.path) for one in listed]
            compared = compare(results)
            if not compared.rows:
                raise UserError(nothing_shared(results), hint="the report of each shows its cells")
            names = unique_names(results)
            by_set = [cells_by_set(result) for result in results]
            shared = list(dict.fromkeys(set_key(row.set) for row in compared.rows))[:OVERLAYS_MAX]
            figures = [
                overlay(
                    [(name, cells[key][0]) for name, cells in zip(names, by_set, strict=True) if key in cells], place
                )
                for place, key in enumerate(shared)
            ]
            return _packed(as_html(as_document(compared, [one for one in figures if one is not None]), home="/"))

    def document(self, kind: str, draw: Callable[[Sequence[Listed]], Document], listed: Sequence[Listed]) -> bytes:
        """A page of some results, compressed by gzip; `kind` tells it from others of the same.

        Errors: FlatwaterError.
        """
        text = "".join(f"{one.place.key}{one.place.stamp}" for one in listed)
        name = (kind, hashlib.sha256(text.encode()).hexdigest(), ())
        found = self._get(name)
        if found is None:
            with self._drawing:
                found = _packed(as_html(draw(listed), home="/"))
            self._keep(name, found)
        return found

    def _get(self, name: Name) -> bytes | None:
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
            return found

    def _keep(self, name: Name, page: bytes) -> None:
        with self._lock:
            self._bytes += len(page) - len(self._kept.pop(name, b""))
            self._kept[name] = page
            while self._bytes > KEPT_BYTES and len(self._kept) > 1:
                self._bytes -= len(self._kept.popitem(last=False)[1])


def _packed(page: str) -> bytes:
    return gzip.compress(page.encode(), LEVEL)
