"""What stays in place on a terminal: drawn once a second, and after a resize anew, with lines that go by above it."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.control import Control
from rich.live import Live

#: Seconds between two drawings: they must cost a load beside them nothing.
EVERY_S = 1.0
#: Lines above that are written again after a resize: more than a screen has.
LINES_KEPT = 200


class Screen:
    """Draws what `render` returns, until it is closed. Its methods may be called from any thread."""

    def __init__(self, console: Console, render: Callable[[], RenderableType]) -> None:
        self._console = console
        self._render = render
        self._lock = threading.RLock()
        self._notes: deque[str] = deque(maxlen=LINES_KEPT)
        self._size = console.size
        self._over = threading.Event()
        self._live = self._begin()
        self._thread = threading.Thread(target=self._draw_on, name="screen", daemon=True)
        self._thread.start()

    def _begin(self) -> Live:
        live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            get_renderable=self._render,
            # What is printed on the same terminal goes above. A file or a pipe gets what it was given.
            redirect_stdout=sys.stdout.isatty(),
        )
        live.start(refresh=True)
        return live

    def _draw_on(self) -> None:
        while not self._over.wait(EVERY_S):
            self.draw()

    def draw(self) -> None:
        """Draws now."""
        with self._lock:
            if self._over.is_set():
                return
            if self._console.size == self._size:
                self._live.refresh()
                return
            self._end()
            self._live = self._begin()

    def _end(self) -> None:
        """Takes away what was drawn."""
        self._live.stop()
        if self._console.size == self._size:
            return
        # A terminal that became narrower has broken the lines: where they are now, nobody can tell.
        self._size = self._console.size
        self._console.control(Control.clear(), Control.home())
        for note in self._notes:
            self._console.print(note, highlight=False)

    def note(self, text: str) -> None:
        """Writes a line above, which stays."""
        with self._lock:
            self._notes.append(text)
            self._console.print(text, highlight=False)

    def close(self) -> None:
        """Ends the drawing; what was drawn goes away, and the lines stay."""
        with self._lock:
            if self._over.is_set():
                return
            self._over.set()
            self._end()
        self._thread.join()
