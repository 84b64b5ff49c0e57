"""A run whose process is gone is under way nowhere: not in the list, not in `/metrics`, not for whoever watches."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from servelab import Lab, started_run, told, wait_for, write_seconds

from flatwater.cli import watching
from flatwater.errors import UserError
from flatwater.results import Result
from flatwater.results.lock import run_alone
from flatwater.serve import metrics, writers
from flatwater.serve.alive import quiet_s, runs_under_way
from flatwater.serve.folders import key_of
from flatwater.serve.metrics import Metrics
from flatwater.serve.watch import Watch
from flatwater.serve.writers import Writers


def leave(path: Path, ago_s: float = 100.0) -> None:
    """Nothing was written since then, as `kill -9` and `cp -a` leave a run."""
    for one in path.rglob("*"):
        os.utime(one, (time.time() - ago_s,) * 2)


def begun(result: Result, moment: str) -> None:
    manifest = json.loads((result.path / "flatwater.json").read_text())
    (result.path / "flatwater.json").write_text(json.dumps(manifest | {"created_at": moment}))


@pytest.mark.parametrize("ago_s", [100.0, -100.0])
def test_one_that_was_killed_is_nowhere_under_way(
    tmp_path: Path, ago_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "FRESH_S", 0.0)
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 3)
    shutil.copytree(result.path, tmp_path / "copy")
    for path in (result.path, tmp_path / "copy"):
        leave(path, ago_s)
    with Lab([tmp_path]) as lab:
        wait_for(lambda: lab.ask("/").text.count("/live") == 2)
        assert lab.ask("/").text.count('chip">not over<') == 2 and 'chip">running<' not in lab.ask("/").text
        assert "flatwater_runs 0\n" in lab.ask("/metrics").text
        watching_it = lab.watch(key_of(result.path))
        assert next(iter(watching_it))[1]["state"] == "stopped"
        watching_it.close()
        with run_alone(result.path):
            assert lab.ask("/").text.count('chip">running<') == 1
            assert "flatwater_runs 1\n" in (text := lab.ask("/metrics").text) and 'run="run"' in text
    assert runs_under_way([tmp_path], Writers()) == []
    with pytest.raises(UserError, match="no run is under way"):
        watching.find_run(tmp_path)
    watch = Watch(result.path, Writers())
    assert b'"state":"stopped"' in watch.whole()
    watch.close()


def test_the_newest_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "RUNS_MAX", 2)
    for name, moment in (("b", "2026-11-26T12"), ("c", "2026-11-26T10"), ("a", "2026-11-26T11")):
        result = started_run(tmp_path / name)
        write_seconds(result, 0, 1)
        begun(result, f"{moment}:00:00+00:00")
    assert [place.name for place in runs_under_way([tmp_path], Writers())] == ["b", "a", "c"]
    text = told(Metrics(), tmp_path)
    assert 'run="b"' in text and 'run="a"' in text and 'run="c"' not in text


def test_a_result_that_is_gone_was_written_long_ago(tmp_path: Path) -> None:
    assert quiet_s(tmp_path / "nothing") > 1e9
