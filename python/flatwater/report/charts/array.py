"""The state of a modelled array: its cache, its members, and its background work."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import bytes_panel, strips
from flatwater.report.figure import (
    BLUE,
    COLOURS,
    GREEN,
    ORANGE,
    RED,
    SKY,
    Figure,
    Json,
    Panel,
    line,
    linear_axis,
    percent_axis,
)
from flatwater.report.recorded import Recorded

#: The most members that are drawn: shelves have 24 places, and more lines cannot be distinguished.
MEMBERS_MAX = 24

WRITE_BACK, WORKING = "storage.write_back", "storage.members_working"
PROGRESS = {
    "storage.rebuild_pct": ("rebuild", RED),
    "storage.patrol_pct": ("patrol read", BLUE),
    "storage.check_pct": ("consistency check", ORANGE),
}
DIRTY = {"storage.cache_dirty_bytes": ("dirty in the controller's cache", SKY)}


def members(metric: str) -> tuple[str, ...]:
    """The names of a series that every member has."""
    return tuple(f"storage.member{number}_{metric}" for number in range(MEMBERS_MAX))


BUSY, DIES_BUSY = members("busy_pct"), members("dies_busy_pct")
WEAROUT, RESERVE = members("media_wearout"), members("available_reserve_pct")


class Array(CellChart):
    """A strip for each state of a modelled array, and one for each figure that its members share.

    Nothing is drawn for a storage that has no members.
    """

    name = "array"
    order = 133
    description = (
        "Whether the controller's cache writes back or through, working members, the progress of rebuild, patrol read "
        "and consistency check, and each member. Incidents are marked. Of a model, not measured."
    )
    coarse: ClassVar = (WRITE_BACK, WORKING, *PROGRESS, *DIRTY, *BUSY, *DIES_BUSY, *WEAROUT, *RESERVE)

    def draw(self, recorded: Recorded) -> list[Figure]:
        if WORKING not in recorded:
            return []
        panels = [*_write_back(recorded), _working(recorded), *_progress(recorded), *bytes_panel(recorded, DIRTY)]
        for group, title in (
            (BUSY, "busy, %"),
            (DIES_BUSY, "dies busy, %"),
            (WEAROUT, "wearout"),
            (RESERVE, "reserve, %"),
        ):
            panels += _each(recorded, group, title)
        return [strips(recorded, self.name, "Array (modelled)", self.description, panels, labels=True)]


def _state(name: str, series: str, colour: str, unit: str = "") -> Json:
    """A state lasts until the next one: steps, filled down to zero."""
    drawn = line(name, series, colour, unit)
    drawn["line"] = {**drawn["line"], "shape": "hv"}
    return drawn | {"fill": "tozeroy"}


def _write_back(recorded: Recorded) -> list[Panel]:
    if WRITE_BACK not in recorded:
        return []
    # The texts of incidents are above the state.
    axis = {"title": {"text": "cache"}, "range": [0, 2.6], "fixedrange": True, "tickvals": [0, 1]}
    axis |= {"ticktext": ["through", "back"]}
    return [Panel([_state("write-back", WRITE_BACK, GREEN)], axis)]


def _working(recorded: Recorded) -> Panel:
    axis = linear_axis("members", recorded.top(WORKING)) | {"tickformat": "d"}
    return Panel([_state("members that work", WORKING, BLUE)], axis, 0.6)


def _progress(recorded: Recorded) -> list[Panel]:
    found = [series for series in PROGRESS if series in recorded]
    if not found:
        return []
    # Progress is reported only while a task runs; between two tasks there is no line.
    data = [line(PROGRESS[one][0], one, PROGRESS[one][1], "%", connectgaps=False) for one in found]
    return [Panel(data, percent_axis("done, %"))]


def _each(recorded: Recorded, group: tuple[str, ...], title: str) -> list[Panel]:
    found = [(number, series) for number, series in enumerate(group) if series in recorded]
    if not found:
        return []
    # With more lines than colours, lines of one colour would look related.
    many = len(found) > len(COLOURS)
    data = []
    for place, (number, series) in enumerate(found):
        look: Json = {"legendgroup": f"member{number}"}
        if many:
            look |= {"opacity": 0.6, "showlegend": False}
        data.append(line(f"member {number}", series, BLUE if many else COLOURS[place], "", **look))
    return [Panel(data, percent_axis(title))]
