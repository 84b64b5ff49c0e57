"""`flatwater watch`, and the charts of `flatwater run`, as programs on terminals and pipes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))
sys.path.append(str(Path(__file__).parents[1] / "serve"))
sys.path.append(str(Path(__file__).parents[1] / "terminal"))
import synthetic
from ptylab import FILEIO, FLATWATER, PATIENCE_S, OnTerminal
from servelab import started_run, write_event, write_seconds

from flatwater.cli import watching
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.results import Result
from flatwater.results.lock import run_alone
from flatwater.serve import alive, followed
from flatwater.serve.writers import Writers

HOSTILE = "evil \x1b]0;owned\x07\x1b[2J\nsecond line \u202e [red]x[/red]"


def write_load(folder: Path, duration_s: float, more: str = "", title: str = "A load") -> None:
    (folder / "load.toml").write_text(f'title = "{title}"\n{FILEIO.format(duration_s=duration_s)}{more}')


class Running:
    """A run of `load.toml`, whose journal has some intervals."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        journal = folder / "results/live/cells/0000/journal.jsonl"
        before = journal.stat().st_size if journal.exists() else 0
        self.process = subprocess.Popen(
            [*FLATWATER, *(arguments or ("run", "load.toml", "--out", "results/live"))],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (journal.exists() and journal.stat().st_size > before):
            assert self.process.poll() is None, self.process.communicate()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def watched(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FLATWATER, "watch", *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S
    )


def test_a_run_draws_its_charts_and_leaves_its_lines(tmp_path: Path) -> None:
    write_load(tmp_path, 600)
    with OnTerminal(["run", "load.toml", "--out", "out"], tmp_path) as shown:
        first = shown.until(lambda text: "throughput " in text and "p99 latency" in text and "of the cell" in text)
        assert re.search("[⠁-⣿]", shown.text) and "\x1b[36m" in shown.raw
        # The terminal becomes too small for charts, and large again; the lines above are there again.
        shown.resize(30, 8)
        small = shown.until(lambda text: "measure" in text.partition("needs and writes")[2], first)
        assert "\x1b[2J" in shown.raw
        shown.resize(90, 50)
        shown.until(lambda text: "throughput " in text and "of the cell" in text, small)
        shown.process.send_signal(signal.SIGINT)
        assert shown.end() == 130
        assert "error: interrupted; what was measured is in out" in shown.text
        assert "cell: interrupted after" in shown.text
        assert shown.raw.rindex("\x1b[?25h") > shown.raw.rindex("of the cell")  # the cursor is back


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}])
def test_a_terminal_that_can_do_less(tmp_path: Path, env: dict[str, str]) -> None:
    write_load(tmp_path, 2)
    with OnTerminal(["run", "load.toml", "--out", "out"], tmp_path, **env) as shown:
        assert shown.end() == 0
        text = shown.text
    assert "[1/1] " in text
    if "TERM" in env:
        assert "  measure, 2 s" in text and "\x1b" not in shown.raw  # the lines, as in a file
        return
    assert "p99 latency" in text and bool(re.search("\x1b\\[[0-9;]*3[1-7]m", shown.raw)) == ("NO_COLOR" not in env)
    assert bool(re.search("[⠁-⣿]", text)) == ("NO_COLOR" in env)
    assert "\\u" not in text


def test_json_goes_where_it_was_sent_whatever_is_drawn(tmp_path: Path) -> None:
    write_load(tmp_path, 1.5)
    with OnTerminal(["run", "load.toml", "--out", "out", "--json"], tmp_path, pipe=True) as shown:
        assert shown.process.stdout is not None
        told = shown.process.stdout.read().decode()
        assert shown.end() == 0
        assert json.loads(told)["status"] == "complete"
        assert "p99 latency" not in shown.text and "cell 1 of 1" in shown.text  # the lines of ever, and no charts


