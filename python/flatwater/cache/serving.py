"""The serving child: the engine between the devices and the clients of the cache.

It imports as little as possible, because clients wait while it restarts. When its supervisor dies, it stops the engine
and becomes the supervisor itself, with all descriptors kept, and starts the next child.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from flatwater._engine import CacheServer, EngineError
from flatwater.cache.messages import Answer, Job, Request, Statistics, Task
from flatwater.cache.open_places import path_to_open
from flatwater.cache.task import become_supervisor, read_task
from flatwater.engine_json import to_json
from flatwater.plan import cache as plan

#: How often the engine is polled: whether it still serves, its notes, its settings.
POLL_S = 0.2
#: How long the engine may take to stop when the supervisor has died. To wait longer is worse than a crash.
END_S = 10.0
#: Ranges are preloaded and pinned in pieces of this length, so that their progress is known.
PIECE_BYTES = 16 * 2**20


class Serving:
    """The child's work."""

    def __init__(self, task: Task, link: socket.socket) -> None:
        self._task = task
        self._link = link
        self._lock = threading.Lock()
        self._changes = threading.Lock()
        #: The requests of the jobs under way.
        self._jobs: dict[int, Job] = {}
        #: Progress of some of them in blocks: done, total.
        self._progressed: dict[int, tuple[int, int]] = {}
        self._settings = plan.EngineSettings({})
        #: The file of the block trace.
        self._record: str | None = task.get("record")
        self._stopping = False
        state, fds = task["state"], task["fds"]
        served = plan.CacheServer(
            name=state["name"],
            fast=path_to_open(state["fast"], fds.get("fast")),
            slow=path_to_open(state["backing"], fds.get("backing")),
            pair=state["pair"],
            trust=task.get("trust", False),
            identity=task.get("identity"),
            settings=plan.settings_of(state["preset"], state["settings"].items()),
            record=task.get("record"),
            give_up=task.get("give_up", False),
            fuse=plan.Fuse(fds["fuse"], plan.Protocol(**json.loads(task["protocol"]))) if "fuse" in fds else None,
        )
        export = None
        if "nbd" in fds:
            export = to_json(plan.Export(fds["nbd"], state["name"], state["slow_bytes"], state["block_bytes"]))
        self._server = CacheServer(to_json(served), export)

    def run(self) -> int:
        """Serves until a request to stop, or the end of the supervisor; the exit code."""
        self._settings = plan.EngineSettings(json.loads(self._server.statistics())["settings"] or {})
        self._say(ready=True)
        notes = self._server.notes()
        if notes:
            self._say(told=[[time.time(), note] for note in notes])
        threading.Thread(target=self._watch, daemon=True).start()
        threading.Thread(target=self._restore, daemon=True).start()
        with suppress(OSError), self._link.makefile("rb") as lines:
            for line in lines:
                request = json.loads(line)
                if request["do"] == "stop":
                    return self._stop(request)
                self._reply(request)
        self._take_over()
        return 1

    def _say(self, **message: Any) -> None:
        # If the supervisor is gone, the main thread notices it.
        with self._lock, suppress(OSError):
            self._link.sendall(json.dumps(message).encode() + b"\n")

    def _reply(self, request: Request) -> None:
        try:
            answer = self._do(request)
        except (EngineError, ValueError) as error:
            answer = {"error": str(error), "user": isinstance(error, ValueError)}
        self._say(id=request["id"], **answer)

    def _do(self, request: Request) -> Answer:
        match request["do"]:
            case "statistics":
                # Changed settings reach the supervisor before they are shown, so that they survive a kill.
                answer = self._report_changes()
                return {**answer, "progress": self._progress(answer["statistics"] or {})}
            case "progress":
                return {"progress": self._progress(json.loads(self._server.statistics())["statistics"])}
            case "record":
                self._server.record(request["path"])
                self._report_changes()
                return {"record": self._record}
            case "clients":
                connections, processes = self._server.clients()
                return {"connections": connections, "processes": processes}
            case "set":
                self._command(plan.Set(tuple((name, value) for name, value in request["changes"])))
                self._report_changes()
                return {"settings": self._settings}
            case "stop-flush":
                self._command("stop_write_back")
                return {"stopped": [number for number, job in self._jobs.items() if job["do"] == "flush"]}
            case _:
                threading.Thread(target=self._work, args=(request,), daemon=True).start()
                return {}

    def _command(self, order: plan.Order) -> None:
        """Gives a command to the engine. Errors: EngineError; ValueError for an impossible command."""
        self._server.command(to_json(order))

    def _restore(self) -> None:
        """Restores what is stored but is no setting: the size in use, and the pinned ranges."""
        state = self._task["state"]
        orders: list[Request] = [{"do": "pin", "range": pin} for pin in state.get("pins") or []]
        if state.get("used_bytes") is not None:
            orders.insert(0, {"do": "resize", "bytes": state["used_bytes"]})
        for request in orders:
            try:
                self._command(_order(request))
            except (EngineError, ValueError) as error:
                if self._stopping:
                    return
                self._say(told=[[time.time(), f"could not be restored, {request}: {error}"]])

    def _work(self, request: Request) -> None:
        number, kind = request["job"], request["do"]
        self._jobs[number] = Job(do=kind, job=number, range=request.get("range"), bytes=request.get("bytes"))
        try:
            if kind in ("preload", "pin", "unpin"):
                self._in_pieces(number, request)
            else:
                self._command(_order(request))
        except (EngineError, ValueError) as error:
            if self._stopping:
                return  # the next child begins it again
            # The engine ends a write-back with `busy` when it was stopped by a request.
            stopped = kind == "flush" and str(error) == "busy"
            what, hint = (None, None) if stopped else self._why(kind, str(error))
            user = isinstance(error, ValueError)
            self._say(job=number, state="stopped" if stopped else "failed", error=what, hint=hint, user=user)
        else:
            self._say(job=number, state="done")
        finally:
            if not self._stopping:
                self._jobs.pop(number, None)

    def _why(self, kind: str, said: str) -> tuple[str, str | None]:
        """The error of a job that failed, and a hint."""
        if said == "busy":
            return f"another {kind} is under way", "wait for its end: flatwater cache status"
        if kind != "flush":
            return said, None
        with suppress(EngineError):
            left = json.loads(self._server.statistics())["statistics"]["dirty_blocks"]
            said = f"{left:,} blocks stay dirty, safe in the cache: the backing device does not take them ({said})"
        return said, "is it full, or read-only? Then once more"

    def _in_pieces(self, number: int, request: Request) -> None:
        """Does a range in pieces, so that its progress is known."""
        begin, length = _range(request)
        block = self._task["state"]["block_bytes"]
        for at in range(begin, begin + length, PIECE_BYTES):
            if self._stopping:
                raise EngineError("it is stopping")
            piece = [at, min(PIECE_BYTES, begin + length - at)]
            self._command(_order(request | {"range": piece}))
            self._progressed[number] = ((at + piece[1] - begin) // block, length // block)

    def _progress(self, statistics: Statistics) -> dict[int, tuple[int, int]]:
        """Progress of the jobs in blocks: done, total."""
        flushed = (int(statistics["flush_blocks_done"]), int(statistics["flush_blocks"]))
        found = {number: self._progressed.get(number) for number in self._jobs}
        found |= {number: flushed for number, job in self._jobs.items() if job["do"] == "flush"}
        return {number: progress for number, progress in found.items() if progress is not None}

    def _report_changes(self) -> Answer:
        """Reports changed settings to the supervisor, which stores them. They change by requests, and by writes to the
        files beside the exported one. Gives the engine's statistics.
        """
        # One thread at a time, so that changes are reported in their order.
        with self._changes:
            answer: Answer = json.loads(self._server.statistics())
            now = answer["settings"] or plan.EngineSettings({})
            changed = {name: as_text(value) for name, value in now.items() if self._settings.get(name) != value}
            self._settings = now
            if changed:
                self._say(changed=changed)
            if answer["record"] != self._record:
                self._record = self._task["record"] = answer["record"]
                self._say(record=self._record)
            return answer

    def _watch(self) -> None:
        while not self._stopping:
            time.sleep(POLL_S)
            notes = self._server.told()
            if notes:
                self._say(told=[[time.time(), text] for _, text in notes])
            with suppress(EngineError):
                self._report_changes()
            if self._stopping:
                return None
            trouble = self._server.trouble()
            if trouble is not None:
                self._say(failed=trouble)
                # The next child recovers.
                os._exit(1)
            if self._server.over() is not None:
                return self._say(unmounted=True)
        return None

    def _stop(self, request: Request) -> int:
        self._stopping = True
        try:
            self._server.stop(bool(request["drain"]))
        except EngineError as error:
            self._say(id=request["id"], error=str(error))
            return 1
        self._say(id=request["id"])
        return 0

    def _take_over(self) -> None:
        """Becomes the supervisor: the old one has died."""
        self._stopping = True
        print(f"process {os.getpid()}: the supervisor died; this one takes its place", flush=True)
        ender = threading.Thread(target=self._stop_engine, daemon=True)
        ender.start()
        ender.join(END_S)
        fds = self._task.pop("fds")
        begun = Job(state="running", began_s=time.time(), done=0, total=None)
        jobs: list[Job] = [{**job, **begun} for job in self._jobs.values()]
        become_supervisor({**self._task, "jobs": jobs, "restarts": self._task.get("restarts", 0) + 1}, fds)

    def _stop_engine(self) -> None:
        with suppress(EngineError):
            self._server.stop(False)


def _order(request: Request) -> plan.Order:
    """The command of a job to the engine."""
    match request["do"]:
        case "flush":
            return plan.WriteBack(_range(request) if request.get("range") is not None else None)
        case "preload":
            return plan.Preload(_range(request))
        case "pin" | "unpin" as kind:
            return plan.Pin(plan.Pinning(_range(request), kind == "pin"))
        case "resize":
            return plan.Resize(request["bytes"] or 0)
    raise ValueError(f"{request['do']!r} is nothing that a cache does")


def _range(request: Request) -> plan.Range:
    begin, length = request["range"] or (0, 0)
    return begin, length


def as_text(value: Any) -> str:
    """A setting's value as users write it: `on`, `12.5`, `12,13`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ",".join(str(item) for item in value) or "none"
    return str(value)


def main() -> int:
    """The process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    task = read_task(int(sys.argv[1]))
    link = socket.socket(fileno=int(sys.argv[2]))
    link.set_inheritable(False)
    for descriptor in task["fds"].values():
        os.set_inheritable(descriptor, False)
    try:
        serving = Serving(task, link)
    except (EngineError, ValueError) as error:
        link.sendall(json.dumps({"failed": str(error)}).encode() + b"\n")
        return 1
    code = serving.run()
    sys.stdout.flush()
    # Exits at once, without a wait for the threads that wait for the engine.
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
