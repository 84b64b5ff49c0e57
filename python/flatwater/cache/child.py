"""The serving child, as its supervisor sees it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from flatwater.cache.messages import Answer, Request, Said, Task
from flatwater.cache.task import write_task
from flatwater.errors import FlatwaterError, UserError


class Child:
    """One process that serves. `hear(child, message)` gets the messages that it sends without a request, in a thread of
    the child's own. The last one is `{"ended": True}`.
    """

    def __init__(self, task: Task, fds: dict[str, int], hear: Callable[[Child, Said], None]) -> None:
        self.began_s = time.monotonic()
        self._hear = hear
        self._link, theirs = socket.socketpair()
        handle = write_task({**task, "fds": fds})
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "flatwater.cache.serving", str(handle), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[handle, theirs.fileno(), *fds.values()],
            )
        os.close(handle)
        self._lock = threading.Condition()
        self._answers: dict[int, Answer] = {}
        self._next = 1
        self._ready = False
        self._error: tuple[str, str | None] | None = None
        self._gone = False
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process ID."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return not self._gone and self._process.poll() is None

    @property
    def how_it_ended(self) -> str:
        """How it ended, in words: a signal's name, an exit code or its own error."""
        code = self._process.poll()
        if code is None:
            return "it still runs"
        if code < 0:
            return signal.Signals(-code).name
        return self._error[0] if self._error is not None else f"exit {code}"

    def _listen(self) -> None:
        with suppress(OSError), self._link.makefile("rb") as lines:
            for line in lines:
                self._take(json.loads(line))
        self._process.wait()
        with self._lock:
            self._gone = True
            self._lock.notify_all()
        self._hear(self, {"ended": True})

    def _take(self, message: Any) -> None:
        with self._lock:
            if "id" in message:
                self._answers[message["id"]] = message
            self._ready |= bool(message.get("ready"))
            if "failed" in message:
                self._error = (message["failed"], message.get("hint"))
            self._lock.notify_all()
        if "id" not in message:
            self._hear(self, message)

    def wait_ready(self, timeout_s: float) -> None:
        """Waits until it serves. Errors: FlatwaterError with its message, or if it died or takes too long."""
        with self._lock:
            self._lock.wait_for(lambda: self._ready or self._gone or self._error is not None, timeout_s)
            if self._ready:
                return
            what, hint = self._error or ("", None)
        if not what:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            what = f"the serving process died ({self.how_it_ended})" if self._gone else "it does not begin to serve"
        raise FlatwaterError(what, hint=hint)

    def ask(self, request: Request, timeout_s: float | None = 30.0) -> Answer:
        """Sends a request and waits for the answer. Errors: FlatwaterError if it refuses, died, or does not answer."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            try:
                self._link.sendall(json.dumps(request | {"id": number}).encode() + b"\n")
            except OSError:
                raise FlatwaterError("the serving process died", hint="ask again in a moment") from None
            self._lock.wait_for(lambda: number in self._answers or self._gone, timeout_s)
            answer = self._answers.pop(number, None)
        if answer is None:
            raise FlatwaterError("the serving process died" if self._gone else "the serving process does not answer")
        if "error" in answer:
            kind = UserError if answer.get("user") else FlatwaterError
            raise kind(answer["error"] or "", where=answer.get("where"), hint=answer.get("hint"))
        answer.pop("id")
        return answer

    def kill(self) -> None:
        """Kills it. For the cache that is like a power failure."""
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
