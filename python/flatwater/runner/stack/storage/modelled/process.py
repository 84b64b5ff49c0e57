"""The process that serves a modelled device in real time (served/process.py).

The first line of its standard input says what it serves, and which file system it makes there.
"""

from __future__ import annotations

import json
import select
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypedDict

from flatwater._engine import Emulator
from flatwater.engine_json import Json, to_json
from flatwater.plan.emulation import EmulatedDevice
from flatwater.runner.stack.served.process import Message, ServedProcess, run_process, send
from flatwater.runner.stack.served.volume import PATIENCE_S, Volume
from flatwater.runner.stack.storage.modelled.emulation import DEVICE_FILE

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
        file = Path(plan.mount) / DEVICE_FILE
        request = Request(plan=to_json(plan), file=str(file), file_system=file_system, folder=str(folder), make=make)
        super().__init__(request)

    def _receive(self, message: Message) -> None:
        super()._receive(message)
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
        while not select.select([sys.stdin], [], [], SEND_S)[0]:
            _send_samples(emulator)
            if not emulator.mounted():
                send(error="somebody unmounted it")
                return
    finally:
        if volume is not None:
            volume.close()
        _stop(emulator)


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
