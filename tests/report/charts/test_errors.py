from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import synthetic

from flatwater.report.charts import WANTED
from flatwater.report.charts.errors import Errors
from flatwater.report.recorded import Recorded, read
from flatwater.results import open_result


def test_what_went_wrong(recorded_crash: Recorded) -> None:
    [figure] = Errors().draw(recorded_crash)
    names = [trace["name"] for trace in figure.data]
    assert names == ["deadlocks", "rollbacks", "reconnects", "failures to connect"]
    assert {figure.layout[axis]["title"]["text"] for axis in ("yaxis", "yaxis2", "yaxis3")} == {"per second"}


@pytest.mark.parametrize(
    ("series", "value", "names"),
    [
        ("errors_per_s", 0.0, []),
        ("errors_per_s", 1.0, ["errors"]),
        # TPC-C rolls back by rule: nothing is wrong.
        ("rollbacks_per_s", 5.0, []),
    ],
)
def test_errors_are_drawn_when_there_are_some(tmp_path: Path, series: str, value: float, names: list[str]) -> None:
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    synthetic.write_rows(result, iter([(0, {f"workload.{series}": value * np.eye(60)[7]})]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 1.0, 60)])
    figures = Errors().draw(read(open_result(tmp_path / "r").cells[0], WANTED, 100))
    assert [trace["name"] for figure in figures for trace in figure.data] == names
