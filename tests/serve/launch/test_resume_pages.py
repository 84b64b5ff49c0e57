"""Going on with a run from its page, over the machine's own network."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from servelab import Lab, wait_for
from stoppedlab import stopped

from flatwater.results import open_result
from flatwater.results.lock import is_run
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


def make_lab(root: Path) -> Lab:
    return Lab([root], TOKEN, Launcher(root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


@pytest.fixture
def starting(root: Path) -> Iterator[Lab]:
    with make_lab(root) as lab:
        yield lab


def button(key: str) -> str:
    return f'action="/run/{key}/resume"'


def measured_lines(folder: Path) -> int:
    journals = [*folder.glob("cells/*/journal.jsonl")]
    return sum(one.read_text().count('"phase":"measure"') for one in journals)


def begun(lab: Lab, place: Path) -> tuple[str, Path]:
    """A real run that measures: its key and its folder."""
    answer = lab.post("/experiments/quick/start", f"storage.path={place}\n{LONG}")
    assert answer.status == 303, answer.text
    key = answer.headers["location"].rpartition("/")[2]
    child = lab.launcher.find(key) if lab.launcher is not None else None
    assert child is not None
    wait_for(lambda: measured_lines(child.folder) > 2)
    return key, child.folder


def stop(lab: Lab, key: str, folder: Path) -> None:
    assert lab.post(f"/run/{key}/stop").status == 303
    wait_for(lambda: read_manifest(folder).status == "interrupted" and not is_run(folder))
    wait_for(lambda: "It was interrupted." in lab.look(f"/started/{key}").text)


def test_a_run_that_was_stopped_goes_on(starting: Lab, tmp_path: Path) -> None:
    key, folder = begun(starting, tmp_path)
    live = starting.look(f"/run/{key}/live").text
    assert button(key) in live and "hidden" in live.partition(button(key))[2][:30]
    stop(starting, key, folder)
    before = measured_lines(folder)
    assert button(key) in starting.look(f"/started/{key}").text
    # The list looks through its folders every two seconds.
    wait_for(lambda: button(key) in starting.look(f"/run/{key}").text)
    report = starting.look(f"/run/{key}")
    assert (
        "form-action 'self'" in report.headers["content-security-policy"]
        and "form-action &#39;self&#39;" in report.text
    )
    # A link, a form of another page and a reader without the token resume nothing.
    assert starting.look(f"/run/{key}/resume").status == 405
    assert starting.post(f"/run/{key}/resume", headers={}).status == 403
    elsewhere = {"Origin": "http://attacker.example", "Cookie": f"flatwater-{starting.port}={TOKEN}"}
    assert starting.post(f"/run/{key}/resume", headers=elsewhere).status == 403
    # This server began it: its place was named.
    answer = starting.post(f"/run/{key}/resume")
    assert answer.status == 303 and answer.headers["location"] == f"/started/{key}", answer.text
    wait_for(lambda: measured_lines(folder) > before + 2)
    again = starting.post(f"/run/{key}/resume")
    # Pressed twice: it goes on, once.
    assert again.status == 303 and again.headers["location"] == f"/started/{key}", again.text
    assert starting.launcher is not None
    assert [child.alive for child in starting.launcher.started()] == [True, False]
    stop(starting, key, folder)
    (cell,) = open_result(folder).cells
    assert [event.kind for event in cell.events].count("seam") == 1 and not (folder / "set-aside").exists()


def test_of_another_server_the_place_is_written_again(root: Path, tmp_path: Path) -> None:
    with make_lab(root) as lab:
        key, folder = begun(lab, tmp_path)
        stop(lab, key, folder)
    before = measured_lines(folder)
    with make_lab(root) as lab:
        answer = lab.post(f"/run/{key}/resume")
        assert answer.status == 400 and f"storage.path = {tmp_path}" in answer.text
        assert "storage.path=</textarea>" in answer.text
        answer = lab.post(f"/run/{key}/resume", f"storage.path={root}")
        assert answer.status == 400 and f"storage.path={root}</textarea>" in answer.text
        answer = lab.post(f"/run/{key}/resume", "workload.threads=7")
        assert answer.status == 409 and "goes on as it was begun" in answer.text
        assert measured_lines(folder) == before
        assert lab.post(f"/run/{key}/resume", f"storage.path={tmp_path}").status == 303
        wait_for(lambda: measured_lines(folder) > before + 2)
        stop(lab, key, folder)


def test_a_run_that_died_goes_on(starting: Lab, tmp_path: Path) -> None:
    key, folder = begun(starting, tmp_path)
    child = starting.launcher.find(key) if starting.launcher is not None else None
    assert child is not None
    os.killpg(child.process.pid, signal.SIGKILL)
    child.wait()
    wait_for(lambda: not is_run(folder))
    before = measured_lines(folder)
    started = starting.look(f"/started/{key}").text
    assert button(key) in started and "signal 9 ended it" in started.lower()
    assert starting.post(f"/run/{key}/resume").status == 303
    wait_for(lambda: measured_lines(folder) > before + 2)
    stop(starting, key, folder)


def test_its_page_says_that_it_can_go_on_when_it_has_stopped(
    starting: Lab, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flatwater.serve.alive.QUIET_S", -1.0)
    result = stopped(root / "run", status="running")
    events = starting.watch(key_of(result.path))
    _, told = events.until(lambda name, data: True)
    assert told["state"] == "stopped" and told["unfinished"] is True
    events.close()


def test_a_modelled_run_is_gone_on_with_to_its_end(starting: Lab, root: Path) -> None:
    result = stopped(root / "run", seconds=0)
    key = key_of(result.path)
    assert starting.post(f"/run/{key}/resume").status == 303
    wait_for(lambda: read_manifest(result.path).status == "complete")
    wait_for(lambda: "It is over." in starting.look(f"/started/{key}").text)
    assert button(key) not in starting.look(f"/started/{key}").text + starting.look(f"/run/{key}").text
    answer = starting.post(f"/run/{key}/resume")
    assert answer.status == 409 and f"{result.path} is complete: nothing is missing" in answer.text


def test_a_hostile_result_is_told_and_starts_nothing(starting: Lab, root: Path, tmp_path: Path) -> None:
    result = stopped(root / "<b>run", "quick", [f"storage.path={tmp_path}"])
    text = (result.path / "experiment.toml").read_text()
    (result.path / "experiment.toml").write_text(text.replace(str(tmp_path), "/home/<script>alert(1)</script>"))
    answer = starting.post(f"/run/{key_of(result.path)}/resume")
    assert answer.status == 400 and "/home/&lt;script&gt;" in answer.text and "<script>alert" not in answer.text
    assert starting.launcher is not None and not starting.launcher.started()


def test_what_is_no_result_and_no_form(starting: Lab, root: Path) -> None:
    key = key_of(stopped(root / "run").path)
    assert starting.post(f"/run/{key}/resume", "x" * 300_000).status == 400
    assert starting.post("/run/0000000000000000/resume").status == 404


def test_only_what_the_first_folder_has_offers_to_go_on(root: Path, tmp_path: Path) -> None:
    other = stopped(tmp_path / "other" / "run").path
    mine = stopped(root / "run").path
    result = stopped(root / "foreign")
    result.manifest.name = "mine"
    result.write_manifest()
    foreign = result.path
    with Lab([root, tmp_path / "other"], TOKEN, Launcher(root)) as lab:
        found = [button(key_of(one)) in lab.look(f"/run/{key_of(one)}").text for one in (mine, other, foreign)]
        assert found == [True, False, False]
        answer = lab.post(f"/run/{key_of(other)}/resume")
        assert answer.status == 409 and "where this server puts runs" in answer.text
    with Lab([root]) as lab:
        assert button(key_of(mine)) not in lab.ask(f"/run/{key_of(mine)}").text
        assert lab.post(f"/run/{key_of(mine)}/resume").status == 405
