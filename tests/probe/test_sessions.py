from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from flatwater.probe.server.sessions import Sessions

#: A session as a server has it: it waits for a client, then for another thread.
SESSION = """
import select, threading
never, client = threading.Event(), select.poll()
while True:
    client.poll(60)
    never.wait(0.06)
"""
#: A thread that never waits for a client.
BACKGROUND = "import threading; threading.Event().wait()"


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[int]:
    child = subprocess.Popen([sys.executable, "-S", "-c", request.param])
    try:
        yield child.pid
    finally:
        child.kill()
        child.wait()


def sampled(sessions: Sessions) -> dict[str, float]:
    until = time.monotonic() + 240
    while not (told := sessions.sample()):
        assert time.monotonic() < until, "it samples"
        time.sleep(0.5)
    return told


@pytest.mark.parametrize("program", [SESSION], indirect=True)
def test_a_session_that_waits_for_another_thread_is_counted(program: int) -> None:
    sessions = Sessions(lambda: [program])
    try:
        until, waiting = time.monotonic() + 240, 0.0
        while not waiting:
            assert time.monotonic() < until, "it waits about half of the time"
            told = sampled(sessions)
            waiting = told["sessions_waiting"]
        assert waiting <= 1
        assert told["sessions_reading"] == told["threads_syncing"] == 0
    finally:
        sessions.end()


@pytest.mark.parametrize("program", [BACKGROUND], indirect=True)
def test_a_thread_that_never_had_a_client_is_no_session(program: int) -> None:
    sessions = Sessions(lambda: [program])
    try:
        assert sampled(sessions)["sessions_waiting"] == 0
    finally:
        sessions.end()


def test_without_a_program_there_are_no_figures() -> None:
    sessions = Sessions(list)
    try:
        assert sessions.sample() == {}
    finally:
        sessions.end()
