"""What the page of a run under way is sent: server-sent events, over a plain socket."""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from benchmarks.pages.beside import Beside
from benchmarks.pages.server import PATIENCE_S


def ask_for_events(port: int, key: str) -> socket.socket:
    """A connection on which the events of a run come."""
    opened = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    opened.sendall(f"GET /run/{key}/events HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return opened


def events(opened: socket.socket) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events, one after the other: name and data."""
    name = ""
    with opened.makefile("rb") as lines:
        for line in lines:
            if line.startswith(b"event: "):
                name = line.removeprefix(b"event: ").decode().strip()
            elif line.startswith(b"data: "):
                yield name, json.loads(line.removeprefix(b"data: "))


def intervals_of(data: dict[str, Any]) -> int:
    """How many intervals the lines of an event `all` have."""
    return max((one["count"] if "count" in one else 1 + len(one["steps"]) for one in data["times"]), default=0)


class Viewers(Beside):
    """Some who watch a run. They take what they are sent and do nothing with it: their screens are elsewhere."""

    def __init__(self, port: int, key: str, count: int) -> None:
        super().__init__()
        self._opened = ExitStack()
        self._selector = self._opened.enter_context(selectors.DefaultSelector())
        #: Bytes that each was sent.
        self.heard: dict[int, int] = {}
        for _ in range(count):
            one = self._opened.enter_context(ask_for_events(port, key))
            self._selector.register(one, selectors.EVENT_READ)
            self.heard[one.fileno()] = 0

    def _close(self) -> None:
        self._opened.close()

    def _work(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(0.5):
                one = key.fileobj
                assert isinstance(one, socket.socket)
                piece = one.recv(1 << 20)
                if not piece:
                    self._selector.unregister(one)
                self.heard[one.fileno()] += len(piece)
