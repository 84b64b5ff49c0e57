from __future__ import annotations

from flatwater.report.charts.sweep_latency import SweepLatency
from flatwater.report.swept import arrange
from flatwater.results import Result


def test_p95_in_seconds_beside_what_was_published_in_milliseconds(sweep: Result) -> None:
    swept = arrange(sweep)
    assert swept is not None
    [figure] = SweepLatency().draw(sweep, swept)
    assert [trace["name"] for trace in figure.data] == ["threads 8", "threads 8, published", "threads 16"]
    assert sweep.cells[0].summary is not None
    assert sweep.cells[0].summary.latency_us is not None
    assert figure.data[0]["y"][0] == sweep.cells[0].summary.latency_us.p95 * 1e-6
    assert abs(figure.data[1]["y"][0] / figure.data[0]["y"][0] - 1000 / 900) < 1e-9
    assert figure.layout["yaxis"]["ticktext"]


def test_without_latencies_there_is_no_chart(sweep: Result) -> None:
    for cell in sweep.cells:
        assert cell.summary is not None
        cell.summary.latency_us = None
        cell.summary.published_others = []
    swept = arrange(sweep)
    assert swept is not None
    assert SweepLatency().draw(sweep, swept) == []
