"""The pages in headless Chromium: no script fails, hostile names do nothing, a run under way is drawn as it grows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import synthetic
from servelab import Lab, started_run, wait_for, write_event, write_seconds

from flatwater.errors import FlatwaterError
from flatwater.report.images import find_browser
from flatwater.results import Result, open_result
from flatwater.serve import hub as hub_module
from flatwater.serve.folders import key_of

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from each_result import HOSTILE

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


def browse(lab: Lab, path: str, profile: Path, *flags: str) -> str:
    """The page after its scripts have run; nothing failed and nothing was refused by its policy."""
    try:
        browser = find_browser()
    except FlatwaterError:
        if "CI" in os.environ:
            raise
        pytest.skip("no Chromium or Chrome on this machine")
    command = [browser, *FLAGS, *flags, f"--user-data-dir={profile}", f"http://127.0.0.1:{lab.port}{path}"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert not [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
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
