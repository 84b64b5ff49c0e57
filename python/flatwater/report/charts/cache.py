"""The flash cache: its hits, its dirty data, and the writes to its device."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import bytes_panel, counted_panel, percent_panel, strips
from flatwater.report.figure import (
    BLUE,
    FAINT,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    Figure,
    Json,
    Panel,
    latency_axis,
    latency_line,
    line,
    linear_axis,
    percent_axis,
)
from flatwater.report.recorded import Recorded

HITS = {
    "cache.hit_ratio": ("hits", BLUE),
    "cache.read_hit_ratio": ("of reads", GREEN),
    "cache.write_hit_ratio": ("of writes", ORANGE),
}
DIRTY = "cache.dirty_pct"
MARKS = {
    "cache.dirty_high_pct": ("high mark", RED, "dash"),
    "cache.dirty_low_pct": ("low mark", FAINT, "dot"),
}
USED = {"cache.used_pct": ("used", SKY)}
AGE = {"cache.dirty_age_oldest_s": ("oldest dirty block", PURPLE), "cache.dirty_age_mean_s": ("mean", SKY)}
WRITTEN = {
    "cache.write_back_bytes_per_s": ("written back", ORANGE),
    "cache.fast_written_bytes_per_s": ("written to the cache device", BLUE),
    "cache.metadata_bytes_per_s": ("of that metadata", PURPLE),
}
AMPLIFICATION = "cache.write_amplification"
PASSED = {
    "cache.uncached_per_s": ("past the cache", RED),
    "cache.fills_per_s": ("brought in", GREEN),
    "cache.evictions_per_s": ("made room", SKY),
    "cache.write_backs_per_s": ("written back", ORANGE),
}
DEVICE_BUSY = {
    "cache.fast_busy_pct": ("busy", GREEN),
    "cache.fast_link_busy_pct": ("link busy", SKY),
    "cache.fast_dies_busy_pct": ("dies busy", BLUE),
    "cache.fast_gc_share_pct": ("writes wait for the collector", RED),
}
DEVICE_QUEUE = {"cache.fast_queue_depth": ("queue depth", PURPLE)}
DEVICE_AMPLIFICATION = "cache.fast_write_amplification"
DEVICE_LAG = {"cache.fast_lag_p50_us": ("p50", BLUE), "cache.fast_lag_p99_us": ("p99", GREEN)}

#: Series of the cache's own device that other series show more clearly, or that change over weeks.
UNDRAWN = frozenset(
    {"cache.dirty_blocks", "cache.clean_blocks", "cache.in_flight", "cache.fast_written_bytes"}
    | {
        f"cache.fast_{name}"
        for name in (
            *("available_reserve_pct", "bad_blocks", "buffer_bytes", "erase_count_max", "erase_count_mean"),
            *("erases_per_s", "free_blocks", "host_written_bytes_per_s", "media_wearout", "read_errors_per_s"),
            *("relocated_bytes_per_s", "utilisation_pct", "lag_late_pct", "lag_p95_us"),
        )
    }
)


class Cache(CellChart):
    """Strips of a flash cache, and a second figure with strips of its modelled cache device.

    Nothing is drawn for a cell without a cache.
    """

    name = "cache"
    order = 127
    description = (
        "Requests that the cache answered, dirty blocks and their age, blocks written back, and bytes written to the "
        "cache device for each byte that users wrote."
    )
    coarse: ClassVar = (
        *HITS,
        *(DIRTY, *MARKS, *USED, *AGE, *WRITTEN, AMPLIFICATION, *PASSED),
        *(*DEVICE_BUSY, *DEVICE_QUEUE, DEVICE_AMPLIFICATION, *DEVICE_LAG),
    )

    def draw(self, recorded: Recorded) -> list[Figure]:
        if DIRTY not in recorded:
            return []
        panels = [
            *_hits(recorded),
            *_dirty(recorded),
            *counted_panel(recorded, AGE, "s"),
            *bytes_panel(recorded, WRITTEN, per_s=True),
            *_amplification(recorded, AMPLIFICATION),
            *counted_panel(recorded, PASSED, "blocks/s"),
        ]
        figures = [strips(recorded, self.name, "Cache", self.description, panels, labels=True)]
        device = [
            *percent_panel(recorded, DEVICE_BUSY, "% of the time"),
            *counted_panel(recorded, DEVICE_QUEUE, "requests"),
            *_amplification(recorded, DEVICE_AMPLIFICATION),
            *_lag(recorded),
        ]
        if device:
            about = "What the model of the cache's own device tells of itself. Not measured."
            figures.append(strips(recorded, f"{self.name}-device", "Cache device (modelled)", about, device))
        return figures


def _hits(recorded: Recorded) -> list[Panel]:
    found = [series for series in HITS if series in recorded]
    if not found:
        return []
    data = [line(HITS[one][0], one, HITS[one][1], "%", 100.0) for one in found]
    return [Panel(data, percent_axis("hits, %"), 1.4)]


def _dirty(recorded: Recorded) -> list[Panel]:
    """The dirty share between its marks, on its own axis: on an axis up to 100 %, marks of 10 % would be near the
    bottom.
    """
    marks = [one for one in MARKS if one in recorded]
    data: list[Json] = [line("dirty", DIRTY, ORANGE, "%") | {"fill": "tozeroy"}]
    for one in marks:
        name, colour, dash = MARKS[one]
        data.append(line(name, one, colour, "%") | {"line": {"color": colour, "width": 1.2, "dash": dash}})
    panels = [Panel(data, linear_axis("dirty, %", recorded.top(DIRTY, *marks)), 1.4)]
    # If the cache is full from the start, its used share carries no information.
    if recorded.bottom(*USED) < 99:
        panels += percent_panel(recorded, USED, "used, %")
    return panels


def _amplification(recorded: Recorded, series: str) -> list[Panel]:
    if recorded.top(series) <= 0:
        return []
    return [
        Panel([line("write amplification", series, ORANGE, "")], linear_axis("amplification", recorded.top(series)))
    ]


def _lag(recorded: Recorded) -> list[Panel]:
    """The lag of a served cache device behind its model."""
    found = [series for series in DEVICE_LAG if recorded.top(series) > 0]
    if not found:
        return []
    data = [latency_line(DEVICE_LAG[one][0], one, DEVICE_LAG[one][1]) for one in found]
    return [Panel(data, latency_axis("behind the model", recorded.bottom_positive(*found), recorded.top(*found)))]
