from __future__ import annotations

import json
from pathlib import Path

import pytest
import synthetic

from flatwater.report.charts import SWEEP_CHARTS
from flatwater.report.charts.sweep_dots import NAME_LETTERS_MAX, has_names
from flatwater.report.figure import Figure
from flatwater.report.page import render
from flatwater.report.swept import arrange
from flatwater.results import Published, Result, open_result

NAMES = ["a: as shipped", "b: no doublewrite", "c: " + "a long name " * 9]


def named(path: Path, names: list[str], repeats: int = 1) -> Result:
    plans = [({"a.b": place}, repeat) for repeat in range(repeats) for place in range(3)]
    result = synthetic.create(path, plans, experiment=f"[report]\nnames = {json.dumps(names)}\n")
    published = Published(value=450, unit="MiB/s", metric="mean", ours=400, error=-0.11, source="page 1")
    cells = [
        synthetic.summary(
            place, values, 400.0 + 10 * place, 600, repeat=repeat, published=published if values["a.b"] == 0 else None
        )
        for place, (values, repeat) in enumerate(plans)
    ]
    synthetic.write_summaries(result, cells)
    return open_result(path)


def drawn(result: Result) -> list[Figure]:
    swept = arrange(result)
    assert swept is not None
    return [figure for chart in SWEEP_CHARTS for figure in chart.draw(result, swept)]


def test_a_row_for_each_name(tmp_path: Path) -> None:
    throughput, latency = drawn(named(tmp_path / "r", NAMES))
    assert throughput.layout["yaxis"]["categoryarray"][:2] == NAMES[:2]
    assert throughput.layout["yaxis"]["autorange"] == "reversed"
    theirs, ours = throughput.data
    assert (theirs["x"], theirs["y"]) == ([450], NAMES[:1])
    assert ours["x"] == [400, 410, 420]
    assert ours["error_x"]["array"] == pytest.approx([4.8, 4.92, 5.04])
    assert (throughput.wide, latency.wide) == (True, True)
    assert [len(trace["x"]) for trace in latency.data] == [3]


def test_a_long_name_is_cut(tmp_path: Path) -> None:
    throughput, _ = drawn(named(tmp_path / "r", NAMES))
    assert [len(name) for name in throughput.layout["yaxis"]["categoryarray"]][2] == NAME_LETTERS_MAX


def test_repeats_are_a_row_with_their_spread(tmp_path: Path) -> None:
    throughput, _ = drawn(named(tmp_path / "r", NAMES, repeats=2))
    ours = throughput.data[-1]
    assert ours["x"] == [415, 425, 435]
    assert ours["error_x"]["array"] == [15, 15, 15]


def test_cells_without_names_have_lines(tmp_path: Path) -> None:
    result = named(tmp_path / "r", [])
    assert not has_names(result)
    throughput, *_ = drawn(result)
    assert throughput.data[0]["mode"] == "lines+markers"


def test_the_table_begins_with_the_name(tmp_path: Path) -> None:
    page = render(named(tmp_path / "r", ["<b>a</b>", "b", "c"]))
    assert '<td class="swept given-name">&lt;b&gt;a&lt;/b&gt;</td>' in page
    assert page.index('<th scope="col">name</th>') < page.index('title="a.b"')
