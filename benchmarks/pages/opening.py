"""A run of eight hours, opened from `flatwater serve`."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.opening import make_long
from benchmarks.options import tell
from benchmarks.pages.browser import browser, has_browser, open_page, page_bytes
from benchmarks.pages.figures import Figure, Section
from benchmarks.pages.server import serve
from benchmarks.pairs import Target
from flatwater.serve.folders import key_of

NAME = "open"
#: Eight hours at one second.
SECONDS = 28_800
OPEN_S = Target("at most", 2.0)
OPEN_MIB = Target("at most", 200.0)

HOW = """\
The report of one cell with every series of a fileio run, at one second. `flatwater serve` is started anew for each
try, so that it draws the report anew. *In Chromium* is from the address to the page that is drawn, headless, in a new
profile. Its memory is the private memory of the process that has the page, once it is drawn."""


def measure_opening(folder: Path, seconds: int, tries: int) -> Section:
    """Makes the run, and opens it over HTTP and in Chromium."""
    result = folder / "long" / "run"
    result.parent.mkdir()
    make_long(result, seconds)
    address = f"/run/{key_of(result.absolute())}"
    served, drawn, held = [], [], []
    for _ in range(tries):
        with serve(result.parent) as server:
            served.append(server.ask(address)[0])
        if not has_browser():
            continue
        with serve(result.parent) as server, browser() as page:
            began_s = time.perf_counter()
            open_page(page, server, address)
            drawn.append(time.perf_counter() - began_s)
            held.append(page_bytes() / 2**20)
    figures = [Figure("the report, over HTTP", tuple(served), "s", OPEN_S)]
    if drawn:
        figures += [
            Figure("the report, in Chromium, until it is drawn", tuple(drawn), "s", OPEN_S),
            Figure("memory of that page", tuple(held), "MiB", OPEN_MIB),
        ]
    for figure in figures:
        tell(figure.line())
    how = HOW if drawn else HOW + "\nThere was no Chromium on this machine."
    return Section(f"A run of {seconds:,} s", how, figures)
