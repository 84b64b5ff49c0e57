from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import synthetic
from servelab import started_run, write_event, write_seconds

from flatwater.errors import UserError
from flatwater.results.collection import INDEX
from flatwater.results.lock import run_alone
from flatwater.serve import alive, followed
from flatwater.serve.alive import why_alive
from flatwater.serve.watch import Watch
from flatwater.serve.writers import Writers, open_files


def read(message: bytes | None) -> tuple[str, dict[str, Any]]:
    assert message is not None and message.endswith(b"\n\n")
    name, data = message.decode().rstrip("\n").split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def charts(told: dict[str, Any]) -> list[str]:
    return [figure["key"] for figure in told["figures"]]


def test_all_first_and_then_what_is_new(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 30)
    watch = Watch(result.path, Writers())
    name, told = read(watch.step())
    assert name == "all" and told["state"] == "running"
    assert charts(told) == ["database", "latency"]
    assert told["lines"]["workload.throughput"]["v"] == [100 + at % 7 for at in range(30)]
    assert dict(told["tiles"])["checkpoint age"] == "286.1 MiB"
    assert dict(told["tiles"])["age of its limit"] == "75.0 %"
    assert dict(told["tiles"])["p99 latency"] == "900 µs"
    assert watch.step() is None
    write_seconds(result, 30, 2)
    write_event(result, 31.5, "it broke")
    name, told = read(watch.step())
    assert (name, told["times"]) == ("more", [31.0, 32.0])
    assert told["lines"]["workload.throughput"] == [102, 103]
    assert told["events"] == [["31.5 s", "fault", "it broke"]]
    # Who comes later has the same.
    name, whole = read(watch.whole())
    assert name == "all" and len(whole["lines"]["workload.throughput"]["v"]) == 32
    watch.close()


def test_a_span_has_every_second_where_the_whole_has_not(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    count = 20_000
    write_seconds(result, 0, count)
    watch = Watch(result.path, Writers())
    assert watch.span(0, 0, 10) is None  # nothing was read yet
    _, whole = read(watch.step())
    assert len(whole["lines"]["workload.throughput"]["v"]) < count / 2
    found = json.loads(watch.span(0, 10_000, 10_100) or b"")
    line = found["lines"]["workload.throughput"]
    assert found["cell"] == whole["cell"] == 0
    assert line["v"] == [100 + (at - 1) % 7 for at in range(9_999, 10_102)][: len(line["v"])] and len(line["v"]) >= 101
    assert found["times"][line["t"]]["first"] * found["times"][line["t"]]["unit"] == pytest.approx(9_999)
    watch.close()


def test_a_series_that_comes_late_is_sent_with_all(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 3)
    watch = Watch(result.path, Writers())
    watch.step()
    write_seconds(result, 3, 1, storage__utilisation_pct=55.0)
    name, told = read(watch.step())
    assert name == "all" and told["lines"]["storage.utilisation_pct"]["v"][-1] == 55
    assert dict(told["tiles"])["device busy"] == "55 %"
    watch.close()


def test_a_verdict_so_far(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 120)
    watch = Watch(result.path, Writers())
    _, told = read(watch.step())
    assert "flat" in told["verdict"] and "MiB/s" in told["verdict"]
    watch.close()


def test_an_interval_without_a_figure(tmp_path: Path) -> None:
    result = synthetic.unfinished(tmp_path / "run")
    watch = Watch(result, Writers())
    _, told = read(watch.step())
    assert None in told["lines"]["workload.throughput"]["v"] and told["verdict"]
    watch.close()


def test_the_next_cell_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "JUDGED_S", 0.0)
    result = started_run(tmp_path / "run", cells=3)
    write_seconds(result, 0, 5, cell=0)
    watch = Watch(result.path, Writers())
    assert "Cell 1 of 3" in read(watch.step())[1]["place"]
    (result.cells[0].folder / "summary.json").write_text("{}")
    write_seconds(result, 0, 2, cell=1)
    name, told = read(watch.step())
    assert name == "all" and "Cell 2 of 3" in told["place"] and "1 are over" in told["place"]
    assert len(told["lines"]["workload.throughput"]["v"]) == 2
    watch.close()


def test_the_end_is_told_with_the_last_seconds(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 5)
    watch = Watch(result.path, Writers())
    watch.step()
    write_seconds(result, 5, 3)
    result.write_manifest("complete")
    shutil.rmtree(result.path / "cells")
    name, told = read(watch.step())
    assert (name, told["state"], told["times"]) == ("more", "ended", [6.0, 7.0, 8.0])
    assert watch.over
    watch.close()


def test_a_run_that_died_is_told(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 5)
    journal = result.cells[0].journal
    for one in (journal, result.path / "flatwater.json"):
        os.utime(one, (time.time() - 100,) * 2)
    watch = Watch(result.path, Writers())
    _, told = read(watch.step())
    assert told["state"] == "stopped" and "flatwater resume" in told["told"]
    # One that writes it again is seen.
    with journal.open("a"):
        assert str(journal.resolve()) in open_files()
        writers = Writers()
        assert writers.of(result.path) == os.getpid()
        again = Watch(result.path, writers)
        _, told = read(again.step())
        assert told["state"] == "running" and str(os.getpid()) in told["told"]
        again.close()
    watch.close()


def test_a_run_without_a_journal_holds_its_lock(tmp_path: Path) -> None:
    """It is being prepared, or waits for a worker or for another experiment of `run --all`."""
    together = tmp_path / "all"
    result = started_run(together / "run")
    long_ago = (time.time() - 100,) * 2
    os.utime(result.path / "flatwater.json", long_ago)
    (together / INDEX).write_text("{}")
    for folder in (result.path, together):
        with run_alone(folder):
            assert Writers().of(result.path) == os.getpid()
            assert folder.resolve() in Writers.results_below([tmp_path])
            assert why_alive(result.path, Writers())
    assert Writers().of(result.path) is None and not why_alive(result.path, Writers())


def test_a_run_of_another_user_holds_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alive, "QUIET_S", -1.0)
    result = started_run(tmp_path / "run")
    unseen = Writers()
    monkeypatch.setattr(unseen, "of", lambda path: None)
    run = followed.Followed(result.path, unseen, [])
    with run_alone(result.path):
        assert run.state().told == "A process of another user or of another machine runs it."
        assert why_alive(result.path, unseen)
    assert run.state().word == "stopped" and not why_alive(result.path, unseen)


def test_who_only_reads_a_journal_is_no_writer(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1)
    with result.cells[0].journal.open():
        assert Writers().of(result.path) is None


def test_the_process_that_died_is_gone(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    journal = result.cells[0].journal
    journal.parent.mkdir(parents=True)
    script = f"handle = open({str(journal)!r}, 'a'); print('open', flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert open_files().get(str(journal.resolve())) == child.pid
    child.communicate()
    assert str(journal.resolve()) not in open_files()


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\x1b[31m", "\u202e", '"],"x":["'])
def test_words_of_others_stay_words(tmp_path: Path, text: str) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 2)
    write_event(result, 1.0, text)
    watch = Watch(result.path, Writers())
    message = watch.step()
    assert message is not None and b"\x1b" not in message and message.count(b"\n") == 3
    _, told = read(message)
    assert "\u202e" not in json.dumps(told, ensure_ascii=False)
    assert len(told["events"]) == 1
    watch.close()


def test_a_result_that_is_damaged(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 2)
    watch = Watch(result.path, Writers())
    watch.step()
    with result.cells[0].journal.open("a") as handle:
        handle.write("no line\n")
    with pytest.raises(UserError, match="not JSON"):
        watch.step()
    watch.close()
