"""The page as text: what is in it, and that nothing from outside gets out of its place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic

from flatwater.errors import UserError
from flatwater.report.html import embedded
from flatwater.report.page import flattened, render, tiles, write_page
from flatwater.results import Event, Phase, Published, Result, open_result

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}<!--%{x}"


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and self.scripts:
            self.scripts[-1] += data


def data_of(html: str, name: str) -> Any:
    match = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def test_one_file_that_needs_nothing(single: Result) -> None:
    html = render(single)
    elements = Elements(html)
    assert not [tag for tag in elements.tags if {"src", "href"} & tag[1].keys() and tag[0] != "a"]
    assert html.count("plotly.js (basic - minified) v") == 1
    [policy] = [attrs["content"] for tag, attrs in elements.tags if attrs.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy and "connect-src" not in policy
    assert policy.count("'sha256-") == 3


def test_the_data_is_there_once(single: Result) -> None:
    html = render(single)
    cell = data_of(html, "cell-0")
    assert len(cell["lines"]["workload.throughput"]["v"]) == 1200
    keys = [figure["key"] for figure in cell["figures"]]
    assert keys[:6] == ["throughput", "latency", "kinds", "device", "flash", "cpu"]
    used = {trace["series"] for figure in cell["figures"] for trace in figure["data"] if "series" in trace}
    assert used == cell["lines"].keys()


def test_what_the_page_says(single: Result, sweep: Result) -> None:
    text = render(single)
    for words in ("with dips: every 225 s", "resumed after a gap of 93 s", "Example Xeon", "mode = &#34;rndrw&#34;"):
        assert words in text
    text = render(sweep)
    for words in ('<a href="#cell-9">', "990 MiB/s", "-1.9 %", "not steady", "986.1 ± 11.8", "storage.fill"):
        assert words in text
    assert text.count("<option") == 10


@pytest.mark.parametrize(("since_s", "told"), [(0.000116, "from the start"), (0.49, "from the start"), (20.0, "20 s")])
def test_steady_from_the_start(since_s: float, told: str) -> None:
    phases = [Phase(name="measure", start_s=0.0, end_s=60.0)]
    assert (
        dict(tiles(synthetic.summary(0, {}, 300.0, 60, steady_since_s=since_s, phases=phases)))["steady since"] == told
    )


def test_steady_after_an_approach() -> None:
    phases = [Phase(name="approach", start_s=0.0, end_s=600.0), Phase(name="measure", start_s=600.0, end_s=900.0)]
    assert (
        dict(tiles(synthetic.summary(0, {}, 300.0, 300, steady_since_s=600.0, phases=phases)))["steady since"]
        == "10 min"
    )


def test_repeats_of_a_setting_stand_together(tmp_path: Path) -> None:
    plans: list[tuple[dict[str, Any], int]] = [({"a.b": value}, repeat) for repeat in (0, 1) for value in (1, 2)]
    html = render(synthetic.create(tmp_path / "r", plans))
    rows = re.findall(r'<tr( class="again")?>\n<td>(\d)</td>', html)
    assert [(cell, bool(again)) for again, cell in rows] == [("0", False), ("2", True), ("1", False), ("3", True)]


def test_names_from_outside_stay_text(tmp_path: Path) -> None:
    quoted = json.dumps(HOSTILE)
    experiment = (
        f"name = {quoted}\ntitle = {quoted}\nabout = {quoted}\nsource = {quoted}\n"
        f"[workload]\nunit = {quoted}\n[storage]\nkind = {quoted}\n"
    )
    swept = {f"storage.{HOSTILE}": HOSTILE, "workload.threads": 1}
    other = {f"storage.{HOSTILE}": "plain", "workload.threads": 2}
    result = synthetic.create(tmp_path / "r", [(swept, 0), (other, 0)], title=HOSTILE, experiment=experiment)
    (result.path / "machine.json").write_text(json.dumps({HOSTILE: HOSTILE, "list": [{HOSTILE: 1}]}))
    cells = [
        synthetic.summary(
            index,
            values,
            300.0,
            60,
            unit=HOSTILE,
            verdict_text=HOSTILE,
            warnings=[HOSTILE],
            layers={"workload": HOSTILE, "storage": HOSTILE},
            error=HOSTILE,
            status="failed",
            events=[Event(time_s=3, kind="seam", text=HOSTILE), Event(time_s=4, kind=HOSTILE, text=HOSTILE)],
            published=Published(value=1, unit=HOSTILE, metric=HOSTILE, source=HOSTILE),
            histograms={HOSTILE: HOSTILE, "all": HOSTILE},
        )
        for index, values in enumerate((swept, other))
    ]
    found = synthetic.columns(synthetic.np.random.default_rng(1), 60, 300, [], [])
    found[f"storage.{HOSTILE}"] = found["workload.throughput"]
    found[f"{HOSTILE}.x"] = found["workload.throughput"]
    synthetic.write_rows(result, iter([(0, found), (1, found)]))
    synthetic.write_summaries(result, cells)
    html = render(open_result(result.path))
    elements = Elements(html)
    assert [tag for tag, _ in elements.tags].count("script") == 6
    assert "img" not in {tag for tag, _ in elements.tags}
    # Nothing but plotly itself may hold this, and it holds no such text.
    assert "<script>alert" not in html
    assert "alert(1)</script>" not in html
    for script in elements.scripts[1:3]:
        assert "<" not in script
    # Titles are set as text and series are only looked up; the rest is plotly's, which understands some markup.
    for figure in [*data_of(html, "cell-0")["figures"], *data_of(html, "report-data")["sweep"]]:
        traces = [{name: value for name, value in trace.items() if name != "series"} for trace in figure["data"]]
        assert "<img" not in json.dumps([traces, figure["layout"]])
        assert "%{x}" not in json.dumps([trace.get("hovertemplate", "").split("<extra>")[0] for trace in traces])


def test_embedded_json_ends_nothing() -> None:
    assert embedded({"</script>": "<!--&"}) == '{"\\u003c/script\\u003e":"\\u003c!--\\u0026"}'


def test_a_killed_run_shows_what_it_has(unfinished_path: Path) -> None:
    html = render(open_result(unfinished_path))
    assert "did not finish" in html
    assert "not run" in html
    cell = data_of(html, "cell-0")
    assert cell["lines"]["workload.throughput"]["v"][50] is None
    assert '"cell-1"' not in html


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_cell_with_next_to_nothing(tmp_path: Path, count: int) -> None:
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    found = synthetic.columns(synthetic.np.random.default_rng(1), count, 300, [], []) if count else {}
    synthetic.write_rows(result, iter([(0, found)]))
    fields = {"mean": None, "mean_ci95": None, "stddev": None, "median": None, "flatness": None, "verdict": None}
    bare = synthetic.summary(0, {}, 0.0, max(count, 1), **fields, latency_us=None, verdict_text="", phases=[])
    synthetic.write_summaries(result, [bare])
    html = render(open_result(tmp_path / "r"))
    assert "no mean, not judged." in html
    assert bool(data_of(html, "cell-0")["figures"]) is (count > 0)


def test_a_cell_of_nans(tmp_path: Path) -> None:
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    found = synthetic.columns(synthetic.np.random.default_rng(1), 50, 300, [], [])
    found = {name: value * synthetic.np.nan for name, value in found.items()}
    synthetic.write_rows(result, iter([(0, found)]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, float("nan"), 50)])
    html = render(open_result(tmp_path / "r"))
    assert data_of(html, "cell-0") == {"factor": 1.0, "thinned": False, "times": [], "lines": {}, "figures": []}


def test_an_empty_folder_of_no_cells(tmp_path: Path) -> None:
    synthetic.create(tmp_path / "r", [])
    assert "No cell of this run finished" in render(open_result(tmp_path / "r"))


def test_the_machine_is_flattened_within_bounds() -> None:
    assert flattened({"a": {"b": 1, "size_bytes": 2048}, "c": [1, 2], "d": [{"e": None}]}) == [
        ("a.b", "1"),
        ("a.size_bytes", "2 KiB"),
        ("c", "1, 2"),
        ("d[0].e", "—"),
    ]
    assert len(flattened({str(i): i for i in range(10_000)})) == 301


def test_writes_where_it_is_told(single: Result, tmp_path: Path) -> None:
    out = write_page(single, tmp_path / "page.html")
    assert out.read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(UserError, match=r"cannot write the report: No such file .*hint: choose another place"):
        write_page(single, tmp_path / "no" / "page.html")


@pytest.mark.slow
def test_a_million_seconds_open_in_a_gibibyte(tmp_path: Path) -> None:
    path = synthetic.single(tmp_path / "result", 1_000_000, histograms=False)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from flatwater.report.page import write_page\n"
        "from flatwater.results import open_result\n"
        "write_page(open_result(sys.argv[1]), Path(sys.argv[1]) / 'report.html')\n"
        # Not `ru_maxrss`: the kernel counts there the memory of the tests, which started this program.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    ran = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    # How long it takes is for `make bench` to say.
    assert int(ran.stdout) < 2**20
    assert (path / "report.html").stat().st_size < 8e6


@pytest.mark.slow
def test_fifty_hours_of_a_sweep_stay_a_small_page(tmp_path: Path) -> None:
    path = synthetic.sweep(tmp_path / "result", threads=tuple(range(1, 11)), count=3600)
    html = render(open_result(path))
    plotly = max(map(len, Elements(html).scripts))
    assert len(html) - plotly < 8e6


def test_a_model_is_called_one_with_its_file(card_path: Path) -> None:
    html = render(open_result(card_path))
    device = "Example 400 GB SLC card (devices/example-400-slc.toml)"
    assert f"Computed, not measured: workload and storage are models, of {device}." in html
    charts = [figure["title"] for figure in data_of(html, "cell-0")["figures"]]
    assert {"Flash (modelled)", "Wear (modelled)"} <= {*charts}
    assert "client CPU" not in html


def test_many_published_rows_stand_beside_ours(tmp_path: Path) -> None:
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    rows = [
        Published(value=100 + n, unit="MiB/s", ours=99, error=99 / (100 + n) - 1, source=f"row {n}") for n in range(40)
    ]
    cell = synthetic.summary(0, {}, 99.0, 60, published=rows[0], published_others=rows[1:])
    synthetic.write_rows(result, iter([(0, {"workload.throughput": np.full(60, 99.0)})]))
    synthetic.write_summaries(result, [cell])
    html = render(open_result(tmp_path / "r"))
    assert all(f"row {n}<" in html for n in range(40))
    assert html.count("<td>mean</td>") == 40, "a row each"


def test_contents_lead_to_parts_that_are_there(single: Result, sweep: Result, database: Result) -> None:
    for result in (single, sweep, database):
        page = render(result)
        anchors = re.findall(r'<li><a href="#([a-z-]+)">', page)
        assert {"over-time", "machine", "experiment"} <= {*anchors}
        assert [page.count(f'id="{anchor}"') for anchor in anchors] == [1] * len(anchors)


def test_heads_of_tables_have_a_scope(database: Result) -> None:
    heads = re.findall(r"<th[ >][^>]*>?", render(database))
    assert heads
    assert all("scope=" in head for head in heads)
