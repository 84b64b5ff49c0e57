"""The page of a run under way, at its minute 30."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from benchmarks.options import tell
from benchmarks.pages.beside import Beside
from benchmarks.pages.browser import browser, has_browser, open_page, until
from benchmarks.pages.figures import Figure, Section
from benchmarks.pages.server import Server, serve
from benchmarks.pages.stream import ask_for_events, events, intervals_of
from benchmarks.pages.under_way import run_under_way
from benchmarks.pairs import Target
from benchmarks.recording import Case
from flatwater.errors import FlatwaterError
from flatwater.results import create_result, open_result
from flatwater.serve.folders import key_of

NAME = "live"
#: Minute 30.
SECONDS = 1_800
#: Seconds of a real run, which are written again and again with other times.
SAMPLE_LINES = 12
SHOWN_S = Target("at most", 1.0)
CASE = Case("psync", 1, 1, hot=True)

HOW = """\
A journal of so many seconds, to which a line is added every second; its lines are those of a real fileio run, with
other times. *First look* reads the whole journal. *Reload* is what a browser asks for: the page, and the event that has
every second until now; the figure is the time until that event has come. In Chromium it is until every second that was
written before the reload is drawn, in a page that was open before. A reload that lacked a second would be an error; the
last one may come half a second later, with the next event. *A new second* is from the line in the journal until a
viewer has it."""


class Growing(Beside):
    """A result whose journal grows by a line a second, as a run makes it."""

    def __init__(self, path: Path, sample: Path, lines: list[dict[str, Any]], seconds: int) -> None:
        super().__init__()
        like = open_result(sample)
        manifest = like.manifest.model_copy(update={"status": "running"})
        text = (sample / "experiment.toml").read_text()
        self.result = create_result(path, manifest, text, like.machine)
        self._lines = lines
        journal = self.result.cells[0].journal
        journal.parent.mkdir(parents=True, exist_ok=True)
        self._handle = journal.open("w")
        #: When each second was written.
        self.written_s: list[float] = []
        for _ in range(seconds):
            self._write()
        self._handle.flush()

    def _close(self) -> None:
        self._handle.close()

    def _write(self) -> None:
        at = len(self.written_s)
        line = self._lines[at % len(self._lines)] | {"start_s": float(at), "time_s": at + 1.0}
        self._handle.write(json.dumps(line) + "\n")
        self.written_s.append(time.perf_counter())

    def _work(self) -> None:
        while not self._ended.wait(1.0):
            self._write()
            self._handle.flush()


def measure_live(folder: Path, seconds: int, tries: int) -> Section:
    """Makes the journal and looks at it: over HTTP, and in Chromium."""
    root = folder / "live"
    root.mkdir()
    with run_under_way(folder, "sample", CASE, 0, 600) as run:
        lines = run.until(SAMPLE_LINES)
        growing = Growing(root / "run", run.result, lines, seconds)
    key = key_of((root / "run").absolute())
    with growing, serve(root) as server:
        first_s = _look(server, key, growing)
        reloads = [_look(server, key, growing) for _ in range(tries)]
        news = _until_heard(server, key, growing, tries)
        drawn = _reloads(server, key, growing, tries) if has_browser() else []
    figures = [
        Figure("first look, over HTTP", (first_s,), "s"),
        Figure("reload, over HTTP", tuple(reloads), "s", SHOWN_S),
        Figure("a new second, until a viewer has it", tuple(news), "s", SHOWN_S),
    ]
    if drawn:
        figures.append(Figure("reload, in Chromium, until it is drawn", tuple(drawn), "s", SHOWN_S))
    for figure in figures:
        tell(figure.line())
    return Section(f"A run under way, after {seconds:,} s", HOW, figures)


def _look(server: Server, key: str, growing: Growing) -> float:
    """How long it takes to get the page, and every second that was written before."""
    began_s, there = time.perf_counter(), len(growing.written_s)
    server.ask(f"/run/{key}/live")
    with ask_for_events(server.port, key) as opened:
        name, data = next(events(opened))
    took_s = time.perf_counter() - began_s
    # A line that was written within the last look at the journal comes with the next event, half a second later.
    if name != "all" or intervals_of(data) < there - 1:
        raise FlatwaterError(f"of {there:,} seconds the page was sent {intervals_of(data):,}")
    return took_s


def _until_heard(server: Server, key: str, growing: Growing, count: int) -> list[float]:
    """How long each of some new seconds takes from the journal to a viewer."""
    found: list[float] = []
    with ask_for_events(server.port, key) as opened:
        # They come every second: this ends.
        for name, data in events(opened):
            heard_s = time.perf_counter()
            if name == "more":
                found += [heard_s - growing.written_s[round(at) - 1] for at in data.get("times", ())]
            if len(found) >= count:
                break
    return found[:count]


def _reloads(server: Server, key: str, growing: Growing, tries: int) -> list[float]:
    """How long Chromium takes to load the page again, until it has drawn every second."""
    found = []
    with browser() as page:
        open_page(page, server, f"/run/{key}/live")
        for _ in range(tries):
            began_s, there = time.perf_counter(), len(growing.written_s)
            page.reload(wait_until="commit")
            until(page, f"Number(document.body?.dataset.points) >= {there}")
            found.append(time.perf_counter() - began_s)
    return found
