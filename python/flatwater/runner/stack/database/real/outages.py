"""When a server that others run stops answering, comes back, or is started anew: events, and no failure."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.probe.server import Reading
from flatwater.runner.stack.database.real.work import done_between, was_restarted

#: One late answer is the load of the machine. After so many intervals without one, the server does not answer.
SILENT_MIN = 2


@dataclass(frozen=True)
class News:
    """An event of the result."""

    at_s: float
    kind: str
    text: str


class Outages:
    """Looks at the answer of each interval."""

    def __init__(self, silent_s: float = 0.0) -> None:
        """`silent_s`: how long a server must be silent, besides `SILENT_MIN` intervals, which may be short."""
        self._silent_s = silent_s
        self._last: Reading | None = None
        self._silent = 0
        self._silent_since_s = 0.0
        self._is_told = False

    def see(self, at_s: float, reading: Reading | None, trouble: str, *, down: bool) -> list[News]:
        """The news of an interval that ended at `at_s`. `trouble` is the last error; `down`: nobody is there."""
        if reading is None:
            return self._without_answer(at_s, trouble, down=down)
        before, self._last = self._last, reading
        silent, self._silent = self._silent, 0
        was_told, self._is_told = self._is_told, False
        if before is None:
            return []
        gap_s = at_s - self._silent_since_s
        if was_restarted(before, reading):
            up_s = reading.figures.get("uptime_s", 0.0)
            after = f"the server answers again after {gap_s:.1f} s: it" if silent else "the server"
            return [News(at_s, "recovered", f"{after} was started anew, {up_s:.0f} s ago")]
        if not was_told:
            return []
        done = done_between(before, reading)
        told = f", and did {done.statements:,.0f} statements meanwhile" if done is not None else ""
        return [News(at_s, "recovered", f"the server answers again after {gap_s:.1f} s{told}")]

    def _without_answer(self, at_s: float, trouble: str, *, down: bool) -> list[News]:
        if not self._silent:
            self._silent_since_s = at_s
        self._silent += 1
        if self._is_told or self._silent < SILENT_MIN or at_s - self._silent_since_s < self._silent_s:
            return []
        self._is_told = True
        why = trouble or ("its process is stopped" if down else "a question has had no answer yet")
        return [News(self._silent_since_s, "fault", f"the server does not answer: {why}")]
