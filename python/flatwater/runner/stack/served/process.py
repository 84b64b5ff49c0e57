"""The process that serves a layer as a file during a run.

It is a separate process, because a process that reads a file that it serves itself cannot be killed: it would wait for
its own answer.
The first line of its standard input says what it serves. When its standard input closes, also because the run was
killed, it undoes everything and ends. It sends lines of JSON to the run.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from flatwater._engine import EngineError
from flatwater.errors import FlatwaterError, Interrupted

if TYPE_CHECKING:
    from flatwater.runner.journal import Journal


class Message(TypedDict, total=False):
    """A line that the process sends."""

    #: The file is being served.
    ready: bool
    #: What a line asked for is done.
    done: bool
    error: str
    #: The series of the last interval, and its incidents.
    series: dict[str, float]
    incidents: list[tuple[float, str]]
    #: The answers so far, and how many of them were late; from an emulated device.
    answers: int
    late: float


class ServedProcess:
    """The run's side of the process."""

    #: The module that the process runs.
    module: ClassVar[str]
    #: A name of the served thing for messages, and the layer of its series.
    what: ClassVar[str]
    layer: ClassVar[str]
    #: Seconds that the process has to end.
    end_s: ClassVar[float]

    def __init__(self, request: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C must not reach the process. The run ends it when nothing uses it any more.
            start_new_session=True,
        )
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._error: str | None = None
        self._closing = False
        self._series: dict[str, float] = {}
        self._incidents: list[tuple[float, str]] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            with self._lock:
                self._receive(message)
            if message.get("ready"):
                self._ready.set()
        with self._lock:
            if not self._closing:
                self._error = self._error or "it died"
        self._ready.set()

    def _receive(self, message: Message) -> None:
        """Handles one line of the process. The caller holds the lock."""
        self._error = message.get("error", self._error)
        self._series |= message.get("series", {})
        self._incidents += [(time_s, text) for time_s, text in message.get("incidents", [])]

    def wait_ready(self, stop: Callable[[], bool]) -> None:
        """Waits until the file is served. Errors: FlatwaterError, Interrupted."""
        while not self._ready.wait(0.1):
            if stop():
                raise Interrupted(f"interrupted while {self.what} was being made")
        self.require_alive()

    def require_alive(self) -> None:
        """Errors: FlatwaterError when the process has died."""
        with self._lock:
            if self._error is not None:
                raise FlatwaterError(f"{self.what}: {self._error}", where=self.layer)

    def send_line(self, line: str) -> None:
        """Sends a line to the process."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def series(self) -> dict[str, float]:
        """The series of the last interval, without the name of the layer."""
        with self._lock:
            return dict(self._series)

    def watch(self, journal: Journal) -> None:
        """Records the incidents since the last call. Errors: FlatwaterError when the process has died."""
        for _, text in self._take_incidents():
            journal.event("incident", text)
        self.require_alive()

    def _take_incidents(self) -> list[tuple[float, str]]:
        with self._lock:
            taken, self._incidents = self._incidents, []
        return taken

    @property
    def ended_well(self) -> bool:
        """Whether the process ended, and completed all its work."""
        return self._process.poll() == 0

    def close(self, last_words: str = "") -> None:
        """Ends the process and waits until it has undone everything. Errors: FlatwaterError after a timeout."""
        with self._lock:
            self._closing = True
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, OSError):
            self._process.stdin.write(last_words)
            self._process.stdin.close()
        try:
            self._process.wait(self.end_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise FlatwaterError(f"{self.what} did not end: something still uses it", where=self.layer) from None
        finally:
            self._listener.join(1.0)
            if self._process.stdout is not None and not self._listener.is_alive():
                self._process.stdout.close()


class ServedProbe:
    """A probe for the figures of the process, under the names of its place in the stack."""

    def __init__(self, served: ServedProcess, prefix: str) -> None:
        self._served = served
        self._prefix = prefix

    def sample(self) -> dict[str, float]:
        """The series of the process's last interval."""
        return {self._prefix + name: value for name, value in self._served.series().items()}


def send(**message: Any) -> None:
    """Sends a line to the run."""
    print(json.dumps(message), flush=True)


def run_process(serve: Callable[[Any], None]) -> int:
    """Runs the process: serves what the first line of its standard input says, and sends the error if it fails."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = sys.stdin.readline()
    if not line:
        return 1
    try:
        serve(json.loads(line))
    except BrokenPipeError:
        return 1  # the run has ended
    except (EngineError, FlatwaterError, OSError, ValueError) as error:
        with suppress(BrokenPipeError):
            send(error=str(error))
        return 1
    return 0
