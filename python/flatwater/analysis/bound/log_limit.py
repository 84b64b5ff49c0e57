"""The redo log is full: pages must be written before their changes may be overwritten, whatever else were better."""

from __future__ import annotations

import numpy as np

from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.line import Line, Values
from flatwater.analysis.bound.redo import RedoLimits
from flatwater.analysis.bound.sessions import session_time
from flatwater.analysis.bound.storage_time import writes_wait_text
from flatwater.analysis.bound.words import counted, figure, percent, size

#: A sample of the age is taken once an interval, and the age may have been that much higher within it; but no more than
#: this share of the limit, or a tiny log would always be at it.
_WITHIN_MAX = 0.05


def find(evidence: Evidence) -> Finding | None:
    """The share of the seconds in which the age was at the limit at which the server flushes because of the log."""
    database = evidence.database
    if database is None or database.redo is None:
        return None
    age = database.modified_age_bytes or database.checkpoint_age_bytes
    if age is None:
        return None
    limits, time = database.redo, session_time(evidence)
    near = _near(age.value, limits.async_bytes, evidence.interval_s, database)
    over = _near(age.value, limits.sync_bytes, evidence.interval_s, database)
    sync = _share_of_flushing(database.flushed_sync_per_s, database.pages_flushed_per_s)
    return found(
        "log limit",
        max(age.share(near), sync or 0.0, time.of(time.log_room) if time is not None else 0.0),
        "seconds",
        f"the checkpoint age was {size(age.mean)} on average and {size(age.max)} at most: the server flushes at any "
        f"price from {size(limits.async_bytes)} on, and users wait from {size(limits.sync_bytes)} on",
        f"it was at the first limit in {percent(age.share(near))} of the seconds, at the second in "
        f"{percent(age.share(over))}",
        f"{percent(sync)} of the pages were flushed because the log was at its limit" if sync else None,
        f"{figure(time.log_room)} of {counted(time.sessions, 'session')} waited for room in it"
        if time is not None and time.log_room
        else None,
        _settings(database, limits),
        writes_wait_text(evidence),
    )


def _near(
    age: Values, limit: float, interval_s: float, database: Database
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    written = database.redo_bytes_per_s
    within = np.nan_to_num(written.value) * interval_s if written is not None else np.zeros_like(age)
    marked: np.ndarray[tuple[int], np.dtype[np.bool_]] = age >= limit - np.minimum(within, _WITHIN_MAX * limit)
    return marked


def _share_of_flushing(part: Line | None, whole: Line | None) -> float | None:
    if part is None or whole is None or whole.mean <= 0:
        return None
    return part.mean / whole.mean


def _settings(database: Database, limits: RedoLimits) -> str:
    names = ("innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_files_in_group")
    told = [(name, database.variables.number(name)) for name in names]
    known = [f"{name} = {size(value) if value >= 1024 else figure(value)}" for name, value in told if value]
    return ", ".join(known) or f"the largest age is {size(limits.max_bytes)}"
