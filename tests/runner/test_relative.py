"""Published ratios beside ours: filled in when both cells are done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab import Lab
from modelledlab import write_modelled

from flatwater.report.page import render
from flatwater.results import open_result

TWICE = {"set": {"workload.rate_per_s": 1000}, "relative_to": {"workload.rate_per_s": 500}, "value": 4.0}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_our_ratio_stands_beside_the_published_one(lab: Lab) -> None:
    bound = TWICE | {"value": 1.5, "at_least": True}
    figures = [figure | {"unit": "x", "source": "made up"} for figure in (TWICE, bound)]
    # The other cell comes last, and is measured twice.
    file = write_modelled(lab, [1000, 500], repeat=2, duration_s=5, published=figures)
    out = lab.folder / "out"
    lab.run(file, out=out).check()
    cells = json.loads((out / "summary.json").read_text())["cells"]
    base = [cell["mean"] for cell in cells if cell["set"]["workload.rate_per_s"] == 500]
    assert len(base) == 2
    for cell in cells:
        if cell["set"]["workload.rate_per_s"] == 500:
            assert cell["published"] is None
            continue
        ours = cell["mean"] / (sum(base) / 2)
        assert cell["published"]["ours"] == pytest.approx(ours)
        assert cell["published"]["error"] == pytest.approx(ours / 4 - 1)
        assert [one["error"] for one in cell["published_others"]] == [0]
    page = render(open_result(out))
    assert "4 x of rate per s 500" in page
    assert "at least 1.5 x of rate per s 500" in page
    assert "mean to that of rate per s 500" in page


def test_without_the_other_cell_there_is_no_ratio(lab: Lab) -> None:
    file = write_modelled(lab, [1000, 500], published=[TWICE | {"unit": "x", "source": "made up"}])
    ran = lab.run(file, "--json", "--set", "sweep.workload.rate_per_s=[1000,600]")
    ran.check()
    assert [cell["published"] for cell in ran.cells] == [None, None]
