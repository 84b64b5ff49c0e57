"""A thousand who watch one run, over the machine's own network, and one more."""

from __future__ import annotations

import resource
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from servelab import PATIENCE_S, Lab, started_run, wait_for, write_seconds

from flatwater.results import Result, open_result
from flatwater.serve.folders import key_of

MANY = 1000
#: Both ends of each connection are in this process, and its own files.
FILES = 2 * MANY + 500


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        pytest.skip(f"this process may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Crowd:
    """All who watch. What each was sent is counted: the seconds in it."""

    def __init__(self, lab: Lab, key: str, count: int, opened: ExitStack) -> None:
        self._selector = opened.enter_context(selectors.DefaultSelector())
        self.heard: dict[socket.socket, bytes] = {}
        for _ in range(count):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", lab.port), timeout=PATIENCE_S))
            one.sendall(f"GET /run/{key}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            self._selector.register(one, selectors.EVENT_READ)
            self.heard[one] = b""

    def until_all(self, told: bytes) -> None:
        """Reads until everybody has been told this."""
        missing = {one for one, heard in self.heard.items() if told not in heard}
        end_s = time.monotonic() + PATIENCE_S
        while missing:
            assert time.monotonic() < end_s, f"{len(missing)} never heard {told!r}"
            for key, _ in self._selector.select(1.0):
                one = key.fileobj
                assert isinstance(one, socket.socket)
                piece = one.recv(65536)
                assert piece, "somebody was sent away"
                self.heard[one] = self.heard[one][-200_000:] + piece
                if told in self.heard[one]:
                    missing.discard(one)


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
def test_a_thousand_viewers_hear_every_second_and_one_more_is_told(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 30)
    key = key_of(result.path)
    with Lab([tmp_path], connections=MANY + 20, viewers=MANY) as lab, ExitStack() as opened:
        crowd = Crowd(lab, key, MANY, opened)
        crowd.until_all(b"event: all")
        wait_for(lambda: lab.hub.viewers == MANY)
        for at in range(30, 35):
            write_seconds(result, at, 1)
            crowd.until_all(b'"times":[%d.0]' % (at + 1))
        # One more is told, and so are those after; other pages are shown as always.
        for _ in range(3):
            refused = lab.ask(f"/run/{key}/events")
            assert refused.status == 503 and f"{MANY} viewers watch already" in refused.text
        assert lab.ask("/").status == lab.ask(f"/run/{key}").status == 200
        # Those who say nothing take no place from those who watch.
        for _ in range(100):
            opened.enter_context(socket.create_connection(("127.0.0.1", lab.port), timeout=PATIENCE_S))
        write_seconds(result, 35, 1)
        crowd.until_all(b'"times":[36.0]')
        assert lab.hub.viewers == MANY and lab.ask("/").status == 200
        _end(result)
        crowd.until_all(b'"state":"ended"')


def _end(result: Result) -> None:
    """The run is whole: nobody who watched has changed anything."""
    result.write_manifest("interrupted")
    cell = open_result(result.path).cells[0]
    assert list(cell.series("workload", "throughput").time_s) == [float(at) for at in range(1, 37)]
