"""The server's pages, log and locks, second by second."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    Figure,
    Json,
    Panel,
    line,
    linear_axis,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import binary_scale

Look = dict[str, tuple[str, str]]

FLUSHED: Look = {
    # Nearly always equal to the pages flushed, which are drawn over it.
    "database.doublewrite_pages_per_s": ("by way of the doublewrite buffer", ORANGE),
    "database.pages_flushed_per_s": ("all", BLUE),
    "database.pages_flushed_adaptive_per_s": ("adaptive", SKY),
    "database.pages_flushed_background_per_s": ("background", GREEN),
    "database.pages_flushed_lru_per_s": ("for free pages (LRU)", PURPLE),
    "database.pages_flushed_sync_per_s": ("at the log's limit (sync)", RED),
}
READ: Look = {"database.pages_read_per_s": ("pages read", BLUE)}
HITS = "database.hit_ratio"
FREE_WAITS: Look = {"database.free_page_waits_per_s": ("waits for a free page", RED)}

LOG_BYTES: Look = {"database.log_bytes_per_s": ("redo written", BLUE)}
DATA_BYTES: Look = {
    "database.data_written_bytes_per_s": ("written to data files and doublewrite", ORANGE),
    "database.data_read_bytes_per_s": ("read by the server", BLUE),
}
CALLS: Look = {
    "database.log_writes_per_s": ("log writes", BLUE),
    "database.doublewrite_writes_per_s": ("doublewrite batches", ORANGE),
    "database.data_fsyncs_per_s": ("fsyncs", GREEN),
}
LOG_WAITS: Look = {"database.log_waits_per_s": ("waits for room in the log buffer", RED)}

HISTORY: Look = {"database.history_length": ("history length", BLUE)}
LOCK_WAITS: Look = {"database.row_lock_waits_per_s": ("row-lock waits", ORANGE)}
LOCK_TIME: Look = {"database.row_lock_time_pct": ("time waited for row locks", ORANGE)}
THREADS: Look = {"database.threads_running": ("threads running", GREEN)}


class Flushing(CellChart):
    """Three figures of an InnoDB server: its flushing, its log and IO, and its locks and threads.

    A series that is zero throughout is left out, and so is a figure without a series.
    """

    name = "flushing"
    order = 126
    description = "Pages that the server flushed and why, pages that it read, and how often a page was in memory."
    coarse: ClassVar = (
        *(*FLUSHED, *READ, HITS, *FREE_WAITS),
        *(*LOG_BYTES, *DATA_BYTES, *CALLS, *LOG_WAITS),
        *(*HISTORY, *LOCK_WAITS, *LOCK_TIME, *THREADS),
    )

    def draw(self, recorded: Recorded) -> list[Figure]:
        pages = [
            *_counted(recorded, FLUSHED, "flushed, pages/s", share=1.4),
            *_counted(recorded, READ, "read, pages/s"),
            *_hits(recorded),
            *_counted(recorded, FREE_WAITS, "waits/s"),
        ]
        log = [
            *_bytes(recorded, LOG_BYTES),
            *_bytes(recorded, DATA_BYTES),
            *_counted(recorded, CALLS, "per second"),
            *_counted(recorded, LOG_WAITS, "waits/s"),
        ]
        inside = [
            *_counted(recorded, HISTORY, "transactions"),
            *_counted(recorded, LOCK_WAITS, "waits/s"),
            *_counted(recorded, LOCK_TIME, "% of a thread"),
            *_counted(recorded, THREADS, "threads"),
        ]
        figures = [
            (self.name, "Flushing", self.description, pages),
            (
                "log",
                "Log and IO of the server",
                "What the server wrote to its log, and what it asked the disk for.",
                log,
            ),
            (
                "locks",
                "Purge, locks and threads",
                "Old row versions that wait to be purged, row locks that were waited for, threads at work.",
                inside,
            ),
        ]
        return [strips(recorded, *one) for one in figures if one[-1]]


def _happened(recorded: Recorded, group: Look) -> list[str]:
    """The series that are not always zero: a flat line at the bottom carries no information."""
    return [series for series in group if recorded.top(series) > 0]


def _counted(recorded: Recorded, group: Look, title: str, share: float = 1.0) -> list[Panel]:
    found = _happened(recorded, group)
    if not found:
        return []
    data = [line(*_look(group, series), title) for series in found]
    return [Panel(data, linear_axis(title, recorded.top(*found)), share)]


def _bytes(recorded: Recorded, group: Look) -> list[Panel]:
    found = _happened(recorded, group)
    if not found:
        return []
    top = recorded.top(*found)
    scale = binary_scale(top)
    data = [line(*_look(group, series), f"{scale.unit}/s", scale.factor) for series in found]
    return [Panel(data, linear_axis(f"{scale.unit}/s", top * scale.factor))]


def _hits(recorded: Recorded) -> list[Panel]:
    if recorded.top(HITS) <= 0:
        return []
    # Not from zero: 99.0 % means ten times as many reads as 99.9 %, and the two would be one line.
    low, high = 100 * recorded.bottom(HITS), 100 * recorded.top(HITS)
    room = max((high - low) * 0.06, 0.01)
    axis: Json = {"title": {"text": "hits, %"}, "range": [max(low - room, 0), high + room]}
    axis |= {"fixedrange": True, "tickformat": "~r", "nticks": 5}
    return [Panel([line("pages found in memory", HITS, GREEN, "%", 100.0, hovertemplate=_HITS)], axis)]


_HITS = "%{y:.5~r} %<extra>pages found in memory</extra>"


def _look(group: Look, series: str) -> tuple[str, str, str]:
    name, colour = group[series]
    return name, series, colour
