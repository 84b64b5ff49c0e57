"""What stays in place on a terminal: seen at the sequences that a terminal is sent."""

from __future__ import annotations

import io
import threading

import pytest
from rich.console import Console
from rich.text import Text

from flatwater.terminal import screen
from flatwater.terminal.screen import Screen

CLEARED = "\x1b[2J\x1b[H"


class Shown:
    """A screen that is drawn when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(screen, "EVERY_S", 3600.0)
        self.out = io.StringIO()
        self.console = Console(file=self.out, force_terminal=True, width=60, height=20, _environ={"TERM": "xterm"})
        self.drawn = "one"
        self.screen = Screen(self.console, lambda: Text(self.drawn))

    def said(self) -> str:
        told = self.out.getvalue()
        self.out.seek(0)
        self.out.truncate()
        return told


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    return Shown(monkeypatch)


def test_it_is_drawn_at_once_and_taken_away_at_the_end(shown: Shown) -> None:
    assert "one" in shown.said()
    shown.drawn = "two"
    shown.screen.draw()
    assert "two" in shown.said()
    shown.screen.note("a line")
    told = shown.said()
    assert told.index("a line") < told.index("two") and CLEARED not in told
    shown.screen.close()
    assert "\x1b[2K" in shown.said()
    shown.screen.close()  # again: nothing happens
    shown.screen.draw()
    assert shown.said() == ""
    assert not any(thread.name == "screen" for thread in threading.enumerate())


def test_after_a_resize_the_lines_are_there_again(shown: Shown) -> None:
    shown.screen.note("first")
    shown.screen.note("second")
    shown.said()
    shown.console.width = 30
    shown.screen.draw()
    told = shown.said()
    after = told[told.index(CLEARED) :]
    assert after.index("first") < after.index("second") < after.index("one")
    shown.screen.draw()
    assert CLEARED not in shown.said()
    shown.console.height = 10
    shown.screen.close()
    told = shown.said()
    after = told[told.index(CLEARED) :]
    assert "first" in after and "one" not in after


def test_it_draws_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "EVERY_S", 0.001)
    drawn = threading.Semaphore(0)

    def render() -> Text:
        drawn.release()
        return Text("x")

    shown = Screen(Console(file=io.StringIO(), force_terminal=True), render)
    for _ in range(20):
        assert drawn.acquire(timeout=240)
    shown.close()
