"""A process that serves something, as the run sees it: what it tells, how it ends, how it dies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE_S

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.runner.stack.served.process import ServedProbe, ServedProcess

#: Serves a file that is there for as long as it lives.
SERVER = """
import sys, time
from pathlib import Path
from flatwater.runner.stack.served.process import run_process, send

def serve(request):
    served = Path(request["file"])
    if request["act"] == "refuse":
        raise ValueError("it cannot be served")
    served.touch()
    try:
        if request["act"] != "dawdle":
            send(ready=True)
        send(series={"depth": 3.0}, incidents=[(1.5, "it hiccuped")])
        if request["act"] == "die":
            return
        served.with_name("last words").write_text(sys.stdin.read())
    finally:
        served.unlink()

sys.exit(run_process(serve))
"""


class Served(ServedProcess):
    module = "served_for_tests"
    what = "the thing"
    layer = "storage"
    end_s = PATIENCE_S


class Journal:
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def event(self, kind: str, text: str) -> None:
        self.told.append((kind, text))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "served_for_tests.py").write_text(SERVER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def started(folder: Path) -> Iterator[Any]:
    running: list[Served] = []

    def start(act: str = "serve") -> Served:
        running.append(Served({"act": act, "file": str(folder / "file")}))
        return running[-1]

    yield start
    for one in running:
        with suppress(FlatwaterError, ValueError):  # it is dead, or was closed
            one.close()


def until_told(served: Served, journal: Any) -> None:
    until = time.monotonic() + PATIENCE_S
    while not journal.told or not served.series():
        served.watch(journal)
        assert time.monotonic() < until
        time.sleep(0.01)


def test_it_serves_until_it_is_closed_and_undoes_it(folder: Path, started: Any) -> None:
    served = started()
    served.wait_ready(lambda: False)
    assert (folder / "file").exists()
    served.close("drain")
    assert not (folder / "file").exists() and (folder / "last words").read_text() == "drain"


def test_what_it_tells_has_the_names_of_its_place_and_incidents_are_told_once(started: Any) -> None:
    served, journal = started(), Journal()
    served.wait_ready(lambda: False)
    until_told(served, journal)
    assert ServedProbe(served, "cache.fast_").sample() == {"cache.fast_depth": 3.0}
    served.watch(journal)
    assert journal.told == [("incident", "it hiccuped")]


def test_why_it_cannot_serve_is_said(started: Any) -> None:
    with pytest.raises(FlatwaterError, match="the thing: it cannot be served"):
        started("refuse").wait_ready(lambda: False)


def test_one_that_died_ends_the_run(started: Any) -> None:
    served, journal = started("die"), Journal()
    with pytest.raises(FlatwaterError, match="the thing: it died"):
        served.wait_ready(lambda: False)
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            served.watch(journal)


def test_who_waits_for_it_can_be_interrupted(started: Any) -> None:
    with pytest.raises(Interrupted, match="while the thing was being made"):
        started("dawdle").wait_ready(lambda: True)
