"""A part of a cell's time, of a cell under way and of a result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import synthetic
from servelab import started_run, write_seconds

from flatwater.report.charts import CELL_CHARTS
from flatwater.results import open_result
from flatwater.serve.span import Span, lines_within
from flatwater.serve.tail import Tail

WANTED = {"workload.throughput", "storage.late"}


@pytest.mark.parametrize(
    ("start_s", "end_s", "times"),
    [
        (3.0, 5.0, [2.0, 3.0, 4.0, 5.0]),
        (3.5, 4.5, [3.0, 4.0, 5.0]),  # those around it: the line reaches the edges
        (-10.0, 2.0, [1.0, 2.0]),
        (8.5, 99.0, [8.0, 9.0]),
        (20.0, 30.0, [9.0]),
        (0.0, 99.0, [float(at) for at in range(1, 10)]),
    ],
)
def test_a_span_has_what_was_read_of_a_cell(tmp_path: Path, start_s: float, end_s: float, times: list[float]) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 9)
    tail = Tail(result.cells[0], WANTED)
    tail.advance()
    found = Span(tail, start_s, end_s)
    assert list(found.series("workload", "throughput").time_s) == times
    assert len(found.series("storage", "late")) == 0
    assert (found.phases, found.metrics()) == (tail.phases, tail.metrics())
    tail.close()


def test_a_span_of_a_long_result_has_every_second_where_the_report_has_not(tmp_path: Path) -> None:
    count = 8 * 3600
    result = synthetic.create(tmp_path / "run", [({}, 0)])
    columns = synthetic.columns(np.random.default_rng(1), count, 300.0, [], [])
    synthetic.write_rows(result, iter([(0, columns)]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 300.0, count)])
    cell = open_result(result.path).cells[0]
    found = json.loads(lines_within(cell, 7000.0, 9000.0, CELL_CHARTS))["lines"]["workload.throughput"]
    np.testing.assert_allclose(found["v"], columns["workload.throughput"][6998:9000], rtol=1e-4)
    # All of it is as many points as the report has.
    whole = json.loads(lines_within(cell, 0.0, float(count), CELL_CHARTS))["lines"]["workload.throughput"]
    assert len(whole["v"]) <= 8000
