"""The serving process is replaced when it dies, without a process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from flatwater.cache.child import Child
from flatwater.cache.children import Children
from flatwater.cache.jobs import Jobs
from flatwater.cache.messages import Request
from flatwater.cache.notes import Notes
from flatwater.cache.outage import Outage
from flatwater.errors import FlatwaterError

PATIENCE_S = 240.0


class FakeChild:
    """A child that has lived for long, and takes every request."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.began_s = time.monotonic() - 3600
        self.alive = True
        self.how_it_ended = "SIGKILL"
        self.asked: list[Request] = []

    def ask(self, request: Request) -> dict[str, Any]:
        self.asked.append(request)
        return {}

    def kill(self) -> None:
        self.alive = False


class FakeOutage:
    def __init__(self) -> None:
        self.begun = threading.Event()
        self.is_on = False

    def begin(self) -> None:
        self.is_on = True
        self.begun.set()

    def end(self) -> None:
        self.is_on = False


class Starter:
    """Each call starts the next child; an error in its place is raised."""

    def __init__(self, *outcomes: FakeChild | FlatwaterError | Callable[[], FakeChild]) -> None:
        self._outcomes = list(outcomes)

    def __call__(self) -> Child:
        found = self._outcomes.pop(0)
        if isinstance(found, FlatwaterError):
            raise found
        return cast("Child", found if isinstance(found, FakeChild) else found())


@pytest.fixture
def jobs() -> Jobs:
    return Jobs([])


@pytest.fixture
def notes() -> Notes:
    return Notes()


def never() -> bool:
    return False


def test_a_first_child_that_does_not_serve_is_an_error(jobs: Jobs, notes: Notes) -> None:
    children = Children("db", Starter(FlatwaterError("no cache on it")), jobs, notes)
    with pytest.raises(FlatwaterError, match="no cache on it"):
        children.start()
    assert (children.current, children.state) == (None, "restarting")


def test_the_next_child_gets_the_jobs_that_run(jobs: Jobs, notes: Notes) -> None:
    first, second = FakeChild(1), FakeChild(2)
    children = Children("db", Starter(first, second), jobs, notes, restarts=3)
    children.start()
    assert (children.current, children.state, first.asked) == (first, "serving", [])
    number = jobs.begin({"do": "flush"})["job"]
    first.kill()
    children.replace(cast("Outage", FakeOutage()), 0.0, never)
    assert (children.current, children.restarts, children.state) == (second, 4, "serving")
    assert [request["job"] for request in second.asked] == [number]
    ((_, text),) = notes.all()
    assert "the serving process 1 died (SIGKILL)" in text


def test_why_no_child_serves_is_told_until_one_does(jobs: Jobs, notes: Notes) -> None:
    trouble = []

    def third() -> FakeChild:
        trouble.append((children.state, children.trouble))
        with pytest.raises(FlatwaterError, match=r"is being restarted \(device gone\)"):
            children.wait_serving(0.0)
        return FakeChild(3)

    children = Children("db", Starter(FakeChild(1), FlatwaterError("device gone"), third), jobs, notes)
    children.start()
    children.replace(cast("Outage", FakeOutage()), 0.0, never)
    assert trouble == [("not serving", "device gone")]
    assert (children.state, children.trouble) == ("serving", None)


def test_requests_are_refused_while_none_serves_for_too_long(jobs: Jobs, notes: Notes) -> None:
    outage = FakeOutage()
    states = []

    def late() -> FakeChild:
        assert outage.begun.wait(PATIENCE_S)
        states.append(children.state)
        return FakeChild(2)

    children = Children("db", Starter(FakeChild(1), late), jobs, notes)
    children.start()
    children.replace(cast("Outage", outage), 0.01, never)
    assert (states, outage.is_on) == (["refusing"], False)
    assert any("requests get EIO" in text for _, text in notes.all())


def test_no_child_is_started_for_a_cache_that_is_being_stopped(jobs: Jobs, notes: Notes) -> None:
    children = Children("db", Starter(FakeChild(1)), jobs, notes)
    children.start()
    children.replace(cast("Outage", FakeOutage()), 0.0, lambda: True)
    assert children.current is None
