from __future__ import annotations

from pathlib import Path

import pytest
import synthetic

from flatwater.report.charts.sweep_throughput import SweepThroughput
from flatwater.report.figure import BLUE, ORANGE, Figure
from flatwater.report.swept import arrange
from flatwater.results import Result, open_result


def drawn(result: Result) -> list[Figure]:
    swept = arrange(result)
    assert swept is not None
    return SweepThroughput().draw(result, swept)


def test_ours_beside_published(sweep: Result) -> None:
    [figure] = drawn(sweep)
    assert [(trace["name"], trace["line"]["color"]) for trace in figure.data] == [
        ("threads 8", BLUE),
        ("threads 8, published", BLUE),
        ("threads 16", ORANGE),
    ]
    ours, theirs, _ = figure.data
    assert theirs["line"]["dash"] == "dash"
    assert theirs["y"] == list(synthetic.PUBLISHED.values())
    assert ours["x"] == theirs["x"] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert ours["error_y"]["array"] == pytest.approx([value * 0.012 for value in ours["y"]])
    assert figure.layout["yaxis"]["title"]["text"] == "throughput, MiB/s"


def test_repeats_are_a_point_with_their_spread(tmp_path: Path) -> None:
    result = open_result(synthetic.sweep(tmp_path / "r", threads=(8,), count=20, repeats=3))
    [figure] = drawn(result)
    means = [cell.summary.mean for cell in result.cells[:3] if cell.summary and cell.summary.mean]
    assert figure.data[0]["y"][0] == pytest.approx(sum(means) / 3)
    assert figure.data[0]["error_y"]["array"][0] == pytest.approx(max(means) - sum(means) / 3)
    assert figure.data[0]["error_y"]["arrayminus"][0] == pytest.approx(sum(means) / 3 - min(means))


def test_nothing_finished_draws_nothing(unfinished_path: Path) -> None:
    assert drawn(open_result(unfinished_path)) == []


def test_other_units_are_left_out(sweep: Result) -> None:
    assert sweep.cells[0].summary is not None
    assert sweep.cells[1].summary is not None
    assert sweep.cells[1].summary.published is not None
    sweep.cells[1].summary.published.unit = "NOTPM"
    sweep.cells[2].summary = None
    [figure] = drawn(sweep)
    assert figure.data[0]["x"] == [0.2, 0.4, 0.8, 1.0]
    assert figure.data[1]["x"] == [0.2, 0.8, 1.0]
