from __future__ import annotations

from pathlib import Path

import numpy as np
import synthetic

from flatwater.report.charts import WANTED
from flatwater.report.charts.others import STRIPS_MAX, Others
from flatwater.report.recorded import Recorded, read
from flatwater.results import Result, open_result


def test_a_figure_for_each_layer(recorded: Recorded) -> None:
    figures = Others().draw(recorded)
    assert [(figure.key, figure.title) for figure in figures] == [
        ("others", "More of the cache"),
        ("others-2", "More of the database"),
        ("others-3", "More of the storage"),
    ]
    database = figures[1]
    assert [trace["name"] for trace in database.data] == ["bloat_pct", "heap_bytes"]
    assert database.layout["yaxis2"]["title"]["text"] == "GiB"
    assert database.layout["yaxis"]["range"] == [0, 102]


def drawn(path: Path, found: dict[str, np.ndarray]) -> list[str]:
    result = synthetic.create(path, [({}, 0)])
    synthetic.write_rows(result, iter([(0, found)]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 1.0, 60)])
    figures = Others().draw(read(open_result(path).cells[0], WANTED, 100))
    return [trace["name"] for figure in figures for trace in figure.data]


def test_units_follow_the_name_and_any_value_draws(tmp_path: Path) -> None:
    found = {
        "x.wait_us": np.linspace(1, 1e6, 60),
        "x.zero_us": np.zeros(60),
        "x.below": np.linspace(-5, -1, 60),
        "x.over_pct": np.full(60, 250.0),
        "x.flushes_per_s": np.full(60, 1e9),
        "nodot.": np.ones(60),
    }
    assert len(drawn(tmp_path / "r", found)) == 6


def test_what_another_chart_draws_is_not_drawn_again(database: Result) -> None:
    assert read(database.cells[0], WANTED, 100).unclaimed == []


def test_a_folder_of_a_thousand_series_is_bounded(tmp_path: Path) -> None:
    assert len(drawn(tmp_path / "r", {f"x.m{i:04}": np.ones(3) for i in range(1000)})) == STRIPS_MAX
