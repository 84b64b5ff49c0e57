"""An emulated device in a process of its own, for a run that measures something on it.

Its own, because a process that reads a file that it serves itself cannot be killed: it would wait for its own answer.
The process is told what to serve by the first line of its standard input, and ends, with everything undone, when that
is closed: also when the run was killed. What it tells comes back as lines of JSON.
"""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from flatwater._engine import Emulator, EngineError
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, Interrupted
from flatwater.plan.emulation import EmulatedDevice
from flatwater.runner.emulation import DEVICE_FILE
from flatwater.runner.volume import PATIENCE_S, Volume

#: How often the process tells what it has done.
TELL_S = 0.2
#: How long it may take to end: its volume's patience twice, and some.
END_S = 2 * PATIENCE_S + 20.0


@dataclass(frozen=True)
class Lag:
    """Answers that an emulator gave, and how many of them were late."""

    answers: int = 0
    late: float = 0.0

    def since(self, before: Lag) -> Lag:
        """What came after another moment."""
        return Lag(self.answers - before.answers, self.late - before.late)

    @property
    def late_pct(self) -> float:
        """Share of the answers that were late."""
        return 100.0 * self.late / self.answers if self.answers else 0.0


class ServedProcess:
    """The process, as the run sees it."""

    #: What is run.
    module: ClassVar[str] = "flatwater.runner.served"
    #: What it serves, in words, and the layer of its series.
    what: ClassVar[str] = "the emulated device"
    layer: ClassVar[str] = "storage"
    #: How long it may take to end.
    end_s: ClassVar[float] = END_S

    def __init__(self, request: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C is the run's: it ends this one when nothing uses it any more.
            start_new_session=True,
        )
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._error: str | None = None
        self._closing = False
        self._series: dict[str, float] = {}
        self._incidents: list[tuple[float, str]] = []
        self._lag = Lag()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            with self._lock:
                self._error = told.get("error", self._error)
                self._series |= told.get("series", {})
                self._incidents += [(time_s, text) for time_s, text in told.get("incidents", [])]
                if "answers" in told:
                    self._lag = Lag(told["answers"], told["late"])
            if told.get("ready"):
                self._ready.set()
        with self._lock:
            if not self._closing:
                self._error = self._error or "it died"
        self._ready.set()

    def wait_ready(self, stop: Callable[[], bool]) -> None:
        """Until it serves. Errors: FlatwaterError, Interrupted."""
        while not self._ready.wait(0.1):
            if stop():
                raise Interrupted(f"interrupted while {self.what} was being made")
        self.require_alive()

    def require_alive(self) -> None:
        """Errors: FlatwaterError when it is gone."""
        with self._lock:
            if self._error is not None:
                raise FlatwaterError(f"{self.what}: {self._error}", where=self.layer)

    def sample(self) -> dict[str, float]:
        """The series of its last interval."""
        with self._lock:
            return {f"{self.layer}.{name}": value for name, value in self._series.items()}

    def take_incidents(self) -> list[tuple[float, str]]:
        """What happened by itself since the last call."""
        with self._lock:
            taken, self._incidents = self._incidents, []
        return taken

    @property
    def lag(self) -> Lag:
        """How it kept up so far."""
        with self._lock:
            return self._lag

    def close(self, last_words: str = "") -> None:
        """Ends it, and waits until everything is undone. Errors: FlatwaterError when that takes too long."""
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


class ServedDevice(ServedProcess):
    """An emulated device, with a file system on it if one is asked for."""

    def __init__(self, plan: EmulatedDevice, *, file_system: str | None, folder: Path, make: bool) -> None:
        file = Path(plan.mount) / DEVICE_FILE
        asked = {"file": str(file), "file_system": file_system, "folder": str(folder), "make": make}
        super().__init__({"plan": to_json(plan), **asked})


def tell(**told: Any) -> None:
    """A line for the run."""
    print(json.dumps(told), flush=True)


def serve(request: dict[str, Any]) -> None:
    """Serves until standard input is closed."""
    emulator = Emulator(request["plan"])
    volume: Volume | None = None
    try:
        if request["file_system"]:
            volume = Volume(Path(request["file"]), Path(request["folder"]), request["file_system"])
            volume.open(make=request["make"])
        tell(ready=True)
        while not select.select([sys.stdin], [], [], TELL_S)[0]:
            _tell_samples(emulator)
            if not emulator.mounted():
                tell(error="somebody unmounted it")
                return
    finally:
        if volume is not None:
            volume.close()
        _stop(emulator)


def _tell_samples(emulator: Emulator) -> None:
    samples = emulator.samples()
    lag = json.loads(emulator.summary())["lag"]
    late = lag.get("lag_late_pct", 0.0) * lag["answers"] / 100.0
    incidents = [incident for sample in samples for incident in sample["incidents"]]
    tell(series=samples[-1]["series"] if samples else {}, incidents=incidents, answers=lag["answers"], late=late)


def _stop(emulator: Emulator) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            return emulator.stop()
        except OSError:
            time.sleep(0.2)
    return emulator.stop(lazily=True)


def run_process(serve: Callable[[dict[str, Any]], None]) -> int:
    """The process: serves what the first line of its standard input asks for, and tells why it could not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = sys.stdin.readline()
    if not line:
        return 1
    try:
        serve(json.loads(line))
    except BrokenPipeError:
        return 1  # whoever asked for it is gone
    except (EngineError, FlatwaterError, OSError, ValueError) as error:
        with suppress(BrokenPipeError):
            tell(error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run_process(serve))
