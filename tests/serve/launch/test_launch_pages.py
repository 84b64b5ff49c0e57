"""The pages of `--allow-run`, over the machine's own network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from servelab import Lab, started_run, wait_for, write_seconds

from flatwater.results.opening import read_manifest
from flatwater.serve.folders import key_of
from flatwater.serve.launch.launcher import Launcher

TOKEN = "a-token-of-this-test"
LONG = """\
workload.queue_depth=1
workload.engine=psync
workload.warmup_s=0
workload.duration_s=500
storage.size=1MiB
record.interval_s=0.1
"""
#: Every address, with the method that it takes.
ADDRESSES = [
    ("/experiments", "GET"),
    ("/experiments/quick", "GET"),
    ("/experiments/quick/check", "POST"),
    ("/experiments/quick/start", "POST"),
    ("/started/0000000000000000", "GET"),
    ("/run/0000000000000000/stop", "POST"),
    ("/run/0000000000000000/resume", "POST"),
]


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Lab]:
    (tmp_path / "results").mkdir()
    with Lab([tmp_path / "results"], TOKEN, Launcher(tmp_path / "results")) as lab:
        yield lab


@pytest.mark.parametrize(("path", "method"), ADDRESSES)
def test_without_allow_run_nothing_of_it_is_there(lab: Lab, path: str, method: str) -> None:
    assert lab.ask(path).status == 404
    assert lab.ask(path, method="POST").status == 405
    assert lab.post(path).status == 405
    assert "/experiments" not in lab.ask("/").text


@pytest.mark.parametrize(("path", "method"), ADDRESSES)
def test_without_the_token_nothing_is_answered(starting: Lab, path: str, method: str) -> None:
    assert starting.ask(path).status == 401
    own = {"Origin": f"http://127.0.0.1:{starting.port}", "Content-Type": "application/x-www-form-urlencoded"}
    assert starting.post(path, headers=own).status == 401
    elsewhere = {"Origin": "http://attacker.example", "Cookie": f"flatwater-{starting.port}={TOKEN}"}
    assert starting.post(path, headers=elsewhere).status == 403
    # What changes something is never asked for by following a link.
    answer = starting.look(path)
    assert answer.status == (405 if method == "POST" else 404 if "0000" in path else 200)
    if method == "GET":
        assert starting.post(path).status == 405


def test_the_library(starting: Lab) -> None:
    assert 'href="/experiments"' in starting.look("/").text
    text = starting.look("/experiments").text
    assert 'href="/experiments/quick"' in text and "a program of MariaDB, MySQL or Percona Server" in text
    page = starting.look("/experiments/quick").text
    assert "storage.path=</textarea>" in page and "queue_depth" in page
    assert starting.look("/experiments/nosuch").status == 404
    assert starting.look("/experiments/..%2fquick").status == 404


def test_a_wish_is_checked_with_its_places(starting: Lab, tmp_path: Path) -> None:
    answer = starting.post("/experiments/quick/check", "storage.path=\nworkload.threads=<b>4")
    assert answer.status == 400
    assert "<b>--set storage.path=</b> storage.path: must not be empty" in answer.text
    assert "--set workload.threads=&lt;b&gt;4" in answer.text and "<b>4" not in answer.text
    answer = starting.post("/experiments/quick/check", f"storage.path={tmp_path}")
    assert answer.status == 200 and "3 cells, about 30 s" in answer.text and "256 MiB" in answer.text
    assert starting.post("/experiments/nosuch/check").status == 404
    # Nothing was started.
    assert "Started here" not in starting.look("/experiments").text


def test_what_is_no_form_is_refused(starting: Lab) -> None:
    headers = {
        "Origin": f"http://127.0.0.1:{starting.port}",
        "Cookie": f"flatwater-{starting.port}={TOKEN}",
        "Content-Type": "application/json",
    }
    assert starting.post("/experiments/quick/start", "x=1", headers).status == 400
    assert starting.post("/experiments/quick/start", "x" * 20_000_000).status == 400
    assert "a page takes 200" in starting.post("/experiments/quick/start", "x=1\n" * 300).text


def test_a_run_from_its_start_to_its_end(starting: Lab, tmp_path: Path) -> None:
    answer = starting.post("/experiments/quick/start", f"storage.path={tmp_path}\n{LONG}")
    assert answer.status == 303
    started = answer.headers["location"]
    key = started.rpartition("/")[2]
    wait_for(lambda: starting.look(started).status == 303)
    live = starting.look(started).headers["location"]
    assert live == f"/run/{key}/live"
    assert f'action="/run/{key}/stop"' in starting.look(live).text
    (folder,) = (tmp_path / "results").iterdir()
    assert key_of(folder) == key
    answer = starting.post("/experiments/quick/start", f"storage.path={tmp_path}\n{LONG}")
    assert answer.status == 409 and "is being measured" in answer.text and "storage.size=1MiB" in answer.text
    # A link, a form of another page and a reader without the token stop nothing.
    assert starting.look(f"/run/{key}/stop").status == 405
    assert starting.post(f"/run/{key}/stop", headers={}).status == 403
    assert starting.post(f"/run/{key}/stop").headers["location"] == started
    wait_for(lambda: read_manifest(folder).status == "interrupted")
    # The process ends a moment after its result says so.
    wait_for(lambda: "It was interrupted." in starting.look(started).text)
    text = starting.look(started).text
    assert "flatwater resume" in text and f'href="/run/{key}"' in text
    assert f'action="/run/{key}/stop"' not in starting.look(live).text + text
    assert "it was interrupted" in starting.look("/experiments").text


def test_a_run_that_fails_is_told_with_its_reason(starting: Lab, tmp_path: Path) -> None:
    mine = tmp_path / "flatwater-fileio.0000"
    mine.write_text("a file of the user's")
    answer = starting.post("/experiments/quick/start", f"storage.path={tmp_path}\n{LONG}")
    started = answer.headers["location"]
    wait_for(lambda: re.search("It (failed|was refused)", starting.look(started).text))
    text = starting.look(started).text
    assert "error: " in text and mine.name in text and "http-equiv" not in text and 'data-state="failed"' in text
    assert mine.read_text() == "a file of the user's"


def test_a_run_of_somebody_else_is_not_stopped(starting: Lab, tmp_path: Path) -> None:
    result = started_run(tmp_path / "results" / "other")
    write_seconds(result, 0, 3)
    key = key_of(result.path)
    assert starting.post(f"/run/{key}/stop").status == 404
    assert "/stop" not in starting.look(f"/run/{key}/live").text


def test_a_run_of_somebody_else_in_a_served_folder_is_not_disturbed(starting: Lab, tmp_path: Path) -> None:
    result = started_run(tmp_path / "results" / "<b>nightly")
    write_seconds(result, 0, 3)
    with result.cells[0].journal.open("a"):
        answer = starting.post("/experiments/quick/start", f"storage.path={tmp_path}\n{LONG}")
    assert answer.status == 409 and "&lt;b&gt;nightly" in answer.text and "started elsewhere" in answer.text
