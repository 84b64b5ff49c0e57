"""Waiting for events: a test never waits for a time."""

from __future__ import annotations

import time
from collections.abc import Callable

#: What never comes is given up after this long, and no test waits for it to pass: long enough for a machine with a
#: load of twenty.
PATIENCE_S = 240.0


def until(happened: Callable[[], object], what: str = "it never happened") -> None:
    """Waits until something happened; fails with `what` when it does not."""
    end = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end, what
        time.sleep(0.02)
