from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from flatwater.errors import FlatwaterError
from flatwater.server.process import ServerProcess, describe_exit

SLEEP = ["/bin/sleep", "1000"]


def _wait_for(holds: object, limit_s: float = 240) -> None:
    assert callable(holds)
    until = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def _becomes(process: ServerProcess, name: str) -> None:
    _wait_for(lambda: psutil.Process(process.pid).name() == name)


def test_it_is_out_of_the_terminals_reach(tmp_path: Path) -> None:
    process = ServerProcess(SLEEP, tmp_path, tmp_path / "log")
    try:
        _becomes(process, "sleep")
        # Ctrl-C goes to the process group in the foreground.
        assert os.getpgid(process.pid) == process.pid != os.getpgid(0)
        assert os.getsid(process.pid) == process.pid
    finally:
        process.kill()
    assert process.exit_code() == -signal.SIGKILL


def test_it_outlives_the_thread_that_asked_for_it(tmp_path: Path) -> None:
    made: list[ServerProcess] = []
    thread = threading.Thread(target=lambda: made.append(ServerProcess(SLEEP, tmp_path, tmp_path / "log")))
    thread.start()
    thread.join()
    try:
        _becomes(made[0], "sleep")
        time.sleep(0.2)
        assert made[0].exit_code() is None
    finally:
        made[0].kill()


@pytest.mark.parametrize("frozen", [False, True])
def test_it_dies_with_flatwater(tmp_path: Path, frozen: bool) -> None:
    script = (
        "import sys, time; from pathlib import Path; from flatwater.server.process import ServerProcess\n"
        f"process = ServerProcess({SLEEP!r}, Path({str(tmp_path)!r}), Path({str(tmp_path / 'log')!r}))\n"
        "print(process.pid, flush=True); time.sleep(1000)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        server = psutil.Process(int(parent.stdout.readline()))
        _wait_for(lambda: server.name() == "sleep")
        if frozen:
            server.suspend()
        parent.kill()
    _wait_for(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)


def test_it_sees_little_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLATWATER_PASSWORD", "of another server")
    monkeypatch.setenv("MYSQL_HOME", str(tmp_path))
    process = ServerProcess(["/usr/bin/env"], tmp_path, tmp_path / "log")
    assert process.wait_while_progress(lambda: False, 60)
    names = {line.split("=")[0] for line in (tmp_path / "log").read_text().splitlines()}
    assert "PATH" in names
    assert not names & {"FLATWATER_PASSWORD", "MYSQL_HOME", "HOME"}


def test_waiting_ends_when_nothing_moves_any_more(tmp_path: Path) -> None:
    process = ServerProcess(SLEEP, tmp_path, tmp_path / "log")
    told: list[float] = []
    try:
        assert not process.wait_while_progress(lambda: False, 0.5, told.append)
        assert told
        assert process.exit_code() is None
    finally:
        process.kill()


def test_waiting_goes_on_while_something_moves(tmp_path: Path) -> None:
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do echo recovered $i; sleep 0.5; done"
    process = ServerProcess(["/bin/sh", "-c", script], tmp_path, tmp_path / "log")
    assert process.wait_while_progress(lambda: False, 3)
    assert process.exit_code() == 0


def test_what_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(FlatwaterError, match="cannot start"):
        ServerProcess(SLEEP, tmp_path / "absent", tmp_path / "log")


@pytest.mark.parametrize(
    ("code", "text"),
    [(-9, "was killed by signal 9 (SIGKILL)"), (1, "exited with code 1"), (-77, "was killed by signal 77 (unknown)")],
)
def test_ends_are_told_in_words(code: int, text: str) -> None:
    assert describe_exit(code) == text


def test_its_temporary_tables_are_its_own(tmp_path: Path) -> None:
    """A server that starts deletes what others have in a folder that they share."""
    process = ServerProcess(["/usr/bin/env"], tmp_path, tmp_path / "log", tmp=tmp_path / "tmp")
    assert process.wait_while_progress(lambda: False, 60)
    assert f"TMPDIR={tmp_path / 'tmp'}" in (tmp_path / "log").read_text().splitlines()
