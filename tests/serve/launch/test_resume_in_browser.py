"""Going on with a run from its page, in Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import open_page, until_at
from playwright.sync_api import Page, expect
from servelab import Lab, wait_for
from stoppedlab import stopped

from flatwater.results.opening import read_manifest
from flatwater.serve.folders import key_of
from flatwater.serve.launch.launcher import Launcher

pytestmark = pytest.mark.slow
TOKEN = "a-token-of-this-test"
LINES = ("workload.queue_depth=1", "workload.engine=psync", "workload.warmup_s=0", "workload.duration_s=4")


def test_a_run_that_died_goes_on_from_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Page, problems: list[str]
) -> None:
    monkeypatch.setattr("flatwater.serve.alive.QUIET_S", -1.0)
    (tmp_path / "results").mkdir()
    place = f"storage.path={tmp_path}"
    result = stopped(tmp_path / "results" / "run", "quick", [place, "storage.size=1MiB", *LINES], status="running")
    run = f"/run/{key_of(result.path)}"
    with Lab([tmp_path / "results"], TOKEN, Launcher(tmp_path / "results")) as lab:
        open_page(page, lab, f"{run}/live")
        expect(page.locator("#told")).to_have_attribute("data-state", "stopped")
        page.locator("#resume button").click()
        until_at(page, f"{run}/resume")
        expect(page.locator("#problems")).to_contain_text(str(tmp_path))
        page.locator("#lines").fill(place)
        page.locator("#places button").click()
        wait_for(lambda: read_manifest(result.path).status == "complete")
    # The answer to a form that was not whole is an error of the protocol, too.
    assert all("status of 400" in one for one in problems)
    problems.clear()
