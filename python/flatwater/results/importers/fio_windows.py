"""The times of fio's logs: the windows of their averages, and what they are counted from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flatwater.errors import UserError
from flatwater.results.importers.spans import intervals_max

#: Per-IO logs are divided into intervals of this many milliseconds.
INTERVAL_MS = 1000
#: Longer than a year: the times cannot be the milliseconds of one run.
TIME_MS_MAX = 366 * 86_400_000
#: Distances up to so many times another are like it; the window is that of this share of them, at least; and a pause
#: is not longer than so many windows.
ALIKE, USUAL_SHARE, PAUSE_TIMES = 1.25, 0.1, 100
#: Times that go back by so large a part of all are those of another job: the lines of one are hardly out of order.
AGAIN_SHARE = 4

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass
class Log:
    """The columns of one log."""

    path: Path
    kind: str
    time: Ints
    value: Ints
    direction: Ints
    block: Ints
    #: The note about a torn last line; empty if it is whole.
    unread: list[str]


def since_start(logs: list[Log]) -> float | None:
    """Counts the times of logs from the start of the run; when it began, where they count from 1970.

    With `log_unix_epoch` or `log_alternate_epoch` they do. Errors: UserError where they span more than a year.
    """
    first_ms = min(int(log.time.min()) for log in logs)
    began_s: float | None = None
    if first_ms > TIME_MS_MAX:
        averaged = all(np.all(log.block == 0) for log in logs)
        # An average is of the window before its line.
        begin_ms = first_ms - (spacing_ms(logs) if averaged and any(len(log.time) > 1 for log in logs) else 0)
        for log in logs:
            log.time = log.time - begin_ms
        began_s = begin_ms / 1000
    for log in logs:
        if log.time.max() > TIME_MS_MAX:
            hint = "is it a fio log, in milliseconds?"
            raise UserError("its times span more than a year", where=str(log.path), hint=hint)
    return began_s


def added_up(logs: list[Log]) -> list[str]:
    """What is told where the rates of several jobs are added: no log tells when its job ran."""
    too_high = "taken as running at the same time: if they ran one after another, the rate is too high"
    for log in logs:
        if line := _begins_again(log):
            return [
                f"{log.path.name}:{line}: its times begin again: the lines of several jobs are added up, {too_high}"
            ]
    most = max(sum(log.kind == kind for log in logs) for kind in {log.kind for log in logs})
    if most < 2:
        return []
    names = sorted(log.path.name for log in logs)
    return [f"the logs of {most} jobs are added up ({names[0]} to {names[-1]}), {too_high}"]


def _begins_again(log: Log) -> int:
    """The line in which the times of a log go back by much; 0 if they only grow.

    With `per_job_logs=0`, the lines of each job are behind those of the one before.
    """
    back = np.flatnonzero(np.diff(log.time) < -max(int(np.ptp(log.time)) // AGAIN_SHARE, 1))
    return int(back[0]) + 2 if len(back) else 0


def spacing_ms(logs: list[Log]) -> int:
    """The window of log_avg_msec: the least usual distance between lines of one direction."""
    distances = [
        np.diff(log.time[log.direction == direction]) for log in logs for direction in np.unique(log.direction)
    ]
    together = np.sort(np.concatenate(distances) if distances else np.empty(0))
    together = together[together > 0]
    if len(together) == 0:
        return int(max(log.time.max() for log in logs)) or INTERVAL_MS
    # A job that pauses leaves windows out, perhaps most of them: the least distance that is no exception is the window.
    together = together[together >= np.median(together) / PAUSE_TIMES]
    alike = np.searchsorted(together, together * ALIKE, side="right") - np.arange(len(together))
    usual = np.flatnonzero(alike >= max(2, USUAL_SHARE * len(together)))
    first = int(usual[0]) if len(usual) else 0
    spacing = float(np.median(together[first : first + int(alike[first])] if len(usual) else together))
    # fio's clock is about a millisecond late, and users choose round numbers.
    return max(int(round(spacing / 10) * 10), 1) if spacing >= 50 else max(int(spacing), 1)


def window_ends(logs: list[Log], length_ms: int) -> Ints:
    """The end of each window of the run, from the first line to the last, including windows without lines.

    fio's clock loses about a millisecond in each window. So a division by the window's length would skip a window after
    some minutes.
    """
    times = np.unique(np.concatenate([log.time for log in logs]))
    ends = times[np.append(np.diff(times) > length_ms / 2, True)]
    check_count(int((ends[-1] - ends[0]) // length_ms), len(ends), logs[0].path)
    steps = np.maximum(np.rint(np.diff(ends) / length_ms).astype(np.int64), 1)
    place = np.concatenate(([0], np.cumsum(steps)))
    filled: Ints = np.rint(np.interp(np.arange(place[-1] + 1), place, ends)).astype(np.int64)
    return filled


def number_of_window(time: Ints, ends_ms: Ints, length_ms: int) -> Ints:
    """The window of each line. The jobs write theirs some milliseconds apart."""
    number: Ints = np.minimum(np.searchsorted(ends_ms, time - length_ms // 2), len(ends_ms) - 1)
    return number


def check_count(count: int, filled: int, path: Path) -> int:
    """The number of windows, of which so many have lines. Errors: UserError if next to none has."""
    if count > intervals_max(filled):
        what = f"{filled:,} of {count:,} windows have lines: most of it was not logged"
        raise UserError(what, where=str(path), hint="import a part of it")
    return count
