"""The page in headless Chromium: it draws, no script fails, zoom is linked, and hostile names do nothing."""

from __future__ import annotations

import html as entities
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import synthetic

from flatwater.errors import FlatwaterError
from flatwater.report.figure import DARK, INK, PAPER
from flatwater.report.images import find_browser
from flatwater.report.page import render
from flatwater.results import Result, open_result

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
    # Of the browser's clock: it runs as fast as the machine can.
    "--virtual-time-budget=60000",
    "--dump-dom",
]


#: What a browser says of a reader who prefers dark pages.
DARK_PAGE = "--blink-settings=preferredColorScheme=0"


@dataclass
class Opened:
    """A page after its scripts have run."""

    dom: str
    log: str

    @property
    def body(self) -> dict[str, str]:
        """The data attributes of <body>."""
        tag = re.search(r"<body[^>]*>", self.dom)
        assert tag is not None, self.log
        return {name: entities.unescape(text) for name, text in re.findall(r'data-([\w-]+)="([^"]*)"', tag[0])}

    def plots(self) -> list[str]:
        """The charts that plotly drew."""
        return re.findall(r'id="chart-([\w-]+)" class="plot js-plotly-plot"', self.dom)


def run_browser(page: Path, profile: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    try:
        browser = find_browser()
    except FlatwaterError:
        if "CI" in os.environ:
            raise
        pytest.skip("no Chromium or Chrome on this machine")
    command = [browser, *FLAGS, *flags, f"--user-data-dir={profile}", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def browse(page: Path, profile: Path, *flags: str) -> Opened:
    ran = run_browser(page, profile, *flags)
    console = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    opened = Opened(ran.stdout, "\n".join(console))
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "errors" not in opened.body, opened.body
    assert not console
    assert opened.body["state"] == "ready"
    assert opened.dom.count('class="main-svg"') >= 2 * len(opened.plots())
    return opened


def written(result: Result, path: Path, script: str = "") -> Path:
    """The page, with a script of the test at its end; the policy would (rightly) refuse it, so it is taken out."""
    text = render(result)
    if script:
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        text = text.replace("</body>", f"<script>{script}</script></body>")
    path.write_text(text, encoding="utf-8")
    return path


READY = """
const ready = async (then) => {
  while (document.body.dataset.state !== "ready") await new Promise((done) => setTimeout(done, 20));
  document.body.dataset.found = JSON.stringify(await then());
};
const settle = () => new Promise((done) => setTimeout(done, 2000));
"""


def test_draws_every_chart_of_a_cell(single: Result, tmp_path: Path) -> None:
    opened = browse(written(single, tmp_path / "page.html"), tmp_path / "profile")
    expected = ["throughput", "latency", "kinds", "device", "flash", "cpu", "memory", "others", "others-2", "others-3"]
    assert opened.plots()[:10] == expected
    assert "What happened when" in opened.dom


def test_draws_every_chart_of_a_database(crashed: Result, tmp_path: Path) -> None:
    opened = browse(written(crashed, tmp_path / "page.html"), tmp_path / "profile")
    assert opened.plots() == [
        *("database", "instances", "latency", "transactions", "errors", "flushing", "log", "locks"),
        *("device", "cpu", "memory", "histogram"),
    ]
    for title in ("Response times", "Consistency", "Servers", "Recoveries"):
        assert f"<h3>{title}</h3>" in opened.dom


def test_says_what_differs_between_a_few_settings(database: Result, tmp_path: Path) -> None:
    opened = browse(written(database, tmp_path / "page.html"), tmp_path / "profile")
    assert opened.plots()[:3] == ["sweep-throughput", "sweep-p95", "database"]
    assert "of its limit, mean / max" in opened.dom
    assert re.search(r"<li>.*1 GiB.*24 MiB \(95 % CI", opened.dom)


def test_zooming_one_chart_zooms_all(single: Result, tmp_path: Path) -> None:
    script = (
        READY
        + """
    ready(async () => {
      const range = (key) => document.getElementById("chart-" + key).layout.xaxis.range.map(Number);
      const all = () => ["throughput", "latency", "kinds", "device", "cpu", "memory", "others"].map(range);
      const found = { home: all() };
      await Plotly.relayout("chart-latency", { "xaxis.range[0]": 5, "xaxis.range[1]": 7.5 });
      await settle();
      found.zoomed = all();
      await Plotly.relayout("chart-device", { "xaxis.range": [6, 6.5] });
      await settle();
      found.again = all();
      await Plotly.relayout("chart-cpu", { "xaxis.autorange": true });
      await settle();
      found.reset = all();
      found.lines = document.getElementById("chart-throughput").data.find((one) => one.name === "throughput").y.length;
      return found;
    });
    """
    )
    opened = browse(written(single, tmp_path / "page.html", script), tmp_path / "profile")
    found = json.loads(opened.body["found"])
    assert found["home"] == [[0, 20]] * 7
    assert found["zoomed"] == [[5, 7.5]] * 7
    assert found["again"] == [[6, 6.5]] * 7
    # The chart itself fits its data; those that follow go back to the whole run.
    assert found["reset"][:4] == [[0, 20]] * 4
    assert found["lines"] == 1200


def test_a_sweep_draws_the_chosen_cell_only(sweep: Result, tmp_path: Path) -> None:
    script = (
        READY
        + """
    ready(async () => {
      const first = document.getElementById("chart-throughput").data.at(-1).y[0];
      const choice = document.getElementById("cell-choice");
      choice.value = "7";
      choice.dispatchEvent(new Event("change"));
      await settle();
      const shown = [...document.querySelectorAll("section.cell")].filter((one) => !one.hidden);
      return {
        first,
        second: document.getElementById("chart-throughput").data.at(-1).y[0],
        shown: [...new Set(shown.map((one) => one.dataset.cell))],
        hash: location.hash,
        plots: document.querySelectorAll(".cell-charts .plot").length,
      };
    });
    """
    )
    opened = browse(written(sweep, tmp_path / "page.html", script), tmp_path / "profile")
    assert opened.plots()[:3] == ["sweep-throughput", "sweep-p95", "throughput"]
    found = json.loads(opened.body["found"])
    assert found["first"] != found["second"]
    assert (found["shown"], found["hash"], found["plots"]) == (["7"], "#cell-7", 6)


def test_a_dark_page_has_dark_charts(single: Result, tmp_path: Path) -> None:
    script = (
        READY
        + """
    ready(async () => {
      const plot = document.getElementById("chart-throughput");
      return {
        body: getComputedStyle(document.body).backgroundColor,
        paper: plot._fullLayout.paper_bgcolor,
        ink: plot._fullLayout.font.color,
        line: plot.data.find((one) => one.name === "throughput").line.color,
      };
    });
    """
    )
    page = written(single, tmp_path / "page.html", script)
    light = json.loads(browse(page, tmp_path / "light").body["found"])
    dark = json.loads(browse(page, tmp_path / "dark", DARK_PAGE).body["found"])
    assert (light["paper"], light["ink"]) == (PAPER, INK)
    assert (dark["paper"], dark["ink"]) == (DARK[PAPER], DARK[INK])
    assert dark["line"] == DARK[light["line"]]
    assert dark["body"] == f"rgb({', '.join(str(int(DARK[PAPER][at : at + 2], 16)) for at in (1, 3, 5))})"


def test_every_cell_is_printed_on_white(sweep: Result, tmp_path: Path) -> None:
    script = (
        READY
        + """
    ready(async () => {
      const look = () => ({
        shown: [...document.querySelectorAll("section.cell")].filter((one) => !one.hidden).length,
        drawn: document.querySelectorAll(".cell-charts .main-svg").length > 0
          ? [...document.querySelectorAll("section.cell")].filter((one) => one.querySelector(".main-svg")).length : 0,
        paper: document.querySelector(".plot")._fullLayout.paper_bgcolor,
      });
      const found = { before: look() };
      window.dispatchEvent(new Event("beforeprint"));
      found.printed = look();
      await settle();
      window.dispatchEvent(new Event("afterprint"));
      await settle();
      found.after = look();
      return found;
    });
    """
    )
    page = written(sweep, tmp_path / "page.html", script)
    found = json.loads(browse(page, tmp_path / "profile", DARK_PAGE).body["found"])
    cells = len(sweep.cells)
    assert found["before"] == {"shown": 1, "drawn": 1, "paper": DARK[PAPER]}
    # A browser prints as soon as the handler of this event returns.
    assert found["printed"] == {"shown": cells, "drawn": cells, "paper": PAPER}
    assert found["after"] == found["before"]


def test_the_pointer_shows_one_moment_in_all_charts(single: Result, tmp_path: Path) -> None:
    script = (
        READY
        + """
    ready(async () => {
      const plot = document.getElementById("chart-throughput");
      const drag = plot.querySelector(".nsewdrag");
      const place = drag.getBoundingClientRect();
      const at = { clientX: place.left + place.width / 4, clientY: place.top + place.height / 2, bubbles: true };
      drag.dispatchEvent(new MouseEvent("mousemove", at));
      await settle();
      const lines = [...document.querySelectorAll(".crosshair")];
      const found = {
        lines: lines.length,
        hidden: lines.filter((one) => one.hidden).length,
        lefts: [...new Set(lines.map((one) => Math.round(parseFloat(one.style.left))))],
        expected: Math.round(at.clientX - plot.getBoundingClientRect().left),
        told: document.querySelectorAll("#chart-latency .hoverlayer .hovertext").length,
      };
      plot.dispatchEvent(new MouseEvent("mouseleave"));
      found.left = lines.filter((one) => !one.hidden).length;
      return found;
    });
    """
    )
    page = written(single, tmp_path / "page.html", script)
    found = json.loads(browse(page, tmp_path / "profile", "--window-size=1440,3000").body["found"])
    assert found["lines"] >= 7
    assert (found["hidden"], found["left"]) == (0, 0)
    assert found["lefts"] == [found["expected"]]
    assert found["told"] > 0, "the other charts show no values at that moment"


def test_charts_are_zoomed_and_moved_by_keys(single: Result, tmp_path: Path) -> None:
    script = (
        READY
        + """
    ready(async () => {
      const plot = document.getElementById("chart-throughput");
      const range = () => plot.layout.xaxis.range.map((one) => Math.round(Number(one) * 100) / 100);
      const press = async (key) => {
        plot.dispatchEvent(new KeyboardEvent("keydown", { key }));
        await settle();
        return range();
      };
      const found = { focusable: plot.tabIndex, zoomed: await press("+"), moved: await press("ArrowRight") };
      for (let i = 0; i < 9; i++) await press("ArrowRight");
      return { ...found, end: range(), home: await press("Home"), other: await press("x") };
    });
    """
    )
    page = written(single, tmp_path / "page.html", script)
    found = json.loads(browse(page, tmp_path / "profile").body["found"])
    assert found["focusable"] == 0
    assert found["zoomed"] == [3, 17]
    assert found["moved"] == [5.8, 19.8]
    assert found["end"] == [6, 20]
    assert found["home"] == found["other"] == [0, 20]


def test_a_killed_run_opens(unfinished_path: Path, tmp_path: Path) -> None:
    opened = browse(written(open_result(unfinished_path), tmp_path / "page.html"), tmp_path / "profile")
    assert "throughput" in opened.plots()


def test_nothing_to_draw_opens(tmp_path: Path) -> None:
    synthetic.create(tmp_path / "r", [])
    opened = browse(written(open_result(tmp_path / "r"), tmp_path / "page.html"), tmp_path / "profile")
    assert opened.plots() == []


def test_hostile_names_do_nothing(tmp_path: Path) -> None:
    attack = "</script><img src=x onerror=document.body.dataset.hacked=1><a href='javascript:alert(1)'>"
    swept = [{f"storage.{attack}": attack}, {f"storage.{attack}": "b"}]
    plans: list[tuple[dict[str, object], int]] = [(one, 0) for one in swept]
    result = synthetic.create(tmp_path / "r", plans, title=attack)
    found = synthetic.columns(synthetic.np.random.default_rng(1), 60, 300, [], [])
    found[f"storage.{attack}"] = found[f"{attack}.x"] = found["workload.throughput"]
    synthetic.write_rows(result, iter([(0, found), (1, found)]))
    cells = [synthetic.summary(i, one, 300.0, 60, unit=attack, verdict_text=attack) for i, one in enumerate(swept)]
    synthetic.write_summaries(result, cells)
    opened = browse(written(open_result(tmp_path / "r"), tmp_path / "page.html"), tmp_path / "profile")
    assert "hacked" not in opened.body
    assert "<img" not in opened.dom.split("<main>")[1].split("</main>")[0]
    assert not re.search(r"<a [^>]*javascript:", opened.dom.split("<main>")[1].split("</main>")[0])
    assert "sweep-throughput" in opened.plots()


def test_a_script_that_is_not_ours_is_refused(single: Result, tmp_path: Path) -> None:
    page = written(single, tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", "<script>document.body.dataset.hacked = 1</script></body>"))
    ran = run_browser(page, tmp_path / "profile")
    opened = Opened(ran.stdout, "")
    assert "hacked" not in opened.body
    # And the reader is told.
    assert "blocked: script-src" in opened.body["errors"]


def test_draws_what_a_model_tells(array_path: Path, card_path: Path, tmp_path: Path) -> None:
    opened = browse(written(open_result(card_path), tmp_path / "card.html"), tmp_path / "profile")
    assert opened.plots() == ["throughput", "latency", "flash", "wear"]
    opened = browse(written(open_result(array_path), tmp_path / "array.html"), tmp_path / "profile")
    assert opened.plots() == ["throughput", "latency", "array", "modelled"]
    assert "member 2 failed" in opened.dom
    assert "Computed, not measured" in opened.dom
