"""What had not settled when the measurement ended: the line may be flat, and still change soon after.

A server with a large redo log puts off its writes. Until the checkpoint age comes near its limit, throughput is that of
a server that owes them. The same holds for a buffer pool that still fills: its misses become fewer.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.line import Line
from flatwater.analysis.bound.words import figure, percent, size
from flatwater.experiment import print_duration

#: An age whose second half is no more than this times its first has settled (our choice).
GROWTH_MIN = 1.1
#: Below this share of the limit a rise over half the measured phase is the noise of checkpoints (our choice).
RISE_MIN = 0.01
#: From this share of the limit on, the limit itself was measured; *log limit* of the diagnosis tells of it.
REACHED = 0.9
#: A pool fills if its free pages become fewer by this share of it over half the measured phase (our choice), and at
#: least half of them were read: growth of the data takes free pages, too.
FILLS_MIN, READ_MIN = 0.02, 0.5


def still_moving(evidence: Evidence) -> list[str]:
    """A sentence for each quantity of the database that had not settled; empty where nothing is known of one."""
    database = evidence.database
    return [] if database is None else [*_redo(database, evidence.interval_s), *_pool(database, evidence.interval_s)]


def _redo(database: Database, interval_s: float) -> Iterator[str]:
    age, redo = database.checkpoint_age_bytes, database.redo
    if age is None or redo is None or age.max >= REACHED * redo.async_bytes:
        return
    found = _halves(age, interval_s)
    if found is None:
        return
    first, second, rise_per_s = found
    if second <= GROWTH_MIN * first or second - first < RISE_MIN * redo.async_bytes:
        return
    left_s = (redo.async_bytes - age.max) / rise_per_s
    yield (
        f"the checkpoint age still rose, by {size(rise_per_s)} a second: it was {size(age.max)} at most, and the "
        f"server must flush from {size(redo.async_bytes)} on, which it would reach after {print_duration(left_s)} "
        "more; what it sustains then was not measured (hint: measure for longer, or warm up for longer)"
    )


def _pool(database: Database, interval_s: float) -> Iterator[str]:
    free, data, read = database.free_pages, database.data_pages, database.pages_read_per_s
    if free is None or data is None or read is None:
        return
    found = _halves(free, interval_s)
    if found is None:
        return
    first, second, rise_per_s = found
    pool = free.median + data.median
    if first - second < FILLS_MIN * pool or read.mean < READ_MIN * -rise_per_s:
        return
    yield (
        f"the buffer pool still filled: {percent(free.min / pool)} of it was free in the end, and "
        f"{figure(-rise_per_s)} pages were filled a second; fewer requests miss it when it is full "
        "(hint: warm up for longer)"
    )


def _halves(line: Line, interval_s: float) -> tuple[float, float, float] | None:
    """The medians of the first and of the second half of what was recorded, and the rise from one to the other, a
    second. None for less than four values.
    """
    halves = line.halves
    if halves is None or len(halves[1].value) < 2:
        return None
    first, second = (half.median for half in halves)
    known = sum(len(half.value) for half in halves)
    return first, second, (second - first) / (known / 2 * interval_s)
