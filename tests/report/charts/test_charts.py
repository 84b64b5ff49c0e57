"""What holds for every chart, whatever it draws."""

from __future__ import annotations

import json
import re
from pathlib import Path

import plotly.graph_objects as go
import pytest

from flatwater.report.charts import CELL_CHARTS, SWEEP_CHARTS, UNDRAWN, CellChart, SweepChart
from flatwater.report.drawing import DrawnCell, draw, sweep_figures
from flatwater.report.figure import COLOURS, DARK, FAINT, GRID, INK, PAPER, TEMPLATE
from flatwater.report.recorded import Recorded
from flatwater.results import Result, open_result

#: The page that explains the charts.
REPORT = Path(__file__).parents[3] / "docs" / "report.md"
#: Fixtures: what cells of different stacks recorded.
RECORDED = ("recorded", "recorded_crash", "recorded_card", "recorded_array", "recorded_cache", "recorded_disk")
EVERY: tuple[CellChart | SweepChart, ...] = (*SWEEP_CHARTS, *CELL_CHARTS)


def test_names_and_orders_are_their_own() -> None:
    assert len({chart.name for chart in EVERY}) == len(EVERY)
    orders = [chart.order for chart in EVERY]
    assert not [f"{chart.name}: {chart.order}" for chart in EVERY if orders.count(chart.order) > 1]
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", chart.name) for chart in EVERY)
    assert all(chart.description.endswith(".") for chart in EVERY)


def test_a_chart_has_a_test_of_its_name() -> None:
    here = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    modules = {type(chart).__module__.rsplit(".", 1)[-1] for chart in EVERY}
    assert {f"test_{module}" for module in modules} <= here


@pytest.mark.parametrize("of", RECORDED)
@pytest.mark.parametrize("chart", CELL_CHARTS, ids=lambda chart: chart.name)
def test_draws_what_plotly_takes(chart: CellChart, of: str, request: pytest.FixtureRequest) -> None:
    recorded: Recorded = request.getfixturevalue(of)
    for figure in chart.draw(recorded):
        drawn = DrawnCell(recorded, [figure]).resolved(figure)
        go.Figure(drawn)  # refuses a name or a value that plotly does not know
        assert drawn["data"]
        for axis in (name for name in drawn["layout"] if name.startswith("yaxis")):
            # A strip of a series that nobody knows may have no unit.
            assert drawn["layout"][axis]["title"]["text"] or chart.name == "others"


def test_what_is_drawn_is_not_among_what_is_not() -> None:
    drawn = {series for chart in CELL_CHARTS for series in (*chart.fine, *chart.coarse)}
    assert not drawn & UNDRAWN, "a series that a chart draws leaves UNDRAWN"


def test_the_page_of_the_report_has_a_row_for_each_chart(request: pytest.FixtureRequest) -> None:
    rows = re.findall(r"^\| ([^|]+) \|", REPORT.read_text(encoding="utf-8"), re.MULTILINE)
    known = {row.strip() for row in rows}
    drawn = {
        chart.name: {figure.title for of in RECORDED for figure in chart.draw(request.getfixturevalue(of))}
        for chart in CELL_CHARTS
        if chart.name != "others"  # `More of the ...`
    }
    missing = {name: titles for name, titles in drawn.items() if titles and not titles & known}
    assert missing == {}, f"{REPORT} explains each chart in a row with its title"


@pytest.mark.parametrize("chart", CELL_CHARTS, ids=lambda chart: chart.name)
def test_draws_nothing_of_nothing(chart: CellChart, recorded: Recorded) -> None:
    assert chart.draw(Recorded(recorded.cell, {}, 0.0)) == [] or chart.name == "histogram"


def test_sweeps_are_what_plotly_takes(sweep: Result) -> None:
    figures = sweep_figures(sweep)
    assert [figure.key for figure in figures] == ["sweep-throughput", "sweep-p95"]
    for figure in figures:
        go.Figure({"data": figure.data, "layout": figure.layout})


def test_six_colours_and_no_more(single: Result, sweep: Result, crashed: Result) -> None:
    figures = [figure for result in (single, sweep, crashed) for cell in draw(result) for figure in cell.figures]
    figures += sweep_figures(sweep)
    used = {trace["line"]["color"] for figure in figures for trace in figure.data}
    assert used <= {*COLOURS, INK, FAINT}
    assert len(COLOURS) == 6


def test_each_colour_has_a_counterpart_on_a_dark_page(
    single: Result, sweep: Result, database: Result, crashed: Result, request: pytest.FixtureRequest
) -> None:
    results = [single, sweep, database, crashed]
    results += [open_result(request.getfixturevalue(f"{name}_path")) for name in ("card", "array", "disk", "cache")]
    figures = [figure for result in results for cell in draw(result) for figure in cell.figures]
    figures += [figure for result in results for figure in sweep_figures(result)]
    drawn = json.dumps([TEMPLATE, [(figure.data, figure.layout) for figure in figures]])
    used = set(re.findall(r'"(#[0-9A-Fa-f]{3,8})"', drawn))
    assert used - {*DARK} == set()
    assert {PAPER, INK, GRID} <= used


def test_time_charts_share_one_axis(recorded: Recorded) -> None:
    figures = [figure for chart in CELL_CHARTS for figure in chart.draw(recorded)]
    assert {figure.key for figure in figures if not figure.linked} <= {"histogram"}
    axes = [figure.layout["xaxis"] for figure in figures if figure.linked]
    assert {tuple(axis["range"]) for axis in axes} == {(0, 20.0)}
    assert {axis["title"]["text"] for axis in axes} == {"time since the start, min"}
