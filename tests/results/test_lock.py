"""Two runs never write into one result, and no lock is left where no run is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.collection import INDEX
from flatwater.results.lock import LOCK, is_run, require_not_run, run_alone

HOLD = """\
import sys
from pathlib import Path
from flatwater.results.lock import run_alone
with run_alone(Path(sys.argv[1])):
    print("held", flush=True)
    input()
"""


@contextmanager
def another_process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLD, folder], stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        try:
            yield child
        finally:
            child.kill()


def test_another_run_is_refused_with_the_number_of_the_process(tmp_path: Path) -> None:
    with another_process(tmp_path) as child:
        assert is_run(tmp_path)
        for refused in (lambda: run_alone(tmp_path).__enter__(), lambda: require_not_run(tmp_path)):
            with pytest.raises(UserError, match=f"process {child.pid} runs it already") as error:
                refused()
            assert error.value.hint == f"to follow it: flatwater watch {tmp_path}" and error.value.exit_code == 2
        assert (tmp_path / LOCK).read_text() == f"{child.pid}\n"


def test_a_run_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    with another_process(tmp_path) as child:
        child.kill()
        child.wait()
        assert (tmp_path / LOCK).exists() and not is_run(tmp_path)
        require_not_run(tmp_path)
        with run_alone(tmp_path):
            assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"
    assert not (tmp_path / LOCK).exists()


def test_it_is_gone_however_the_run_ends(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), run_alone(tmp_path):
        assert is_run(tmp_path)
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [] and not is_run(tmp_path)


def test_the_results_of_run_all_are_run_by_one_process(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.mkdir()
    (tmp_path / INDEX).write_text("{}")
    with another_process(tmp_path) as child:
        assert is_run(one)
        with pytest.raises(UserError, match=f"process {child.pid} runs it already"), run_alone(one):
            pass
    with run_alone(one):
        pass
    # A folder of results that is no `run --all` has no lock of its own.
    (tmp_path / INDEX).unlink()
    with another_process(tmp_path):
        assert not is_run(one)


@pytest.mark.parametrize("kind", ["text", "link", "folder", "pipe", "other name"])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, kind: str) -> None:
    folder, mine = tmp_path / "out", tmp_path / "mine"
    folder.mkdir()
    mine.write_text("7\n")
    place = folder / LOCK
    if kind == "text":
        place.write_text("the key is below the mat\n")
    elif kind == "link":
        place.symlink_to(mine)
    elif kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.hardlink_to(mine)
    before = place.lstat()
    with run_alone(folder):
        assert not is_run(folder)
    after = place.lstat()
    assert (before.st_ino, before.st_size, before.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns)
    assert mine.read_text() == "7\n"


def test_a_folder_that_takes_no_file_is_run_without(tmp_path: Path) -> None:
    with run_alone(tmp_path / "nosuch"):
        assert not is_run(tmp_path / "nosuch")


def test_a_lock_that_cannot_be_written_is_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is another user's."""
    opened = os.open

    def open_to_read(path: Path, flags: int, *more: int) -> int:
        if Path(path).name == LOCK and flags & os.O_RDWR:
            raise PermissionError
        return opened(path, flags, *more)

    with another_process(tmp_path):
        monkeypatch.setattr("flatwater.results.lock.os.open", open_to_read)
        with pytest.raises(UserError, match="runs it already"), run_alone(tmp_path):
            pass


def test_one_that_was_deleted_meanwhile_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run before ends between the opening and the locking: its file is no lock for others any more."""
    opened, count = os.open, 0

    def open_and_lose(path: Path, *arguments: int) -> int:
        nonlocal count
        descriptor = opened(path, *arguments)
        if Path(path).name == LOCK and not count:
            count += 1
            Path(path).unlink()
        return descriptor

    monkeypatch.setattr("flatwater.results.lock.os.open", open_and_lose)
    with run_alone(tmp_path):
        monkeypatch.undo()
        assert is_run(tmp_path)
