"""Published figures and shapes beside ours, on a modelled appliance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab import Lab
from modelledlab import write_modelled

from flatwater.analysis.figures import lookup_figure
from flatwater.experiment import load
from flatwater.report.page import render
from flatwater.report.published import published_page
from flatwater.results import CellSummary, Dip, open_result
from flatwater.runner.agreement import judge_agreement

RATE = "workload.rate_per_s"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def figure(rate: int, value: float, **more: Any) -> dict[str, Any]:
    return {"set": {RATE: rate}, "value": value, "unit": "IOPS", "source": "made up"} | more


def run(lab: Lab, **rest: Any) -> dict[str, Any]:
    """Three rates that the appliance keeps exactly; what the result says of agreement."""
    file = write_modelled(lab, [500, 1000, 2000], duration_s=20, **rest)
    lab.run(file, out=lab.folder / "out").check()
    found: dict[str, Any] = json.loads((lab.folder / "out/summary.json").read_text())
    return found


def test_figures_agree_as_their_file_asks(lab: Lab) -> None:
    figures = [figure(500, 480, within=0.01), figure(1000, 1130), figure(2000, 1000, within=2)]
    whole = run(lab, published=figures)
    assert [cell["published"]["agrees"] for cell in whole["cells"]] == [False, True, True]
    told = whole["agreement"]
    assert (told["figures"], told["agreeing"]) == (3, 2)
    assert (told["within_10_pct"], told["within_15_pct"], told["within_25_pct"]) == (1, 2, 2)
    # 500 < 2000 < 1000 of theirs against our 500 < 1000 < 2000: two of three pairs.
    assert told["tau"] == pytest.approx(1 / 3)


def test_the_shape(lab: Lab) -> None:
    base = {"source": "made up"}
    whole = run(
        lab,
        published=[figure(500, 1), figure(2000, 2)],
        expected=[
            base | {"verdict": "flat", "set": {RATE: 1000}},
            base | {"verdict": "jumps", "set": {RATE: 500}},
            base | {"order": [{RATE: 2000}, {RATE: 1000}, {RATE: 500}]},
            base | {"order": [{RATE: 2000}, {RATE: 500}, {RATE: 1000}]},
            base | {"order": [{RATE: 2000}, {RATE: 500}, {RATE: 1000}], "tau": 0.3},
            base | {"order": "published"},
            base | {"optimum": {RATE: 2000}},
            base | {"optimum": {RATE: [500, 1000]}},
            base | {"optimum": {RATE: 1000}, "within": 0.51},
            base | {"optimum": {RATE: 500}, "least": True},
        ],
    )
    found = whole["agreement"]["findings"]
    assert [one["agrees"] for one in found] == [True, False, True, False, True, True, True, False, True, True]
    assert (found[0]["published"], found[0]["ours"], found[0]["about"]) == ("flat", "flat", "rate per s 1000")
    assert found[3]["published"] == "rate per s 2000 > rate per s 500 > rate per s 1000"
    assert found[3]["ours"] == "rate per s 2000 > rate per s 1000 > rate per s 500"
    assert found[5]["ours"] == "tau 1.00"
    assert found[7]["ours"] == "rate per s 2000"
    page = render(open_result(lab.folder / "out"))
    assert 'id="shape-table"' in page and "best throughput" in page and "7 of 10 shapes agree" in page


def test_repeats_count_as_their_mean_and_each_has_its_verdict(lab: Lab) -> None:
    expected = [{"source": "s", "verdict": "flat"}, {"source": "s", "optimum": {RATE: 2000}}]
    found = run(lab, repeat=2, expected=expected)["agreement"]["findings"]
    assert [one["ours"] for one in found] == ["flat, flat"] * 3 + ["rate per s 2000"]


def test_cells_are_called_by_their_names(lab: Lab) -> None:
    names = ["slow", "middle", "fast"]
    expected = [{"source": "s", "verdict": "flat"}, {"source": "s", "order": [{RATE: 2000}, {RATE: 500}]}]
    whole = run(lab, repeat=2, report={"names": names}, expected=expected)
    found = whole["agreement"]["findings"]
    assert [one["about"] for one in found] == [*names, ""]
    assert found[3]["published"] == "fast > slow"
    result = open_result(lab.folder / "out")
    assert [cell.label for cell in result.cells] == names + [f"{name} (repeat 2)" for name in names]
    assert "middle (repeat 2)" in render(result)
    assert "| middle (repeat 2) | mean | … |" in published_page([("out", result)], {})


def test_a_line_too_short_to_be_judged_is_left_open(lab: Lab) -> None:
    file = write_modelled(lab, [500], expected=[{"source": "s", "verdict": "flat"}])
    lab.run(file, out=lab.folder / "out").check()
    agreement = open_result(lab.folder / "out").agreement
    assert agreement is not None
    assert [(one.ours, one.agrees) for one in agreement.findings] == [("not judged", None)]


def test_where_nothing_was_published_nothing_is_said(lab: Lab) -> None:
    assert "agreement" not in run(lab)
    assert open_result(lab.folder / "out").agreement is None


def test_a_missing_cell_leaves_the_finding_open(lab: Lab) -> None:
    expected = [
        {"source": "s", "optimum": {RATE: 500}},
        {"source": "s", "order": [{RATE: 1000}, {RATE: 500}]},
        {"source": "s", "verdict": "flat"},
    ]
    run(lab, expected=expected)
    result = open_result(lab.folder / "out")
    result.cells[0].summary = None
    agreement = judge_agreement(load(lab.folder / "modelled3.toml"), result)
    assert agreement is not None and [one.agrees for one in agreement.findings] == [None, None, None, True, True]


def test_figures_of_dips() -> None:
    dips = [Dip(start_s=0, length_s=length_s, depth=depth) for length_s, depth in ((4, 0.2), (6, 0.4), (5, 0.3))]
    summary = CellSummary(cell=0, seed=1, status="complete", unit="tps", dips=dips, verdict="dips", dip_period_s=60)
    told = {metric: lookup_figure(summary, metric) for metric in ("dip_depth", "dip_length_s", "dip_period_s")}
    assert told == {"dip_depth": 0.3, "dip_length_s": 5, "dip_period_s": 60}
    level = CellSummary(cell=0, seed=1, status="complete", unit="tps", verdict="flat")
    assert (lookup_figure(level, "dip_depth"), lookup_figure(level, "dip_period_s")) == (0, None)


def test_where_dips_were_published_a_level_line_disagrees(lab: Lab) -> None:
    whole = run(lab, published=[figure(500, 60, metric="dip_period_s", unit="s")])
    assert whole["cells"][0]["published"]["agrees"] is False
    assert (whole["agreement"]["figures"], whole["agreement"]["agreeing"]) == (1, 0)


def test_the_maximum_of_a_series(lab: Lab) -> None:
    whole = run(lab, published=[figure(500, 500, metric="workload.throughput.max")])
    assert whole["cells"][0]["published"]["ours"] == pytest.approx(500, rel=0.1)
