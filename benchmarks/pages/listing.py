"""Ten thousand runs: asked in SQL, listed on a terminal, and listed in a browser."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.job import run_child
from benchmarks.options import tell
from benchmarks.pages.figures import Figure, Section
from benchmarks.pages.folder import make_run, make_runs
from benchmarks.pages.server import FLATWATER, Server, serve
from benchmarks.pairs import Target
from flatwater.catalogue.index import YOUNG_NS
from flatwater.errors import FlatwaterError
from flatwater.serve.catalogue import FRESH_S

NAME = "list"
QUERY_S = Target("at most", 2.0)
LIST_S = Target("at most", 1.0)
QUESTION = "select run, verdict, mean, unit from summary order by mean desc limit 10"
#: What the page says while runs are still being read.
UNREAD = "are still being read"

HOW = f"""\
The folder has copies of one modelled TPC-C run, each with a name, a time and a mean of its own; their small files are
files of their own, their series are linked. `flatwater query "{QUESTION}"` and `flatwater ls` are whole commands, with
the start of Python. *First* is without an index: each run is read, and the index is written. `flatwater serve` is
started anew for each first page, which is asked for as soon as it says that it answers; it reads the other runs
meanwhile. Later pages are asked for {FRESH_S + 0.1:g} s apart, so that it looks through the folders each time. All
files are in memory."""


def measure_listing(folder: Path, runs: int, tries: int) -> Section:
    """Makes the folder, and asks for it in each way."""
    place = folder / "runs"
    tell(f"making {runs:,} runs")
    make_runs(make_run(folder / "sample"), place, runs)
    # Files that changed just now are not taken into an index.
    time.sleep(YOUNG_NS / 1e9)
    figures = []
    for figure in (*_commands(folder, place, tries), *_pages(place, runs, tries)):
        tell(figure.line())
        figures.append(figure)
    return Section(f"{runs:,} runs", HOW, figures)


def _commands(folder: Path, place: Path, tries: int) -> list[Figure]:
    query = [FLATWATER, "query", QUESTION, "--in", str(place)]
    first, asked, listed = [], [], []
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        environment = {"FLATWATER_CACHE_DIR": cache}
        first.append(run_child(query, folder, environment).wall_s)
        for _ in range(tries):
            asked.append(run_child(query, folder, environment).wall_s)
            listed.append(run_child([FLATWATER, "ls", str(place)], folder, environment).wall_s)
    return [
        Figure("`flatwater query`, first", tuple(first), "s", QUERY_S),
        Figure("`flatwater query`, with the index", tuple(asked), "s", QUERY_S),
        Figure("`flatwater ls`, with the index", tuple(listed), "s", QUERY_S),
    ]


def _pages(place: Path, runs: int, tries: int) -> list[Figure]:
    starts, firsts, laters, read_s = [], [], [], 0.0
    for number in range(tries):
        with serve(place) as server:
            starts.append(server.start_s)
            firsts.append(_list(server, runs)[0])
            if number == tries - 1:
                read_s = _until_read(server, runs)
                for _ in range(tries):
                    time.sleep(FRESH_S + 0.1)
                    laters.append(_list(server, runs)[0])
    return [
        Figure("`flatwater serve`, first page", tuple(firsts), "s", LIST_S),
        Figure("`flatwater serve`, later page", tuple(laters), "s", LIST_S),
        Figure("its start, until it answers", tuple(starts), "s"),
        Figure("until all runs are read, in the background", (read_s,), "s"),
    ]


def _list(server: Server, runs: int) -> tuple[float, str]:
    took_s, text = server.ask("/")
    if f"of {runs:,} run" not in text:
        raise FlatwaterError(f"the list does not tell of {runs:,} runs")
    return took_s, text


def _until_read(server: Server, runs: int) -> float:
    began_s = time.perf_counter()
    while UNREAD in _list(server, runs)[1]:
        time.sleep(0.25)
    return time.perf_counter() - began_s
