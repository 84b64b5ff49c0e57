"""`flatwater serve` as a user starts it, asked over HTTP."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from flatwater.errors import FlatwaterError

#: For what hangs.
PATIENCE_S = 120.0
#: The `flatwater` beside this interpreter, not another that may be on the PATH.
FLATWATER = str(Path(sys.executable).with_name("flatwater"))


@dataclass(frozen=True)
class Server:
    """A server that answers. `token` is that of its addresses: this machine's own needs none."""

    port: int
    #: From the start of the process until it said that it answers.
    start_s: float
    process: psutil.Process
    token: None = None

    def ask(self, path: str) -> tuple[float, str]:
        """An answer, read to its end: how long it took, and the text. Errors: FlatwaterError."""
        began_s = time.perf_counter()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, HTTPException) as error:
            raise FlatwaterError(f"flatwater serve did not answer {path}: {error}") from None
        finally:
            connection.close()
        took_s = time.perf_counter() - began_s
        if answer.status != 200:
            raise FlatwaterError(f"flatwater serve answered {path} with {answer.status}")
        return took_s, body.decode()

    def cpu_s(self) -> float:
        """User and system time so far."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def serve(folder: Path) -> Iterator[Server]:
    """`flatwater serve FOLDER` until the end of the block. Errors: FlatwaterError."""
    began_s = time.perf_counter()
    command = [FLATWATER, "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            told = child.stdout.readline()
            start_s = time.perf_counter() - began_s
            port = urlsplit(told.rpartition(" at ")[2].strip()).port
            if port is None:
                raise FlatwaterError(f"flatwater serve told no address: {told.strip() or 'it ended'}")
            yield Server(port, start_s, psutil.Process(child.pid))
        finally:
            end(child)


def end(child: subprocess.Popen[str]) -> None:
    """Ends a `flatwater` as the end of a session does; one that hangs is killed."""
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
