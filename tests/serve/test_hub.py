"""Runs that are watched over HTTP: every second to everyone, and nobody who holds up the others."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from servelab import Lab, started_run, wait_for, write_seconds

from flatwater.report import recorded
from flatwater.serve import hub as hub_module
from flatwater.serve import watch
from flatwater.serve.folders import key_of


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "POLL_S", 0.02)


def test_seconds_come_as_they_are_written_and_a_reload_has_all(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1800)
    key = key_of(result.path)
    with Lab([tmp_path]) as lab:
        events = lab.watch(key)
        assert events.answer.getheader("Content-Type", "").startswith("text/event-stream")
        name, told = events.until(lambda name, data: True)
        assert name == "all" and len(told["lines"]["workload.throughput"]["v"]) == 1800
        write_seconds(result, 1800, 2)
        seen: list[float] = []
        events.until(lambda name, data: seen.extend(data["times"]) or len(seen) >= 2)  # type: ignore[func-returns-value]
        assert seen == [1801.0, 1802.0]
        again = lab.watch(key)
        _, told = again.until(lambda name, data: True)
        assert len(told["lines"]["workload.throughput"]["v"]) == 1802
        # Both hear of the end.
        write_seconds(result, 1802, 1)
        result.write_manifest("complete")
        shutil.rmtree(result.path / "cells")
        for one in (events, again):
            _, told = one.until(lambda name, data: data["state"] == "ended")
            assert list(one) == []
            one.close()
        wait_for(lambda: lab.hub.viewers == 0)


def test_one_reader_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 5)
    opened = []
    whole = hub_module.Watch
    monkeypatch.setattr(hub_module, "Watch", lambda *given: opened.append(given) or whole(*given))  # type: ignore[func-returns-value]
    with Lab([tmp_path]) as lab:
        viewers = [lab.watch(key_of(result.path)) for _ in range(20)]
        for viewer in viewers:
            assert viewer.until(lambda name, data: True)[0] == "all"
        assert lab.hub.viewers == 20 and len(opened) == 1
        write_seconds(result, 5, 1)
        for viewer in viewers:
            assert viewer.until(lambda name, data: name == "more")[1]["times"] == [6.0]
            viewer.close()
        write_seconds(result, 6, 40)  # who is gone is noticed when there is something to send
        wait_for(lambda: lab.hub.viewers == 0 or write_seconds(result, 46, 1))


def test_who_does_not_read_is_sent_away_and_the_others_lose_nothing(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 5000)
    key = key_of(result.path)
    with Lab([tmp_path]) as lab:
        good = lab.watch(key)
        good.until(lambda name, data: True)
        silent = lab.silent_viewer(key)
        wait_for(lambda: lab.hub.viewers == 2)
        seen: list[float] = []
        read = threading.Thread(
            target=lambda: good.until(lambda name, data: seen.extend(data["times"]) or len(seen) >= 200)  # type: ignore[func-returns-value]
        )
        read.start()
        for at in range(5000, 5200):
            write_seconds(result, at, 1)
            count = len(seen)
            wait_for(lambda: len(seen) > count)  # noqa: B023 - waited for here
        read.join()
        assert seen == [float(at) for at in range(5001, 5201)]
        assert lab.hub.viewers == 1
        silent.close()
        good.close()


def last_second(name: str, told: dict[str, Any]) -> float:
    """The last second that a message has."""
    if name == "more":
        return float(told["times"][-1])
    table = told["times"][0]
    steps = table.get("steps", [1] * (table.get("count", 1) - 1))
    return float(table["unit"] * (table["first"] + sum(steps)))


def test_a_page_that_stays_open_has_a_limited_number_of_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "FINE_BUCKETS", recorded.BUCKETS_MIN)
    monkeypatch.setattr(watch, "GROWN_MAX", 100)
    most = 4 * recorded.BUCKETS_MIN + 100 + 1
    result = started_run(tmp_path / "run")
    with Lab([tmp_path]) as lab:
        viewer = lab.watch(key_of(result.path))
        points = {"times": 0, "most": 0, "whole": 0}

        def read_to(end_s: float) -> bool:
            """As the page does it (static/live.js)."""
            name, told = viewer.until(lambda name, data: bool(data.get("times")))
            line = told["lines"]["workload.throughput"]
            points["times"] = len(line["v"]) if name == "all" else points["times"] + len(line)
            points["most"] = max(points["most"], points["times"])
            points["whole"] += name == "all"
            return last_second(name, told) == end_s

        # A feed of 50 intervals at a time.
        for at in range(0, 3000, 50):
            write_seconds(result, at, 50)
            while not read_to(at + 50.0):
                pass
        viewer.close()
    assert 200 < points["most"] <= most and points["whole"] >= 3000 // 150


def test_too_many_viewers_are_told(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1)
    with Lab([tmp_path], viewers=2) as lab:
        viewers = [lab.watch(key_of(result.path)) for _ in range(2)]
        for viewer in viewers:
            viewer.until(lambda name, data: True)
        answer = lab.ask(f"/run/{key_of(result.path)}/events")
        assert answer.status == 503 and "2 viewers watch already" in answer.text
        for viewer in viewers:
            viewer.close()


def test_a_run_that_is_not_watched_any_more_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "KEPT_S", 0.1)
    monkeypatch.setattr(hub_module, "BEAT_S", 0.05)
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1)
    with Lab([tmp_path]) as lab:
        viewer = lab.watch(key_of(result.path))
        viewer.until(lambda name, data: True)
        (stream,) = lab.hub._streams.values()
        viewer.close()
        wait_for(lambda: stream.ended)


def test_a_damaged_journal_is_told(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1)
    with Lab([tmp_path]) as lab:
        viewer = lab.watch(key_of(result.path))
        viewer.until(lambda name, data: True)
        with result.cells[0].journal.open("a") as handle:
            handle.write("<script>\n")
        assert "not JSON" in viewer.until(lambda name, data: name == "failed")[1]["told"]
        viewer.close()


def test_the_end_of_the_server_ends_all_watching(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1)
    with Lab([tmp_path]) as lab:
        viewer = lab.watch(key_of(result.path))
        viewer.until(lambda name, data: True)
    assert list(viewer) == []
    viewer.close()
