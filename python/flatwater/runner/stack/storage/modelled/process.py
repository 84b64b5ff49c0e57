"""The process that serves a modelled device in real time (served/process.py).

The first line of its standard input says what it serves, and which file system it makes there.
"""

from __future__ import annotations

import json
import select
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypedDict

from flatwater._engine import Emulator
from flatwater.engine_json import Json, to_json
from flatwater.errors import Interrupted
from flatwater.plan.emulation import EmulatedDevice
from flatwater.runner.stack.served.process import Message, ServedProcess, run_process, send
from flatwater.runner.stack.served.volume import PATIENCE_S, Volume
from flatwater.runner.stack.storage.modelled.emulation import DEVICE_FILE

#: The lines that a run may send, and what they do.
FORGET, SETTLE = "forget", "settle"
ORDERS: dict[str, Callable[[Emulator], None]] = {FORGET: Emulator.forget_trims, SETTLE: Emulator.settle}
#: Seconds between two messages with figures.
SEND_S = 0.2
#: Seconds for the process to end: twice the patience of its volume, and a margin.
END_S = 2 * PATIENCE_S + 20.0


@dataclass(frozen=True)
class Lag:
    """The answers of an emulator, and how many of them were late."""

    answers: int = 0
    late: float = 0.0

    def since(self, before: Lag) -> Lag:
        """The answers since an earlier moment."""
        return Lag(self.answers - before.answers, self.late - before.late)

    @property
    def late_pct(self) -> float:
        """Share of the answers that were late."""
        return 100.0 * self.late / self.answers if self.answers else 0.0


class Request(TypedDict):
    """What the process has to serve."""

    plan: Json[EmulatedDevice]
    #: The path of the device's file after mounting.
    file: str
    #: The file system on it (or None), its mount point, and whether to make it.
    file_system: str | None
    folder: str
    make: bool


class ServedDevice(ServedProcess):
    """An emulated device, with a file system on it if the run needs one."""

    module: ClassVar[str] = __name__
    what: ClassVar[str] = "the emulated device"
    layer: ClassVar[str] = "storage"
    end_s: ClassVar[float] = END_S

    def __init__(self, plan: EmulatedDevice, *, file_system: str | None, folder: Path, make: bool) -> None:
        self._lag = Lag()
        self._done = threading.Event()
        request = Request(
            plan=to_json(plan),
            file=str(Path(plan.mount) / DEVICE_FILE),
            file_system=file_system,
            folder=str(folder),
            make=make,
        )
        super().__init__(request)

    def order(self, line: str, stop: Callable[[], bool]) -> None:
        """Lets the process do what a line of `ORDERS` asks for. Errors: FlatwaterError, Interrupted."""
        self._done.clear()
        self.send_line(line)
        while not self._done.wait(0.1):
            if stop():
                raise Interrupted(f"interrupted while {self.what} was being made")
            self.require_alive()

    def _receive(self, message: Message) -> None:
        super()._receive(message)
        if message.get("done"):
            self._done.set()
        if "answers" in message:
            self._lag = Lag(message["answers"], message["late"])

    @property
    def lag(self) -> Lag:
        """The answers so far, and how many were late."""
        with self._lock:
            return self._lag


def serve(request: Request) -> None:
    """Serves until standard input is closed."""
    emulator = Emulator(request["plan"])
    volume: Volume | None = None
    try:
        if request["file_system"]:
            volume = Volume(Path(request["file"]), Path(request["folder"]), request["file_system"])
            volume.open(make=request["make"])
        send(ready=True)
        while not select.select([sys.stdin], [], [], SEND_S)[0] or _obey(emulator):
            _send_samples(emulator)
            if not emulator.mounted():
                send(error="somebody unmounted it")
                return
    finally:
        if volume is not None:
            volume.close()
        _stop(emulator)


def _obey(emulator: Emulator) -> bool:
    """Does what a line of standard input asks for; False if that is closed."""
    line = sys.stdin.readline()
    if line:
        ORDERS[line.strip()](emulator)
        send(done=True)
    return bool(line)


def _send_samples(emulator: Emulator) -> None:
    samples = emulator.samples()
    lag = json.loads(emulator.summary())["lag"]
    late = lag.get("lag_late_pct", 0.0) * lag["answers"] / 100.0
    incidents = [incident for sample in samples for incident in sample["incidents"]]
    send(series=samples[-1]["series"] if samples else {}, incidents=incidents, answers=lag["answers"], late=late)


def _stop(emulator: Emulator) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            return emulator.stop()
        except OSError:
            time.sleep(0.2)
    return emulator.stop(lazily=True)


if __name__ == "__main__":
    sys.exit(run_process(serve))