@pytest.mark.slow
def test_a_watched_run_to_its_end(tmp_path: Path) -> None:
    write_load(tmp_path, 15)
    with Running(tmp_path), OnTerminal(["watch"], tmp_path) as shown:
        shown.until(lambda text: "A load" in text and "throughput 2" in text and "of the cell" in text)
        assert shown.end() == 0
        tail = shown.text[-1500:]
        assert "[1/1] " in tail and "report: flatwater report " in tail and "\x1b[?25h" in shown.raw


@pytest.mark.slow
def test_a_line_a_second_where_there_is_no_terminal(tmp_path: Path) -> None:
    write_load(tmp_path, 12)
    with Running(tmp_path):
        ran = watched(tmp_path, "results/live")
    assert (ran.returncode, ran.stderr) == (0, "") and "\x1b" not in ran.stdout
    lines = ran.stdout.splitlines()
    told = [line for line in lines if line.startswith("measure, ")]
    pattern = r"measure, [\d.]+ m?s: throughput .* IOPS, p99 latency "
    assert told and all(re.match(pattern, line) for line in told)
    assert any(line.startswith("[1/1] ") for line in lines)
    assert lines[-2:] == ["result: results/live", "report: flatwater report results/live"]


@pytest.mark.slow
def test_a_sweep_in_json(tmp_path: Path) -> None:
    write_load(tmp_path, 8, '[sweep]\n"workload.threads" = [1, 2]\n')
    with Running(tmp_path):
        ran = watched(tmp_path, "results", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    *seconds, end = told
    assert {one["state"] for one in seconds} == {"running"} and {one["cells"] for one in seconds} == {2}
    measured = [one for one in seconds if one["phase"] == "measure"]
    assert all(one["unit"] == "IOPS" and one["metrics"]["workload.throughput"] > 0 for one in measured)
    assert (end["state"], end["status"]) == ("ended", "complete")
    assert [line[:5] for line in end["told"] if line.startswith("[")] == ["[1/2]", "[2/2]"]


def test_a_resize_and_ctrl_c_which_ends_the_watching_only(tmp_path: Path) -> None:
    write_load(tmp_path, 600)
    with Running(tmp_path) as run:
        with OnTerminal(["watch", "results/live"], tmp_path) as shown:
            seen = shown.until("of the cell")
            shown.resize(50, 5)
            small = shown.until("measure, ", seen)
            assert "of the cell" not in shown.text[seen:small]
            shown.resize(130, 30)
            shown.until("of the cell", small)
            shown.process.send_signal(signal.SIGINT)
            assert shown.end() == 130
            assert "error: the watching was ended, and the run goes on" in shown.text
            assert shown.raw.rindex("\x1b[?25h") > shown.raw.rindex("of the cell")
        assert run.process.poll() is None


@pytest.mark.slow
def test_a_run_that_is_killed_and_resumed(tmp_path: Path) -> None:
    # Long enough for the second `watch` to begin, on a busy machine too.
    write_load(tmp_path, 40)
    with Running(tmp_path) as run:
        with OnTerminal(["watch"], tmp_path) as shown:
            shown.until("of the cell")
            run.process.kill()
            assert shown.end() == 1
            line = next(one for one in shown.text.splitlines() if "error: " in one)
        assert "live: the run died: no process that can be seen from here writes it" in shown.text
        assert line and "flatwater resume" in re.sub(r"\s+", " ", shown.text[-600:])
    with Running(tmp_path, "resume", "results/live"):
        ran = watched(tmp_path, "--json")
    assert ran.returncode == 0
    seconds = [json.loads(line) for line in ran.stdout.splitlines()]
    assert any("resumed after" in event for one in seconds for event in one.get("events", []))
    assert seconds[-1]["status"] == "complete"


# What happens beside it is done between two looks, in this process.


@pytest.fixture
def after_each_look(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    steps: list[Callable[[], object]] = []

    def next_step(seconds: float) -> None:
        assert steps, "it goes on after the last step"
        steps.pop(0)()

    monkeypatch.setattr(watching.time, "sleep", next_step)
    yield lambda *more: steps.extend(more)
    assert not steps


def told_by(path: Path, capsys: pytest.CaptureFixture[str], **more: Any) -> list[str]:
    watching.watch(path, **{"as_json": False} | more)
    return capsys.readouterr().out.splitlines()


def end(result: Result, status: str) -> None:
    result.write_manifest(status)  # type: ignore[arg-type]


def test_computed_time_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], after_each_look: Any) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 3)
    journal = result.cells[0].journal
    journal.write_text(journal.read_text().replace('"cpu_s": 0.1', '"cpu_s": null'))
    after_each_look(lambda: end(result, "complete"))
    assert told_by(result.path, capsys)[0].startswith("measure, 3 s of virtual time: ")


