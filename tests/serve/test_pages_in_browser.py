"""The pages in headless Chromium: no script fails, hostile names do nothing, a run under way is drawn as it grows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import synthetic
from servelab import Lab, started_run, wait_for, write_event, write_seconds

from flatwater.errors import FlatwaterError
from flatwater.report.images import find_browser
from flatwater.results import Result, open_result
from flatwater.serve import hub as hub_module
from flatwater.serve.files import STATIC
from flatwater.serve.folders import key_of
from flatwater.serve.launch.launcher import Launcher

sys.path.append(str(Path(__file__).parents[1] / "cli"))
sys.path.append(str(Path(__file__).parents[1] / "analysis" / "trend"))
from each_result import HOSTILE
from repeated import make_run

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
    # Of the browser's clock, which stands still while it waits for the server: the page is told once the run is over.
    "--virtual-time-budget=20000",
    "--dump-dom",
]


def visit(lab: Lab, path: str, profile: Path, *flags: str) -> str:
    """What the browser shows in the end."""
    return _ran(lab, path, profile, *flags).stdout


def _ran(lab: Lab, path: str, profile: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    try:
        browser = find_browser()
    except FlatwaterError:
        if "CI" in os.environ:
            raise
        pytest.skip("no Chromium or Chrome on this machine")
    token = f"?token={lab.token}" if lab.token is not None else ""
    command = [browser, *FLAGS, *flags, f"--user-data-dir={profile}", f"http://127.0.0.1:{lab.port}{path}{token}"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran


def browse(lab: Lab, path: str, profile: Path, *flags: str) -> str:
    """The page after its scripts have run; nothing failed and nothing was refused by its policy."""
    ran = _ran(lab, path, profile, *flags)
    assert not [line for line in ran.stderr.splitlines() if "CONSOLE" in line], ran.stderr[-2000:]
    body = re.search(r"<body[^>]*>", ran.stdout)
    assert body is not None and 'data-state="ready"' in body[0] and "data-errors" not in body[0], ran.stderr[-2000:]
    return ran.stdout


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    result = started_run(folder / '"><img src=x onerror=alert(2)>', title=HOSTILE)
    write_seconds(result, 0, 40)
    write_event(result, 20.0, HOSTILE)
    synthetic.single(folder / "one", 60)
    return folder


@pytest.mark.slow
def test_the_list(hostile: Path, tmp_path: Path) -> None:
    with Lab([hostile]) as lab:
        dom = browse(lab, "/", tmp_path / "profile")
    assert dom.count("<tr>") == 3 and 'id="compare" disabled=""' in dom
    assert "<img src=x" not in dom and "&lt;img src=x" in dom


def browse_until_the_end(lab: Lab, result: Result, profile: Path, *flags: str, more: int = 0) -> str:
    """The page of a run under way, which writes some seconds more once it is watched, and then ends."""

    def go_on() -> None:
        wait_for(lambda: lab.hub.viewers)
        for _ in range(more):
            write_seconds(result, result.cells[0].journal.read_text().count("\n"), 1)
            time.sleep(hub_module.POLL_S)
        result.write_manifest("complete")

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        return browse(lab, f"/run/{key_of(result.path)}/live", profile, *flags)
    finally:
        writer.join()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [0, 1])
def test_a_run_under_way(hostile: Path, tmp_path: Path, scheme: int) -> None:
    (path,) = (one for one in hostile.iterdir() if one.name != "one")
    with Lab([hostile]) as lab:
        flag = f"--blink-settings=preferredColorScheme={scheme}"
        dom = browse_until_the_end(lab, open_result(path), tmp_path / "profile", flag)
    assert re.findall(r'id="chart-([\w-]+)" class="plot js-plotly-plot"', dom) == ["database", "latency"]
    assert 'data-points="40"' in dom and "checkpoint age" in dom
    assert "<img src=x" not in dom and "\u202e" not in dom


@pytest.mark.slow
def test_the_charts_grow_until_the_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "POLL_S", 0.1)
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 10)
    with Lab([tmp_path / "results"]) as lab:
        dom = browse_until_the_end(lab, result, tmp_path / "profile", more=10)
    assert 'data-points="20"' in dom
    assert "The run is over: complete." in dom


@pytest.mark.slow
def test_the_trend_and_the_cost_of_runs(tmp_path: Path) -> None:
    for number in range(30):
        make_run(tmp_path / "results", number, 1000.0 + number % 3 - 200 * (number > 14))
    with Lab([tmp_path / "results"]) as lab:
        lab.ask("/")
        dom = browse(lab, "/trend", tmp_path / "profile")
        assert 'href="/trend?name=nightly"' in dom
        dom = browse(lab, "/trend?name=nightly", tmp_path / "profile")
        assert len(re.findall(r'id="chart-trend-[\d-]+" class="plot js-plotly-plot"', dom)) == 1
        # Without a price there is no chart, and no script.
        dom = visit(lab, f"/cost?run={key_of(tmp_path / 'results' / 'run-000')}", tmp_path / "profile")
        assert "What it costs" in dom and "<script" not in dom


#: In place of a hand: once it is drawn, it zooms one chart to a hundred seconds.
ZOOMED = """
const zooming = setInterval(() => {
  const plot = document.querySelector(".plot.js-plotly-plot");
  if (document.body.dataset.state !== "ready" || !plot) return;
  clearInterval(zooming);
  const home = plot.layout.xaxis.range.map(Number);
  const middle = (home[0] + home[1]) / 2;
  const second = (home[1] - home[0]) / 20000;
  Plotly.relayout(plot, { "xaxis.range": [middle - 50 * second, middle + 50 * second] });
}, 50);"""


@pytest.mark.slow
def test_zooming_fetches_every_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = STATIC["live.js"]()
    monkeypatch.setitem(STATIC, "live.js", lambda: own + ZOOMED)
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 20_000)
    with Lab([tmp_path / "results"]) as lab:
        dom = browse_until_the_end(lab, result, tmp_path / "profile", more=6)
    points = re.search(r'data-points="(\d+)"', dom)
    detail = re.search(r'data-closer="(\d+)"', dom)
    assert points is not None and int(points[1]) < 10_000
    assert detail is not None and 100 <= int(detail[1]) <= 104


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Lab]:
    (tmp_path / "results").mkdir()
    with Lab([tmp_path / "results"], "a-token-of-this-test", Launcher(tmp_path / "results")) as lab:
        yield lab


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/experiments", "/experiments/tpcc-quick"])
def test_the_experiments(starting: Lab, tmp_path: Path, path: str) -> None:
    dom = browse(starting, path, tmp_path / "profile")
    assert "a program of MariaDB, MySQL or Percona Server" in dom and "a-token-of-this-test" not in dom


#: A form that starts a modelled run, which is computed in a second.
WISH = "workload.duration_s=10\nsweep.storage.fill=[0.5]"
PATH = "/experiments/fill-level-tachion-400"
#: In place of a hand: it types into the form of our own page, and presses Start.
PRESSED = f"""
if (document.getElementById("wish")) {{
  document.getElementById("lines").value = {json.dumps(WISH)};
  const start = document.querySelector("button[formaction]");
  start.form.requestSubmit(start);
}}"""
#: A page of another server of this machine, which a browser with our cookie opens: it sends the same form.
ELSEWHERE = """<!doctype html><body><form method="post" action="http://127.0.0.1:{port}{path}/start">
<textarea name="lines">{wish}</textarea></form><script>document.forms[0].submit()</script></body>"""


def with_script(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Adds a script to our pages without charts."""
    own = STATIC["ready.js"]()
    monkeypatch.setitem(STATIC, "ready.js", lambda: own + script)


@pytest.mark.slow
def test_a_browser_starts_a_run_from_our_page(starting: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_script(monkeypatch, PRESSED)
    visit(starting, PATH, tmp_path / "profile")
    assert starting.launcher is not None
    (child,) = starting.launcher.started()
    child.wait()
    assert child.code == 0, child.said()


@pytest.mark.slow
def test_no_page_of_another_server_of_this_machine_starts_one(
    starting: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(ELSEWHERE.format(port=starting.port, path=PATH, wish=WISH).encode())

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        with_script(monkeypatch, f"location.href = 'http://127.0.0.1:{other.server_address[1]}/';")
        dom = visit(starting, PATH, tmp_path / "profile")
        other.shutdown()
        thread.join()
    assert "A page of another origin asked for this." in dom
    assert starting.launcher is not None and not starting.launcher.started()
