"""Requests to a cache that runs: a line of JSON over a unix socket, and a line of JSON back.

The supervisor answers, so that there is an answer also while the serving child is being restarted. Work that takes long
(a flush, a preload) is a *job*: one request begins it, others with its number ask for its progress.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flatwater.cache.messages import Answer, Request, ShownJob
from flatwater.cache.state import read_process, running_folder
from flatwater.errors import FlatwaterError, UserError

#: How long an answer may take. A request for a job is answered when the job has begun.
ANSWER_S = 60.0
#: How often the progress of a job is read, seconds.
POLL_S = 0.1
#: The longest line that is read, either way.
LINE_BYTES_MAX = 4 * 2**20


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """A short name for the path of a socket: a path over 107 bytes does not fit into a socket's address (unix(7))."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def running(name: str) -> bool:
    """Whether a cache has a supervisor."""
    return read_process(name) is not None


def ask(name: str, request: Request, timeout_s: float = ANSWER_S) -> Answer:
    """The answer of a cache's supervisor to a request.

    Errors: FlatwaterError if it does not run, does not answer, or refuses; UserError if the request is wrong.
    """
    path = running_folder(name) / "control"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(timeout_s)
            with short_path(path) as address:
                link.connect(address)
            link.sendall(json.dumps(request).encode() + b"\n")
            line = _read_line(link)
    except PermissionError:
        raise FlatwaterError(f"cache {name} is another user's", hint="ask as the user that started it") from None
    except (FileNotFoundError, ConnectionError, NotADirectoryError):
        if running(name):
            raise FlatwaterError(f"cache {name} is starting or ending", hint="ask again in a moment") from None
        raise UserError(f"cache {name} does not run", hint=f"flatwater cache start {name} --mount DIR") from None
    except TimeoutError:
        raise FlatwaterError(
            f"cache {name} did not answer within {timeout_s:.0f} s", hint="its log tells more: flatwater cache status"
        ) from None
    answer: Answer = json.loads(line)
    if "error" in answer:
        kind = UserError if answer.get("user") else FlatwaterError
        raise kind(answer["error"] or "", where=answer.get("where"), hint=answer.get("hint"))
    return answer


def _read_line(link: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        part = link.recv(65536)
        if not part or len(received) > LINE_BYTES_MAX:
            raise ConnectionError("the answer was cut short")
        received += part
    return bytes(received)


def ask_job(name: str, job: int) -> ShownJob:
    """The progress of a job, or how it ended: `state`, `done`, `total`, `error`. Errors: as of `ask`."""
    found = ask(name, {"do": "job", "job": job}).get("found")
    if found is None:
        hint = f"flatwater cache restart {name} puts this version in its place"
        raise FlatwaterError(
            f"cache {name} is served by another version of flatwater, which reports jobs in another way", hint=hint
        )
    return found


def watch_job(name: str, job: int, told: Callable[[ShownJob], None]) -> ShownJob:
    """Waits for the end of a job. `told` is called with its progress: `state`, `done`, `total`.

    Errors: FlatwaterError if it failed or was stopped.
    """
    while True:
        found = ask_job(name, job)
        told(found)
        if found["state"] == "done":
            return found
        if found["state"] in ("failed", "stopped"):
            what = found.get("error") or "it was stopped"
            failure = UserError if found.get("user") else FlatwaterError
            raise failure(f"{found['kind']}: {what}", hint=found.get("hint"))
        time.sleep(POLL_S)
