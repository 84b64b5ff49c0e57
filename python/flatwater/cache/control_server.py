"""The other end of `control.ask`: takes requests from the control socket and sends the answers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from flatwater.cache.control import LINE_BYTES_MAX
from flatwater.cache.messages import Answer, Request
from flatwater.errors import FlatwaterError, UserError

#: A client that sends no request for this long is dropped.
REQUEST_S = 60.0


class ControlServer:
    """Serves one control socket, each connection in a thread. `answer` may raise FlatwaterError or UserError."""

    def __init__(self, listener: socket.socket, answer: Callable[[Request], Answer]) -> None:
        self._listener = listener
        self._answer = answer
        #: Requests that have no answer yet.
        self._unanswered = 0
        self._changed = threading.Condition()

    def start(self) -> None:
        """Accepts connections from now on."""
        threading.Thread(target=self._accept, daemon=True).start()

    def wait_until_answered(self, timeout_s: float) -> None:
        """Waits until every request has its answer, but not longer than `timeout_s`."""
        with self._changed:
            self._changed.wait_for(lambda: self._unanswered == 0, timeout_s)

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._converse, args=(link,), daemon=True).start()

    def _converse(self, link: socket.socket) -> None:
        with link, suppress(OSError):
            link.settimeout(REQUEST_S)
            with link.makefile("rb") as lines:
                line = lines.readline(LINE_BYTES_MAX)
            with self._changed:
                self._unanswered += 1
            answer = self._answer_line(line)
            with suppress(OSError):
                link.sendall(json.dumps(answer).encode() + b"\n")
            with self._changed:
                self._unanswered -= 1
                self._changed.notify_all()

    def _answer_line(self, line: bytes) -> Answer:
        try:
            return self._answer(json.loads(line))
        except FlatwaterError as error:
            user = isinstance(error, UserError)
            return {"error": error.what, "hint": error.hint, "where": error.where, "user": user}
        except (ValueError, TypeError, KeyError):
            return {"error": "that is no request"}
