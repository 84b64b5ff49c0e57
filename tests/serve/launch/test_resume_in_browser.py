"""Going on with a run from its page, in Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Chromium
from servelab import Lab, wait_for
from stoppedlab import stopped

from flatwater.results.opening import read_manifest
from flatwater.serve.folders import key_of
from flatwater.serve.launch.launcher import Launcher

pytestmark = pytest.mark.slow
TOKEN = "a-token-of-this-test"
LINES = ("workload.queue_depth=1", "workload.engine=psync", "workload.warmup_s=0", "workload.duration_s=4")


def test_a_run_that_died_goes_on_from_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatwater.serve.alive.QUIET_S", -1.0)
    (tmp_path / "results").mkdir()
    place = f"storage.path={tmp_path}"
    result = stopped(tmp_path / "results" / "run", "quick", [place, "storage.size=1MiB", *LINES], status="running")
    run = f"/run/{key_of(result.path)}"
    with (
        Lab([tmp_path / "results"], TOKEN, Launcher(tmp_path / "results")) as lab,
        Chromium(tmp_path / "profile") as browser,
    ):
        browser.open(lab, f"{run}/live")
        browser.until("document.getElementById('told').dataset.state === 'stopped'")
        browser.click("#resume button")
        browser.until_ready(f"{run}/resume")
        assert str(tmp_path) in browser.ask("document.getElementById('problems').textContent")
        browser.ask(f"document.getElementById('lines').value = '{place}'")
        browser.click("#places button")
        wait_for(lambda: read_manifest(result.path).status == "complete")
        # The answer to a form that was not whole is an error of the protocol, too.
        assert all("status of 400" in one for one in browser.problems)
