"""What a server has loaded on a cache is used again only if the cache wrote all of it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w

from flatwater.experiment import cell_at, load
from flatwater.owned import Folder
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import SilentReporter
from flatwater.runner.stack.cache.real import cache
from flatwater.runner.stack.cache.real.cache import RealCache
from flatwater.runner.stack.cache.real.process import DRAIN
from flatwater.runner.stack.layers.storage import SLOW
from flatwater.runner.stack.served import ground
from flatwater.runner.stack.storage import open_device

MIB = 2**20


class Process:
    """Stands for the process that serves the cache: what it was asked for, and how it ends."""

    requests: list[dict[str, Any]] = []  # noqa: RUF012 - emptied by the fixture
    ended_well = True
    last_words: str | None = None

    def __init__(self, request: dict[str, Any]) -> None:
        self.requests.append(request)

    def wait_ready(self, stop: object) -> None:
        """It is ready at once."""

    def close(self, last_words: str = "") -> None:
        type(self).last_words = last_words


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealCache:
    """The cache of a server's cell, of which only the folders and files are real."""
    Process.requests, Process.ended_well, Process.last_words = [], True, None
    monkeypatch.setattr(cache, "require_fuse", lambda: None)
    for name in ("require_file_system", "server_of"):
        monkeypatch.setattr(ground, name, lambda *_: None)
    monkeypatch.setattr(cache, "ServedCache", Process)
    for name in ("slow", "fast"):
        (tmp_path / name).mkdir()
    content = {
        "workload": {"kind": "tpcc", "warehouses": 1, "duration_s": 10},
        "database": {"kind": "server"},
        "cache": {"kind": "flash", "size": "32MiB", "storage": {"path": str(tmp_path / "fast")}},
        "storage": {"path": str(tmp_path / "slow"), "size": "64MiB"},
    }
    (tmp_path / "cached.toml").write_text(tomli_w.dumps(content))
    planned = cell_at(load(str(tmp_path / "cached.toml")), 0)
    slow = open_device(planned.experiment.storage, SLOW)
    served = RealCache(slow)
    slow.turn_to(planned)
    served.turn_to(planned)
    return served


def prepare(served: RealCache) -> bool:
    """Makes a cell ready; whether the file system was made anew."""
    served.make(SilentReporter(), Interrupt())
    return bool(Process.requests[-1]["make"])


def test_it_is_kept_after_an_end_with_everything_written_back(served: RealCache, tmp_path: Path) -> None:
    assert prepare(served)
    served.end_cell(tmp_path, resumable=False)
    assert Process.last_words == DRAIN
    assert not prepare(served)
    served.release()


def test_it_is_made_anew_after_a_kill(served: RealCache, tmp_path: Path) -> None:
    """The cache had a part of it, and is made anew: what is left below is a file system with holes."""
    assert prepare(served)
    served.end_cell(tmp_path, resumable=False)
    assert not prepare(served)  # and now the power goes
    assert prepare(served)
    served.release()


@pytest.mark.parametrize("drained", [True, False])
def test_it_is_made_anew_when_not_all_was_written_back(served: RealCache, tmp_path: Path, drained: bool) -> None:
    assert prepare(served)
    Process.ended_well = False
    if drained:
        served.end_cell(tmp_path, resumable=False)
    else:
        served.release()  # as after a second Ctrl-C
        assert Process.last_words == ""
    Process.ended_well = True
    assert prepare(served)
    served.release()


def test_nothing_else_in_the_folder_is_forgotten(served: RealCache, tmp_path: Path) -> None:
    prepare(served)
    served.end_cell(tmp_path, resumable=False)
    served.release()
    owned = Folder.find(tmp_path / "slow" / "flatwater-cached", where="storage.path")
    assert owned is not None and ground.MADE in owned.names()
    owned.close()
