"""When a question that costs a server something is asked again: the longer its answer took, the rarer it is asked."""

from __future__ import annotations

import time

#: The largest share of the time that one question may take, ours and the server's together: observing may take half a
#: percent of a core, and the question of every second takes a part of it.
SHARE_MAX = 0.002
#: The longest distance of two, seconds.
PERIOD_MAX_S = 60.0


class Spacing:
    """The distances of one question."""

    def __init__(self, period_min_s: float = 0.0) -> None:
        self._period_min_s = period_min_s
        self._due_s = 0.0

    def is_due(self) -> bool:
        """Whether it may be asked now."""
        return time.monotonic() >= self._due_s

    def asked(self, begun_s: float, took_s: float) -> None:
        """It was asked at a moment of the monotonic clock, and the answer took so long."""
        self.put_off(begun_s, min(PERIOD_MAX_S, max(self._period_min_s, took_s / SHARE_MAX)))

    def put_off(self, begun_s: float, wait_s: float) -> None:
        """It may be asked so long after that moment."""
        self._due_s = begun_s + wait_s
