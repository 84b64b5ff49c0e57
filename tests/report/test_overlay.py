from __future__ import annotations

from pathlib import Path

import synthetic

from flatwater.report.figure import COLOURS
from flatwater.report.overlay import overlay
from flatwater.results import Result, open_result


def test_each_begins_with_its_measurement(single: Result) -> None:
    cell = single.cells[0]
    figure = overlay([("before", cell), ("after <b>", cell)], 0)
    assert figure is not None and figure.title == "Throughput over time"
    assert [trace["name"] for trace in figure.data] == ["before", "after &lt;b&gt;"]
    start_s, end_s = cell.measured_span()
    x = figure.data[0]["x"]
    assert 0 < x[0] <= 1 and x[-1] <= figure.layout["xaxis"]["range"][1] <= end_s - start_s
    assert figure.layout["yaxis"]["title"]["text"] == "throughput, MiB/s"
    assert figure.layout["yaxis"]["range"][0] == 0


def test_cells_of_a_sweep_are_named(sweep: Result) -> None:
    figure = overlay([("a", sweep.cells[3])], 2)
    assert figure is not None and figure.key == "overlay-2" and "fill" in figure.title


def test_no_more_lines_than_colours(single: Result) -> None:
    figure = overlay([(str(number), single.cells[0]) for number in range(9)], 0)
    assert figure is not None and len(figure.data) == len(COLOURS)


def test_nothing_was_recorded(tmp_path: Path) -> None:
    synthetic.create(tmp_path / "empty", [({}, 0)])
    assert overlay([("empty", open_result(tmp_path / "empty").cells[0])], 0) is None
    assert overlay([], 0) is None
