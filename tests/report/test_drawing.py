from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import synthetic

from flatwater.report.drawing import draw, drawn_cells
from flatwater.results import open_result


@pytest.mark.parametrize(
    ("value", "dots"),
    [
        (np.ones(1), True),
        (np.ones(500), False),
        (np.where(np.arange(500) % 7 == 0, 5.0, 0.0), True),
        (np.where(np.arange(504) % 7 > 1, 5.0, 0.0), False),
    ],
)
def test_samples_that_no_line_joins_have_dots(tmp_path: Path, value: np.ndarray, dots: bool) -> None:
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    synthetic.write_rows(result, iter([(0, {"storage.read_await_us": value})]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 1.0, 60)])
    [drawn] = draw(open_result(tmp_path / "r"))
    [trace] = drawn.figures[0].data
    assert (trace["mode"] == "lines+markers") is dots


def test_cells_that_never_began_are_not_drawn(unfinished_path: Path) -> None:
    assert [cell.index for cell in drawn_cells(open_result(unfinished_path))] == [0]
