"""Where the sessions are: what they do, and what they wait for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import counted_panel, strips
from flatwater.report.figure import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, Figure, Json, Panel, line, linear_axis
from flatwater.report.recorded import Recorded

_BROWN, _GREY, _OLIVE, _PINK, _SAND, _NIGHT = "#8C564B", "#8A8A8A", "#8F9A27", "#E377C2", "#C9B37E", "#3B4CA8"
#: Only a model tells it.
_RUNNING = "database.sessions_running"
#: Of a modelled server. It knows where each session is.
PLACES = {
    _RUNNING: ("on a processor", BLUE),
    "database.sessions_in_cpu_queue": ("no free processor", SKY),
    "database.sessions_in_mutexes": ("in mutexes", _GREY),
    "database.sessions_reading": ("in a page's read", GREEN),
    "database.sessions_in_free_page_waits": ("no free page", PURPLE),
    "database.sessions_in_page_latches": ("page being written", _BROWN),
    "database.sessions_in_row_locks": ("in row locks", ORANGE),
    "database.sessions_committing": ("in a commit", RED),
    "database.sessions_in_log_buffer_waits": ("log buffer full or held", _PINK),
    "database.sessions_in_log_room_waits": ("no room in the log", _OLIVE),
    "database.sessions_away": ("on the way", _SAND),
    "database.sessions_thinking": ("thinking", _NIGHT),
}
#: Of a real server. What was sampled, and the commits that the load generator timed: a session may be in two of them.
SAMPLED = {
    "database.sessions_waiting": ("waiting for another thread", ORANGE),
    "database.sessions_reading": ("in the read of a file", GREEN),
    "database.sessions_syncing": ("in a sync", PURPLE),
}
COMMITS = "workload.commit_us_per_s"


class Sessions(CellChart):
    """One figure: the places of a modelled server's sessions, stacked; or what is known of a real server's."""

    name = "sessions"
    order = 128
    description = (
        "The mean number of sessions in each place: what they do, and what they wait for. Of a real server, a commit "
        "counts in the second in which it ends."
    )
    coarse: ClassVar = (*PLACES, *SAMPLED, COMMITS)
    together: ClassVar = (tuple(PLACES),)

    def draw(self, recorded: Recorded) -> list[Figure]:
        panels = _modelled(recorded) if _RUNNING in recorded else _sampled(recorded)
        return [strips(recorded, self.name, "Sessions", self.description, panels)] if panels else []


def _modelled(recorded: Recorded) -> list[Panel]:
    found = [series for series in PLACES if recorded.top(series) > 0]
    if not found:
        return []
    # They are stacked, and so have common times.
    most = float(np.nanmax(np.sum([recorded.lines[series].value for series in found], axis=0)))
    return [Panel([_area(series) for series in found], linear_axis("sessions", most), 2.4)]


def _area(series: str) -> Json:
    name, colour = PLACES[series]
    # By default plotly lets a stack fall to zero if a second is missing.
    stroke = {"color": colour, "width": 0.4}
    return line(name, series, colour, "", line=stroke, stackgroup="sessions", stackgaps="interpolate")


def _sampled(recorded: Recorded) -> list[Panel]:
    panels = counted_panel(recorded, SAMPLED, "sessions")
    if recorded.top(COMMITS) <= 0:
        return panels
    commits = line("in a commit", COMMITS, RED, "", 1e-6)
    top = max(recorded.top(COMMITS) * 1e-6, recorded.top(*SAMPLED))
    return [Panel([commits, *(panels[0].data if panels else [])], linear_axis("sessions", top))]
