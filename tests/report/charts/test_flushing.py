from __future__ import annotations

import pytest

from flatwater.report.charts.flushing import Flushing
from flatwater.report.recorded import Recorded


def test_panels_by_what_is_counted(recorded_crash: Recorded) -> None:
    figures = Flushing().draw(recorded_crash)
    assert [figure.key for figure in figures] == ["flushing", "log", "locks"]
    titles = [
        [figure.layout[axis]["title"]["text"] for axis in sorted(figure.layout) if axis.startswith("yaxis")]
        for figure in figures
    ]
    assert titles == [
        ["flushed, pages/s", "read, pages/s", "hits, %"],
        ["MiB/s", "MiB/s", "per second"],
        ["transactions", "waits/s", "% of a thread", "threads"],
    ]


def test_what_never_happened_is_not_drawn(recorded_crash: Recorded) -> None:
    names = [trace["name"] for figure in Flushing().draw(recorded_crash) for trace in figure.data]
    assert "at the log's limit (sync)" in names
    for never in ("background", "waits for a free page", "waits for room in the log buffer"):
        assert never not in names


def test_what_was_not_told_is_not_drawn(recorded_crash: Recorded) -> None:
    lines = {"database.threads_running": recorded_crash.lines["database.threads_running"]}
    [figure] = Flushing().draw(Recorded(recorded_crash.cell, lines, recorded_crash.span_s))
    assert (figure.key, [trace["name"] for trace in figure.data]) == ("locks", ["threads running"])


def test_hits_are_magnified_and_in_percent(recorded_crash: Recorded) -> None:
    figure = Flushing().draw(recorded_crash)[0]
    [hits] = [trace for trace in figure.data if trace["name"] == "pages found in memory"]
    low, high = figure.layout["yaxis3"]["range"]
    assert hits["scale"] == 100
    assert 98 < low < 99
    assert high == pytest.approx(100, abs=0.3)
