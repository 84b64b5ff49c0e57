"""What is kept in mind of caches, and of their processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from flatwater.cache import state as states
from flatwater.cache.state import (
    CacheState,
    Process,
    check_name,
    find_state,
    keep_changes,
    list_names,
    load_state,
    read_process,
)
from flatwater.errors import FlatwaterError, UserError


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLATWATER_STATE_DIR", str(tmp_path / "state"))


def _state(tmp_path: Path, name: str = "db") -> CacheState:
    return CacheState(name, "0" * 32, str(tmp_path / f"{name}-fast"), "/b", "/b.pair", 16384, 2**30, 2**34)


def test_a_state_is_found_by_its_name_and_by_its_cache_device(tmp_path: Path) -> None:
    state = _state(tmp_path)
    state.settings = {"dirty_high_pct": "50"}
    state.save()
    assert load_state("db") == state
    assert find_state("db") == state
    (tmp_path / "link").symlink_to(tmp_path / "db-fast")
    assert find_state(str(tmp_path / "link")) == state
    assert list_names() == ["db"]


def test_an_unknown_name_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is none yet"):
        find_state("db")
    _state(tmp_path, "a").save()
    _state(tmp_path, "b").save()
    with pytest.raises(UserError, match="one of: a, b"):
        find_state("db")


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "a b", "-a", "a" * 65, "ä"])
def test_a_name_that_is_no_word_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="is no name"):
        check_name(name)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"kind": "other"}', '{"kind": "flatwater-cache", "version": 1}'])
def test_a_damaged_state_is_told_in_one_line(tmp_path: Path, content: str) -> None:
    _state(tmp_path).save()
    (states.lasting_folder("db") / "state.json").write_text(content)
    with pytest.raises(FlatwaterError, match="is damaged"):
        load_state("db")


def test_a_field_of_a_later_flatwater_is_passed_over_but_not_a_later_version(tmp_path: Path) -> None:
    _state(tmp_path).save()
    path = states.lasting_folder("db") / "state.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"colour": "blue"}))
    assert load_state("db") is not None
    path.write_text(json.dumps(content | {"version": 99}))
    with pytest.raises(FlatwaterError, match="later flatwater"):
        load_state("db")


def test_a_pid_that_was_used_again_is_not_believed() -> None:
    folder = states.running_folder("db")
    folder.mkdir(parents=True)
    own = Process.current()
    assert own.alive
    for stale in (
        Process(own.pid, own.start - 1, own.boot),
        Process(own.pid, own.start, "another boot"),
        Process(2**22 + 1, own.start, own.boot),
    ):
        assert not stale.alive
        (folder / "process.json").write_text(json.dumps(asdict(stale)))
        assert read_process("db") is None
    (folder / "process.json").write_text(json.dumps(asdict(own)))
    assert read_process("db") == own
    for rubbish in ("", "[]", '{"pid": "x"}', "{}"):
        (folder / "process.json").write_text(rubbish)
        assert read_process("db") is None


def test_a_process_with_a_bracket_in_its_name_is_told_from_others(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to(sys.executable)
    with subprocess.Popen([program, "-c", "input()"], stdin=subprocess.PIPE) as process:
        start = states._start_of(process.pid)
        assert start is not None and start > 1000
        assert Process(process.pid, start, Process.current().boot).alive
    assert not Process(process.pid, start, Process.current().boot).alive


def test_places_are_the_users_own_without_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FLATWATER_STATE_DIR")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "r"))
    assert states.lasting_folder("db") == tmp_path / "s/flatwater/cache/db"
    assert states.running_folder("db") == tmp_path / "r/flatwater/cache/db"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert states.lasting_folder("db") == Path("/var/lib/flatwater/cache/db")
    assert states.running_folder("db") == Path("/run/flatwater/cache/db")


def test_what_jobs_did_is_kept(tmp_path: Path) -> None:
    _state(tmp_path).save()
    for kind, first, length in (("pin", 0, 100), ("pin", 50, 100), ("unpin", 20, 10), ("pin", 200, 8), ("flush", 0, 1)):
        states.keep_job("db", {"kind": kind, "range": [first, length], "bytes": None})
    states.keep_job("db", {"kind": "resize", "range": None, "bytes": 2**20})
    kept = load_state("db")
    assert kept is not None and kept.used_bytes == 2**20
    assert kept.pins == [[0, 20], [30, 20], [50, 100], [200, 8]]


def test_changes_of_one_do_not_undo_those_of_another(tmp_path: Path) -> None:
    """A start or a drain with --trust-backing has read the state; `cache set` changes it meanwhile."""
    read = _state(tmp_path)
    read.save()
    other = load_state("db")
    assert other is not None
    other.settings = {"idle_flush_s": "7"}
    other.save()
    kept = keep_changes(read, replace(read, mount="/mnt", dirty_blocks=3))
    assert kept == load_state("db")
    assert (kept.settings, kept.mount, kept.dirty_blocks) == ({"idle_flush_s": "7"}, "/mnt", 3)
