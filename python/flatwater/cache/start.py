"""Starting a cache: the checks, the claims on both devices, and the supervisor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from flatwater.cache import engine
from flatwater.cache.locate import identified, located
from flatwater.cache.messages import Task
from flatwater.cache.mounting import check_mount_point, require_fuse
from flatwater.cache.state import CacheState, keep_changes, lasting_folder, read_process, read_socket, socket_identity
from flatwater.cache.task import supervisor_command, write_task
from flatwater.errors import FlatwaterError, UserError
from flatwater.place import claim, open_place, overlap, require_unused

#: A longer log is renamed when a cache starts.
_LOG_BYTES_MAX = 1024 * 1024
#: Bytes that a socket's address has room for, without the closing zero (unix(7)).
_SOCKET_BYTES_MAX = 107
#: Supervisors that this process started.
_launched: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Start:
    """A request to start a cache."""

    state: CacheState
    mount: Path | None = None
    nbd: Path | None = None
    #: The file of a block trace.
    record: Path | None = None
    #: Start a cache whose device had failed with no content. Its dirty blocks are lost.
    give_up: bool = False
    #: The backing device is the right one although the checks refuse it.
    trust: bool = False


def prepare(start: Start) -> tuple[Task, list[str]]:
    """Checks and claims everything; gives the task of a supervisor, with descriptors of this process, and notes for the
    user. The caller holds `state.alone()`.

    Errors: UserError, FlatwaterError.
    """
    state = start.state
    running = read_process(state.name)
    if running is not None:
        raise UserError(
            f"cache {state.name} runs already (process {running.pid})", where="NAME", hint="flatwater cache status"
        )
    if start.mount is None and start.nbd is None:
        raise UserError("nobody could use it", where="--mount", hint="--mount DIR, --nbd SOCKET, or both")
    state, notes = located(state)
    fds: dict[str, int] = {}
    with ExitStack() as undo:
        for role, path, where in (("fast", state.fast, "FAST"), ("backing", state.backing, "BACKING")):
            place = open_place(path, where)
            if place is None:
                raise UserError(f"{path} is gone", where=where, hint="is its device there, is it mounted?")
            require_unused(place, where)
            fds[role] = claim(place, where)
            undo.callback(os.close, fds[role])
            if role == "backing":
                fast = open_place(state.fast, "FAST")
                same = overlap(fast, place) if fast is not None else None
                if same:
                    raise UserError(same, where=where, hint="a cache needs two: a fast one and a slow one")
        engine.require_pair(state, trust=start.trust)
        state = identified(state)
        if start.mount is not None:
            require_fuse()
            note = check_mount_point(start.mount, state)
            notes += [note] if note else []
            state = replace(state, mount=os.path.realpath(start.mount))
        else:
            state = replace(state, mount=None)
        state = replace(state, dirty_blocks=None, nbd=_socket(start.nbd, state.name) if start.nbd is not None else None)
        record = check_record(start.record, state.mount, "--record") if start.record is not None else None
        state = keep_changes(start.state, state)
        undo.pop_all()
    task: Task = {
        "state": asdict(state),
        "record": record,
        "give_up": start.give_up,
        "trust": start.trust,
        "identity": engine.places(state).identity,
        "fds": fds,
    }
    return task, notes


def check_record(path: Path, mount: str | None, where: str) -> str:
    """The absolute path of a trace to write. Errors: UserError if it cannot be written there."""
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise UserError(f"{path.parent} is not a directory", where=where, hint=f"mkdir -p {path.parent}")
    if real.exists() and not real.is_file():
        raise UserError(f"{path} is no file", where=where, hint="another path")
    if mount is not None and Path(mount) in real.parents:
        raise UserError(f"{path} would be on the cached device itself", where=where, hint="another place")
    return str(real)


def _socket(path: Path, name: str) -> str:
    where = "--nbd"
    absolute = path.absolute()
    if len(os.fsencode(absolute)) > _SOCKET_BYTES_MAX:
        told = f"{path} is longer than the {_SOCKET_BYTES_MAX} bytes that a socket's path may have"
        raise UserError(told, where=where, hint="a shorter one, as /run/db.nbd")
    if not absolute.parent.is_dir():
        raise UserError(f"{path.parent} is not a directory", where=where, hint=f"mkdir -p {path.parent}")
    if absolute.exists() and not absolute.is_socket():
        raise UserError(f"{path} exists and is no socket", where=where, hint="another path")
    if absolute.is_socket() and _is_listened_to(absolute):
        raise UserError(f"somebody listens at {path} already", where=where, hint="another path")
    if absolute.is_socket() and socket_identity(absolute) != read_socket(name):
        what = f"{path} is a socket that cache {name} did not make"
        raise UserError(what, where=where, hint=f"another path, or rm {path} if nobody needs it")
    return str(absolute)


def _is_listened_to(path: Path) -> bool:
    import socket

    from flatwater.cache.control import short_path

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link, short_path(path) as address:
        try:
            link.connect(address)
        except OSError:
            return False
    return True


def log_path(name: str) -> Path:
    """The log of a cache's processes."""
    return lasting_folder(name) / "log"


def launch(task: Task) -> dict[str, int]:
    """Starts a supervisor in a session of its own and waits until it serves; its process ID.

    Errors: FlatwaterError with its message; then nothing is left behind.
    """
    name = task["state"]["name"]
    path = log_path(name)
    if path.exists() and path.stat().st_size > _LOG_BYTES_MAX:
        path.replace(path.with_name("log.1"))
    heard, report = os.pipe()
    handle = write_task({**task, "fds": task["fds"] | {"report": report}})
    with path.open("ab") as log:
        process = subprocess.Popen(
            supervisor_command(handle),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[handle, report, *task["fds"].values()],
            start_new_session=True,
            # The current folder may be on a file system that is unmounted later.
            cwd="/",
        )
    # The supervisor outlives this process on purpose.
    _launched.append(process)
    for number in (handle, report, *task["fds"].values()):
        os.close(number)
    with os.fdopen(heard, "rb") as source:
        line = source.readline()
    told = json.loads(line) if line else {}
    if not told.get("ready"):
        process.wait()
        what = told.get("error") or "its supervisor died"
        raise FlatwaterError(f"cache {name} did not start: {what}", hint=told.get("hint") or f"{path} tells more")
    return {"process": process.pid}


def run_here(task: Task, told: Any) -> int:
    """Runs the supervisor in this process until the cache is stopped; the exit code. Calls `told` when it serves."""
    from flatwater.cache.supervisor import Supervisor

    heard, report = os.pipe()
    supervisor = Supervisor({**task, "fds": task["fds"] | {"report": report}})

    def listen() -> None:
        with os.fdopen(heard, "rb") as source:
            line = source.readline()
        answer = json.loads(line) if line else {}
        if answer.get("ready"):
            told()
        elif answer.get("error"):
            print(str(FlatwaterError(f"error: {answer['error']}", hint=answer.get("hint"))), file=sys.stderr)

    import threading

    listener = threading.Thread(target=listen)
    listener.start()
    code = supervisor.run()
    listener.join()
    return code
