"""Sessions that wait for each other inside the server, and processors that idle meanwhile."""

from __future__ import annotations

from flatwater.advise.rule import Case
from flatwater.analysis.bound import Evidence, Finding
from flatwater.analysis.bound.finding import MAIN_MIN
from flatwater.analysis.bound.processors import processors
from flatwater.analysis.bound.sessions import session_time
from flatwater.analysis.bound.words import figure

#: A quarter of the processors' time: more sessions could run, so what they wait for is no processor.
_IDLE_MIN = 0.25
#: What makes sessions wait for another thread besides the locks inside the server.
_OTHER_WAITS = ("log limit", "dirty limit", "free pages", "fsync path", "CPU", "client", "neighbour")


def contention_inside(case: Case) -> Finding | None:
    """Sessions that wait for mutexes and latches of the server; None if there are few, or that cannot be told.

    Row locks do not count: no setting shares them out. A model tells mutexes and latches apart.
    """
    time = session_time(case.evidence)
    if case.is_served or time is None:
        return None
    virtual = case.evidence.layers.virtual
    waiting = time.mutexes if virtual else time.waiting
    if waiting is None or (not virtual and case.finding(*_OTHER_WAITS) is not None):
        return None
    share = time.of(waiting)
    if share < MAIN_MIN:
        return None
    text = (
        f"{figure(waiting)} of {figure(time.sessions)} sessions waited for other threads of the server, "
        "neither for rows nor for a commit"
    )
    return Finding("contention", share, "time", (text,))


def processors_idle(evidence: Evidence) -> bool:
    """Whether the processors are known to have had time for more sessions."""
    used = processors(evidence)
    return used is not None and used.idle is not None and used.idle >= _IDLE_MIN