def test_events_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str], after_each_look: Any) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 3)
    write_event(result, 2.5, HOSTILE)
    after_each_look(lambda: write_seconds(result, 3, 1), lambda: None, lambda: end(result, "complete"))
    lines = told_by(result.path, capsys)
    assert "evil" in lines[0] and lines[0].startswith("2.5 s fault: ") and "second line" in lines[0]
    assert [line.partition(":")[0] for line in lines[1:3]] == ["measure, 3 s", "measure, 4 s"]
    assert "75 % of its limit 381.5 MiB" in lines[1]
    assert lines[3:] == [f"result: {result.path}", f"report: flatwater report {result.path}"]
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", "".join(lines))


def test_the_cells_of_a_sweep_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], after_each_look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "JUDGED_S", 0.0)
    result = started_run(tmp_path / "run", cells=3)
    write_seconds(result, 0, 5)

    def next_cell() -> None:
        (result.cells[0].folder / "summary.json").write_text("{}")
        write_seconds(result, 0, 2, cell=1)

    def last() -> None:
        (result.cells[0].folder / "summary.json").unlink()
        end(result, "complete")

    after_each_look(next_cell, last)
    told = [json.loads(line) for line in told_by(result.path, capsys, as_json=True)]
    assert [(one["cell"], one["time_s"], one["done"]) for one in told[:2]] == [(0, 5.0, 0), (1, 2.0, 1)]


def test_the_verdicts_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str], after_each_look: Any) -> None:
    path = synthetic.sweep(tmp_path / "sweep", count=60)
    manifest = json.loads((path / "flatwater.json").read_text())
    cells = len(manifest["cells"])
    (path / "flatwater.json").write_text(json.dumps(manifest | {"status": "running"}))
    after_each_look(lambda: (path / "flatwater.json").write_text(json.dumps(manifest)))
    lines = told_by(path, capsys)
    assert [line.partition(" ")[0] for line in lines if line.startswith("[")] == [
        f"[{number + 1}/{cells}]" for number in range(cells)
    ]
    assert lines[-2:] == [f"result: {path}", f"report: flatwater report {path}"]


def test_a_run_that_died(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], after_each_look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 3)
    after_each_look(lambda: monkeypatch.setattr(alive, "QUIET_S", -1.0))
    with pytest.raises(FlatwaterError, match=r"the run died: no process .* what was recorded is kept") as failed:
        told_by(result.path, capsys)
    assert failed.value.exit_code == 1 and failed.value.hint == f"to go on: flatwater resume {result.path}"
    assert "measure, 3 s" in capsys.readouterr().out


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_run_that_did_not_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], after_each_look: Any, status: str
) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 3)
    after_each_look(lambda: end(result, status))
    with pytest.raises(FlatwaterError, match=f"the run (was )?{status}") as failed:
        told_by(result.path, capsys)
    assert failed.value.exit_code == 1 and "flatwater resume" in (failed.value.hint or "")


def test_ctrl_c_between_two_looks(tmp_path: Path, capsys: pytest.CaptureFixture[str], after_each_look: Any) -> None:
    result = started_run(tmp_path / "run")
    before = signal.getsignal(signal.SIGTERM)
    after_each_look(lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Interrupted, match="the run goes on"):
        told_by(result.path, capsys)
    assert signal.getsignal(signal.SIGTERM) == before


