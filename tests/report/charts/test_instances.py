from __future__ import annotations

from pathlib import Path

import synthetic

from flatwater.report.charts import WANTED
from flatwater.report.charts.instances import Instances
from flatwater.report.figure import BLUE
from flatwater.report.recorded import Recorded, read
from flatwater.results import open_result


def test_a_thin_line_for_each_server(recorded_crash: Recorded) -> None:
    [figure] = Instances().draw(recorded_crash)
    assert [trace["name"] for trace in figure.data] == [f"server {number}" for number in range(4)] * 2
    assert {trace["line"]["width"] for trace in figure.data} == {0.8}
    assert len({trace["line"]["color"] for trace in figure.data}) == 4
    titles = [figure.layout[axis]["title"]["text"] for axis in ("yaxis", "yaxis2")]
    assert titles == ["throughput, NOTPM", "age, MiB"]


def test_more_servers_than_colours_are_one_colour(tmp_path: Path) -> None:
    cell = open_result(synthetic.crashed(tmp_path / "r", 60, instances=16)).cells[0]
    [figure] = Instances().draw(read(cell, WANTED, 100))
    assert len(figure.data) == 32
    assert {trace["line"]["color"] for trace in figure.data} == {BLUE}
    assert not any(trace.get("showlegend", True) for trace in figure.data)


def test_one_server_is_the_whole(recorded_crash: Recorded) -> None:
    lines = {name: one for name, one in recorded_crash.lines.items() if "instance0" in name}
    assert len(lines) == 2
    assert Instances().draw(Recorded(recorded_crash.cell, lines, recorded_crash.span_s)) == []
