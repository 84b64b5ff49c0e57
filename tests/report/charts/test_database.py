from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import synthetic

from flatwater.report.charts import WANTED
from flatwater.report.charts.database import Database
from flatwater.report.charts.throughput import Throughput
from flatwater.report.figure import Figure
from flatwater.report.recorded import Recorded, read
from flatwater.results import open_result


def drawn(path: Path, found: synthetic.Columns) -> Figure:
    result = synthetic.create(path, [({}, 0)])
    synthetic.write_rows(result, iter([(0, found)]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 1.0, 60, unit="NOTPM")])
    [figure] = Database().draw(read(open_result(path).cells[0], WANTED, 100))
    return figure


def test_the_laboratorys_picture(recorded_crash: Recorded) -> None:
    [figure] = Database().draw(recorded_crash)
    titles = [figure.layout[axis]["title"]["text"] for axis in ("yaxis", "yaxis2", "yaxis3")]
    assert titles == ["throughput, NOTPM", "age, MiB", "dirty, %"]
    names = [trace["name"] for trace in figure.data]
    assert names[:2] == ["stall", "throughput"]
    assert names[3:] == ["checkpoint age", "its limit, 77.76 MiB", "dirty pages"]
    limit = figure.data[4]
    assert limit["line"]["dash"] == "dash"
    assert figure.layout["yaxis2"]["range"][1] >= 77.76
    # Drawn here, so not a second time above it.
    assert Throughput().draw(recorded_crash) == []


def test_a_fault_and_its_end_are_marked(recorded_crash: Recorded) -> None:
    [figure] = Database().draw(recorded_crash)
    texts = [note["text"].strip("&#8201;") for note in figure.layout["annotations"]]
    assert texts == ["warm-up", "fault", "recovered"]
    lines = [shape for shape in figure.layout["shapes"] if shape["type"] == "line"]
    assert [line["x0"] for line in lines] == [150, 172]
    assert len({line["line"]["color"] for line in lines}) == 2


@pytest.mark.parametrize(("age", "far"), [(0.5, False), (0.01, True)])
def test_a_limit_far_away_does_not_flatten_the_age(tmp_path: Path, age: float, far: bool) -> None:
    found = {"checkpoint_age_bytes": np.full(60, age * 2**30), "checkpoint_age_max_bytes": np.full(60, 2.0**30)}
    figure = drawn(tmp_path / "r", {f"database.{name}": value for name, value in found.items()})
    names = [trace["name"] for trace in figure.data]
    assert names == ["checkpoint age", "its limit, 1 GiB" + (": above this axis" if far else "")]
    top = figure.layout["yaxis"]["range"][1]
    assert (top == pytest.approx(10.24 * 1.06)) is far


def test_few_dirty_pages_have_an_axis_of_their_size(tmp_path: Path) -> None:
    figure = drawn(tmp_path / "r", {"database.dirty_pct": np.full(60, 3.0)})
    assert figure.layout["yaxis"]["range"] == [0, pytest.approx(3.18)]


def test_a_server_without_innodb_has_the_usual_chart(recorded: Recorded) -> None:
    assert Database().draw(recorded) == []
    assert len(Throughput().draw(recorded)) == 1
