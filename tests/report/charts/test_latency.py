from __future__ import annotations

from flatwater.report.charts.latency import Latency
from flatwater.report.drawing import DrawnCell
from flatwater.report.recorded import Recorded


def test_a_dead_second_looks_dead(recorded: Recorded) -> None:
    [figure] = Latency().draw(recorded)
    assert [trace["name"] for trace in figure.data] == ["stall", "max", "p99.9", "p99", "p95", "p50"]
    drawn = DrawnCell(recorded, [figure]).resolved(figure)["data"]
    # The stall's third second: even the median is the age of the oldest request, 3 s.
    p50 = drawn[-1]
    assert p50["y"].max() == 3.0
    assert round(p50["x"][p50["y"].argmax()] * 60) == 843


def test_the_axis_is_in_readable_units(recorded: Recorded) -> None:
    [figure] = Latency().draw(recorded)
    axis = figure.layout["yaxis"]
    assert axis["type"] == "log"
    assert axis["ticktext"] == ["1 ms", "10 ms", "100 ms", "1 s"]
    assert axis["tickvals"] == [1e-3, 1e-2, 1e-1, 1.0]