def test_nothing_was_recorded_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str], after_each_look: Any) -> None:
    result = started_run(tmp_path / "run")
    after_each_look(lambda: end(result, "complete"))
    told = [json.loads(line) for line in told_by(result.path, capsys, as_json=True)]
    assert told[0]["time_s"] is None and told[0]["metrics"] == {} and told[-1]["status"] == "complete"


def test_a_hostile_title_on_a_small_terminal(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run", title=HOSTILE * 20)
    write_seconds(result, 0, 40, storage__utilisation_pct=40.0)
    with OnTerminal(["watch", "run"], tmp_path, size=(44, 14)) as shown, result.cells[0].journal.open("a"):
        shown.until("of the cell")
        shown.process.send_signal(signal.SIGINT)
        assert shown.end() == 130
        assert "evil \\u001b]0;owned" in shown.text
        assert "\x1b]0;" not in shown.raw and "\x1b[2J" not in shown.raw and "\u202e" not in shown.raw


def test_the_newest_of_those_that_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Whatever else runs on this machine.
    monkeypatch.setattr(Writers, "results_of_user", lambda: iter(()))
    old = started_run(tmp_path / "elsewhere" / "old")
    with pytest.raises(UserError, match="no run is under way in it"):
        (tmp_path / "empty").mkdir()
        watching.find_run(Path("empty"))
    assert watching.find_run(None) == old.path
    dead = synthetic.unfinished(tmp_path / "results" / "dead")
    for one in [dead / "flatwater.json", *dead.rglob("*.jsonl")]:
        os.utime(one, (1.0, 1.0))
    assert watching.find_run(None) == old.path
    new = started_run(tmp_path / "results" / "new")
    assert watching.find_run(None) == new.path and watching.find_run(Path("elsewhere")) == old.path
    (tmp_path / "results" / "broken").mkdir()
    (tmp_path / "results" / "broken" / "flatwater.json").write_text("{")
    assert watching.find_run(None) == new.path
    end(new, "complete")
    end(old, "complete")
    with pytest.raises(UserError, match="no run of yours is under way on this machine"):
        watching.find_run(None)


def test_a_run_anywhere_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    mine = tmp_path.resolve()
    everywhere = Writers.results_of_user
    # Other tests may run beside this one.
    monkeypatch.setattr(Writers, "results_of_user", lambda: (one for one in everywhere() if mine in one.parents))
    write_load(tmp_path, 600)
    with Running(tmp_path):
        assert watching.find_run(None) == mine / "results/live"
        assert capsys.readouterr().err == f"watching {mine}/results/live\n"
    # One that is prepared has no journal, and holds its lock. What says that it runs, and does not, is none.
    over, waiting, foreign = (started_run(tmp_path / name) for name in ("over", "waiting", "foreign"))
    over.write_manifest("complete")
    (foreign.path / "flatwater.json").write_text("{}")
    with run_alone(over.path), run_alone(waiting.path), run_alone(foreign.path):
        assert watching.find_run(None) == waiting.path.resolve()
        assert sorted(Writers.results_of_user()) == sorted(one.path.resolve() for one in (over, waiting, foreign))
    with pytest.raises(UserError, match="no run of yours"):
        watching.find_run(None)


def test_what_cannot_be_watched(tmp_path: Path) -> None:
    synthetic.single(tmp_path / "over", 20)
    (tmp_path / "file").write_text("")
    newer = started_run(tmp_path / "newer").path / "flatwater.json"
    newer.write_text(json.dumps(json.loads(newer.read_text()) | {"schema_version": 10**6}))
    for place, why in {
        "over": "over: the run is over: complete (hint: flatwater report over)",
        "nosuch": "nosuch: no such folder",
        "file": "file: not a flatwater result",
        "newer": "schema version 1000000 is newer",
    }.items():
        ran = watched(tmp_path, place)
        (line,) = ran.stderr.splitlines()
        assert ran.returncode == 2 and not ran.stdout and why in line
