"""The pages in headless Chromium: no script fails, hostile names do nothing, a run under way is drawn as it grows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import synthetic
from servelab import Lab, started_run, wait_for, write_event, write_seconds

from flatwater.errors import FlatwaterError
from flatwater.report.images import find_browser
from flatwater.results import Result
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


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["--blink-settings=preferredColorScheme=0", "--blink-settings=preferredColorScheme=1"])
def test_a_run_under_way(hostile: Path, tmp_path: Path, flag: str) -> None:
    (path,) = (one for one in hostile.iterdir() if one.name != "one")
    with Lab([hostile]) as lab:
        dom = browse(lab, f"/run/{key_of(path)}/live", tmp_path / "profile", flag, "--timeout=8000")
    assert re.findall(r'id="chart-([\w-]+)" class="plot js-plotly-plot"', dom) == ["database", "latency"]
    assert 'data-points="40"' in dom and "checkpoint age" in dom
    assert "<img src=x" not in dom and "\u202e" not in dom


def grow(result: Result, ended: threading.Event) -> Iterator[None]:
    at = 10
    while not ended.wait(0.2):
        write_seconds(result, at, 1)
        at += 1
        yield


@pytest.mark.slow
def test_the_charts_grow_until_the_run_ends(tmp_path: Path) -> None:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 10)
    ended = threading.Event()

    def write() -> None:
        wait_for(lambda: lab.hub.viewers)
        for number, _ in enumerate(grow(result, ended)):
            if number == 9:
                result.write_manifest("complete")
                return

    with Lab([tmp_path / "results"]) as lab:
        writer = threading.Thread(target=write)
        writer.start()
        dom = browse(lab, f"/run/{key_of(result.path)}/live", tmp_path / "profile", "--timeout=12000")
        ended.set()
        writer.join()
    assert 'data-points="20"' in dom
    assert "The run is over: complete." in dom
