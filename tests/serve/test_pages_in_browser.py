"""The pages in Chromium: no script fails, hostile names do nothing, a run under way is drawn as it grows."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

import pytest
import synthetic
from drawn import open_page
from playwright.sync_api import Page, expect
from servelab import Lab, started_run, wait_for, write_event, write_seconds

from flatwater.results import Result, open_result
from flatwater.serve import hub as hub_module
from flatwater.serve.folders import key_of
from flatwater.serve.launch.launcher import Launcher

sys.path.append(str(Path(__file__).parents[1] / "cli"))
sys.path.append(str(Path(__file__).parents[1] / "analysis" / "trend"))
from each_result import HOSTILE
from repeated import make_run

pytestmark = pytest.mark.slow


def browse(page: Page, lab: Lab, path: str) -> str:
    """The page after its scripts have run and all that it fetches has come; none of them failed."""
    open_page(page, lab, path)
    page.wait_for_load_state("networkidle")
    return whole(page)


def whole(page: Page) -> str:
    """What a page is in the end. What its policy refused is among the `problems`."""
    assert page.locator("body").get_attribute("data-state") == "ready"
    assert page.locator("body").get_attribute("data-errors") is None
    return page.content()


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    result = started_run(folder / '"><img src=x onerror=alert(2)>', title=HOSTILE)
    write_seconds(result, 0, 40)
    write_event(result, 20.0, HOSTILE)
    synthetic.single(folder / "one", 60)
    return folder


def test_the_list(hostile: Path, page: Page) -> None:
    with Lab([hostile]) as lab:
        dom = browse(page, lab, "/")
        expect(page.get_by_role("row")).to_have_count(3)
        expect(page.get_by_role("button", name="Compare the chosen")).to_be_disabled()
    assert "<img src=x" not in dom and "&lt;img src=x" in dom


def live(result: Result) -> str:
    return f"/run/{key_of(result.path)}/live"


def go_on(page: Page, result: Result, more: int = 0) -> None:
    """A run that a page looks at writes some seconds more, and then it ends."""
    for _ in range(more):
        write_seconds(result, result.cells[0].journal.read_text().count("\n"), 1)
        time.sleep(hub_module.POLL_S)
    result.write_manifest("complete")
    expect(page.locator("#told")).to_have_attribute("data-state", "ended")
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_a_run_under_way(hostile: Path, page: Page, scheme: Literal["dark", "light"]) -> None:
    (path,) = (one for one in hostile.iterdir() if one.name != "one")
    page.emulate_media(color_scheme=scheme)
    with Lab([hostile]) as lab:
        open_page(page, lab, live(open_result(path)))
        go_on(page, open_result(path))
        dom = whole(page)
    drawn = page.locator(".plot.js-plotly-plot").evaluate_all("plots => plots.map((plot) => plot.id)")
    assert drawn == ["chart-database", "chart-latency"]
    assert page.locator("body").get_attribute("data-points") == "40" and "checkpoint age" in dom
    assert "<img src=x" not in dom and "\u202e" not in dom


def test_the_charts_grow_until_the_run_ends(tmp_path: Path, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "POLL_S", 0.1)
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 10)
    with Lab([tmp_path / "results"]) as lab:
        open_page(page, lab, live(result))
        go_on(page, result, more=10)
        expect(page.locator("body")).to_have_attribute("data-points", "20")
        assert "The run is over: complete." in whole(page)


def test_the_trend_and_the_cost_of_runs(tmp_path: Path, page: Page) -> None:
    for number in range(30):
        make_run(tmp_path / "results", number, 1000.0 + number % 3 - 200 * (number > 14))
    with Lab([tmp_path / "results"]) as lab:
        lab.ask("/")
        assert 'href="/trend?name=nightly"' in browse(page, lab, "/trend")
        browse(page, lab, "/trend?name=nightly")
        assert page.locator("[id^=chart-trend-].plot.js-plotly-plot").count() == 1
        # Without a price there is no chart, and no script.
        open_page(page, lab, f"/cost?run={key_of(tmp_path / 'results' / 'run-000')}")
        expect(page.get_by_role("heading", name="What it costs")).to_be_visible()
        assert page.locator("script").count() == 0


#: Zooms the first chart to a hundred seconds in its middle.
ZOOM = """() => {
  const plot = document.querySelector(".plot");
  const [from, to] = plot.layout.xaxis.range.map(Number);
  const second = (to - from) / 20000;
  Plotly.relayout(plot, { "xaxis.range": [(from + to) / 2 - 50 * second, (from + to) / 2 + 50 * second] });
}"""


def test_zooming_fetches_every_second(tmp_path: Path, page: Page) -> None:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 20_000)
    body = page.locator("body")
    with Lab([tmp_path / "results"]) as lab:
        open_page(page, lab, live(result))
        page.evaluate(ZOOM)
        expect(body).to_have_attribute("data-closer", re.compile(r"^10[0-4]$"))
        go_on(page, result, more=6)
        whole(page)
    assert int(body.get_attribute("data-points") or "") < 10_000
    assert 100 <= int(body.get_attribute("data-closer") or "") <= 104


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Lab]:
    (tmp_path / "results").mkdir()
    with Lab([tmp_path / "results"], "a-token-of-this-test", Launcher(tmp_path / "results")) as lab:
        yield lab


@pytest.mark.parametrize("path", ["/experiments", "/experiments/tpcc-quick"])
def test_the_experiments(starting: Lab, page: Page, path: str) -> None:
    dom = browse(page, starting, path)
    assert "a program of MariaDB, MySQL or Percona Server" in dom and "a-token-of-this-test" not in dom


#: A form that starts a modelled run, which is computed in a second.
WISH = "workload.duration_s=10\nsweep.storage.fill=[0.5]"
PATH = "/experiments/fill-level-tachion-400"
#: A page of another server of this machine, which a browser with our cookie opens: it sends the same form.
ELSEWHERE = """<!doctype html><link rel="icon" href="data:,">
<body><form method="post" action="http://127.0.0.1:{port}{path}/start">
<textarea name="lines">{wish}</textarea></form><script>document.forms[0].submit()</script></body>"""


def test_a_browser_starts_a_run_from_our_page(starting: Lab, page: Page) -> None:
    open_page(page, starting, PATH)
    page.get_by_label("What is to be different").fill(WISH)
    page.get_by_role("button", name="Start").click()
    assert starting.launcher is not None
    wait_for(starting.launcher.started)
    (child,) = starting.launcher.started()
    child.wait()
    assert child.code == 0, child.said()


def test_no_page_of_another_server_of_this_machine_starts_one(starting: Lab, page: Page, problems: list[str]) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(ELSEWHERE.format(port=starting.port, path=PATH, wish=WISH).encode())

        def log_message(self, *args: object) -> None:
            pass

    open_page(page, starting, PATH)
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        page.goto(f"http://127.0.0.1:{other.server_address[1]}/", wait_until="commit")
        expect(page.get_by_text("A page of another origin asked for this.")).to_be_visible()
        other.shutdown()
        thread.join()
    assert starting.launcher is not None and not starting.launcher.started()
    problems.clear()  # the browser tells of the refusal itself
