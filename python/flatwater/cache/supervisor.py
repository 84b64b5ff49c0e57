"""The process that holds what must not die with the engine: the /dev/fuse descriptor, the sockets, the claims.

It is small, leads a session of its own, and does no IO on the devices. The serving child does that. When the child
dies, for whatever reason, another one takes its place, and a program that reads or writes notices only a delay: the
kernel keeps the requests that were not answered and gives them to the next child. When the supervisor itself dies, the
child becomes the supervisor (`serving.py`). A restart goes the same way on purpose: the child ends, this process starts
its program again with all descriptors kept, and that starts a child; so both may be of another version.

A task tells it what to do: JSON in an inherited descriptor.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flatwater.cache import engine
from flatwater.cache.child import Child
from flatwater.cache.children import Children
from flatwater.cache.control_server import ControlServer
from flatwater.cache.endpoints import Endpoints
from flatwater.cache.jobs import KINDS, Jobs
from flatwater.cache.messages import Answer, Request, Said, ShownJob, Task
from flatwater.cache.mounting import mount_users, process_name
from flatwater.cache.notes import Notes, log
from flatwater.cache.outage import Outage
from flatwater.cache.state import (
    CacheState,
    Process,
    keep_dirty,
    keep_job,
    keep_settings,
    load_state,
    running_folder,
    write_whole,
)
from flatwater.cache.task import become_supervisor, read_task
from flatwater.errors import FlatwaterError, UserError

#: How long a first child may take until it serves: recovery reads a journal, not a device.
BEGIN_S = 600.0
#: How long the supervisor waits at its end, and before a restart, until requests have their answers.
ANSWERS_S = 2.0
#: `outage_s` where the settings cannot be read: how long requests wait for a process that serves.
OUTAGE_S = 120.0


class Supervisor:
    """One cache, from start to stop. It routes what its parts and its child report, and answers requests."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._state = CacheState(**task["state"])
        self._name = self._state.name
        fds = dict(task["fds"])
        self._report_fd = fds.pop("report", None)
        self._endpoints = Endpoints(self._state, fds, protocol=task.get("protocol"), nbd_file=task.get("nbd_file"))
        self._events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._jobs = Jobs(task.get("jobs", []))
        self._notes = Notes(task.get("told", []))
        restarts = task.get("restarts", 0)
        self._children = Children(self._name, self._start_child, self._jobs, self._notes, restarts=restarts)
        self._control: ControlServer | None = None
        self._began_s: float = task.setdefault("began_s", time.time())
        self._stopping = False
        #: A request to stop, and the child that sees that the mount is gone, come together: one of them ends the cache.
        self._stop_lock = threading.Lock()
        #: Whether the dirty blocks are written back at the end, as the request to stop says.
        self._drains = False
        self._was_signalled = False

    def run(self) -> int:
        """Serves until it is stopped; the exit code."""
        resumed = self._task.get("resumed", False)
        try:
            if not resumed:
                self._endpoints.open()
            write_whole(running_folder(self._name) / "process.json", asdict(Process.current()))
            self._watch_signals()
            self._control = ControlServer(self._endpoints.listener(), self._answer)
            self._control.start()
            self._start_first(resumed=resumed)
        except FlatwaterError as error:
            self._report(error=error.what, hint=error.hint)
            self._close()
            return error.exit_code
        self._report(ready=True)
        return self._follow()

    def _start_first(self, *, resumed: bool) -> None:
        try:
            self._children.start()
        except FlatwaterError:
            if not resumed:
                self._endpoints.unmount_after_failure()
            raise

    def _watch_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda got, _: self._events.put(("signal", got)))

    def _report(self, **report: Any) -> None:
        """Tells the process that started this one whether the cache serves; once."""
        descriptor, self._report_fd = self._report_fd, None
        if descriptor is None:
            return
        with suppress(OSError):
            os.write(descriptor, json.dumps(report).encode() + b"\n")
        os.close(descriptor)

    def _follow(self) -> int:
        """Handles events, one after the other, until the cache has ended; the exit code."""
        while True:
            what, detail = self._events.get()
            if what == "signal":
                self._on_signal()
            elif what == "note":
                self._notes.add(detail[1], detail[0])
            elif what == "restart":
                self._restart()
            elif what == "changed":
                self._keep_settings(detail)
            elif what == "unmounted":
                log("somebody unmounted it")
                threading.Thread(target=self._stop, daemon=True).start()
            elif what == "ended" and detail is self._children.current:
                if self._stopping:
                    self._close()
                    return 0
                self._replace_child()

    def _on_signal(self) -> None:
        """The first signal ends the cache as soon as nobody uses the mount; the second ends it although it is used."""
        forced, self._was_signalled = self._was_signalled, True

        def end() -> None:
            while True:
                try:
                    return self._begin_stop({"force": forced})
                except FlatwaterError as error:
                    log(f"told to end, but {error.what}")
                    time.sleep(1.0)

        threading.Thread(target=end, daemon=True).start()

    # --- the child

    def _start_child(self) -> Child:
        """A child that serves. Errors: FlatwaterError with what it says."""
        stored = load_state(self._name)
        if stored is not None:
            self._state.settings, self._state.preset = stored.settings, stored.preset
            self._state.used_bytes, self._state.pins = stored.used_bytes, stored.pins
        child = Child(self._handed_over(), self._endpoints.fds, self._hear)
        try:
            child.wait_ready(BEGIN_S)
        except FlatwaterError:
            child.kill()
            raise
        # These count for the first start only.
        self._task.pop("give_up", None)
        self._task.pop("trust", None)
        return child

    def _handed_over(self, more_restarts: int = 0) -> Task:
        """The task of the next process: the child, which may become the supervisor, or this process again."""
        task: Task = {
            **self._task,
            "state": asdict(self._state),
            "jobs": self._jobs.unfinished(),
            "restarts": self._children.restarts + more_restarts,
            "told": self._notes.handed_over(),
            "resumed": True,
            "nbd_file": self._endpoints.nbd_file,
        }
        if self._endpoints.protocol is not None:
            task["protocol"] = self._endpoints.protocol
        return task

    def _hear(self, child: Child, message: Said) -> None:
        """Takes a message that a child sends without a request. Runs in the child's own thread."""
        for at_s, text in message.get("told", []):
            self._events.put(("note", (at_s, text)))
        if "job" in message:
            if message["state"] == "done":
                self._keep_job(message["job"])
            self._jobs.hear(message)
        if "record" in message:
            # The next child goes on with the recording.
            self._task["record"] = message["record"]
        if "changed" in message:
            self._events.put(("changed", message["changed"]))
        if message.get("unmounted"):
            self._events.put(("unmounted", None))
        if message.get("ended"):
            self._events.put(("ended", child))

    def _replace_child(self) -> None:
        outage_s = OUTAGE_S
        with suppress(FlatwaterError):
            outage_s = float(engine.settings_of(self._state.preset, self._state.settings)["outage_s"])
        outage = Outage(self._endpoints.fuse, self._endpoints.nbd)
        self._children.replace(outage, outage_s, lambda: self._stopping)

    def _restart(self) -> None:
        """Ends the child and starts this process's program again, which starts another child."""
        child = self._children.wait_serving()
        # A child that cannot end well is killed: the next one recovers as after a crash.
        with suppress(FlatwaterError):
            child.ask({"do": "stop", "drain": False}, timeout_s=60.0)
        child.kill()
        # The client that requested the restart gets its answer first.
        if self._control is not None:
            self._control.wait_until_answered(ANSWERS_S)
        log("restarting")
        become_supervisor(self._handed_over(more_restarts=1), self._endpoints.fds)

    # --- what outlives the processes

    def _keep_settings(self, changed: dict[str, str]) -> None:
        """Stores settings that were changed through the files beside the exported one, for the next start."""
        with suppress(FlatwaterError):
            keep_settings(self._name, changed)

    def _keep_dirty(self) -> None:
        """Stores the number of dirty blocks. When the cache device is lost, no other place tells how many were lost."""
        with suppress(FlatwaterError, KeyError):
            found = engine.look(Path(f"/proc/self/fd/{self._endpoints.fast}"))
            keep_dirty(self._name, found.dirty_blocks if found is not None else None)

    def _keep_job(self, number: int) -> None:
        """Stores what a job did before anybody is told that it is done. It outlives a kill of any process then."""
        with suppress(FlatwaterError):
            keep_job(self._name, self._jobs.get(number))

    # --- requests

    def _answer(self, request: Request) -> Answer:
        do = request["do"]
        if do == "status":
            return self._status()
        if do == "job":
            # In a field of its own: the error of a job is not an error of this answer.
            return {"found": self._job(int(request["job"]))}
        if do == "stop":
            self._begin_stop(request)
            return {"stopping": True}
        if do == "restart":
            self._children.wait_serving()
            self._events.put(("restart", None))
            return {"restarting": True, "restarts": self._children.restarts}
        if do in KINDS:
            job = self._jobs.begin(request)
            try:
                self._children.wait_serving().ask(job)
            except FlatwaterError:
                self._jobs.forget(job["job"])
                raise
            return {"job": job["job"]}
        if do in ("set", "stop-flush", "record"):
            return self._children.wait_serving().ask(request)
        raise UserError(f"{do!r} is nothing that a cache does")

    def _status(self) -> Answer:
        answer: Answer = {
            "name": self._name,
            "process": os.getpid(),
            "state": "stopping" if self._stopping else self._children.state,
            "running_s": time.time() - self._began_s,
            "restarts": self._children.restarts,
            "mount": self._state.mount,
            "nbd": self._state.nbd,
            "nbd_clients": None,
            "record": self._task.get("record"),
            "trouble": self._children.trouble or self._removal("fast") or self._removal("backing"),
            "told": self._notes.all(),
            "statistics": None,
        }
        child = self._children.current
        if child is not None:
            answer["serving_process"] = child.pid
            with suppress(FlatwaterError):
                answer |= child.ask({"do": "statistics"}, timeout_s=5.0)
                if self._endpoints.nbd is not None:
                    answer["nbd_clients"] = child.ask({"do": "clients"}, timeout_s=5.0)["connections"]
        self._jobs.progress(answer.pop("progress", {}))
        answer["jobs"] = self._jobs.all()
        return answer

    def _removal(self, role: str) -> str | None:
        """That the path of a device leads to it no more, and what to do; None if it does."""
        if not self._endpoints.was_removed(role):
            return None
        if role == "fast":
            what = f"flatwater cache stop {self._name} --drain writes back what is dirty"
        else:
            what = "copy what the cache serves elsewhere before it is stopped"
        return f"{getattr(self._state, role)} was removed or replaced: {what}"

    def _job(self, number: int) -> ShownJob:
        child = self._children.current
        if child is not None:
            with suppress(FlatwaterError):
                self._jobs.progress(child.ask({"do": "progress"}, timeout_s=5.0).get("progress", {}))
        return self._jobs.get(number)

    # --- the end

    def _begin_stop(self, request: Request) -> None:
        """Ends the mount, after which no new requests come, and ends the rest in the background.

        Errors: FlatwaterError when the cache is in use.
        """
        if self._stopping:
            return
        forced = bool(request.get("force"))
        if not forced:
            self._require_no_clients()
        # Set before the mount ends: the child sees that end, too, and may be the one that ends the cache.
        self._drains = bool(request.get("drain"))
        if not self._endpoints.unmount(lazily=forced):
            self._drains = False
            path = Path(self._state.mount or "")
            by = ", ".join(mount_users(path)) or "nobody says by whom"
            raise FlatwaterError(f"{path} is in use: {by}", hint="let it go first, or --force")
        threading.Thread(target=self._stop, daemon=True).start()

    def _require_no_clients(self) -> None:
        child = self._children.current
        if child is None or self._endpoints.nbd is None:
            return
        clients = child.ask({"do": "clients"})
        count = clients["connections"]
        if count:
            by = ", ".join(process_name(process) for process in clients["processes"])
            raise FlatwaterError(
                f"{self._state.nbd} is in use: {count} connection{'s' if count > 1 else ''}, of {by}",
                hint="let it go first, or --force",
            )

    def _stop(self) -> None:
        """Ends the child, once: for the request to stop, or because the mount is gone."""
        with self._stop_lock:
            if self._stopping:
                return
            self._stopping = True
        # When this process closes a file that was removed, its dirty blocks are lost: they are written back before.
        drain = self._drains or self._endpoints.was_removed("fast")
        self._endpoints.close_nbd()
        child = self._children.current
        if child is None:
            self._events.put(("ended", None))
            return
        try:
            # Draining takes as long as the backing device needs.
            child.ask({"do": "stop", "drain": drain}, timeout_s=None)
        except FlatwaterError as error:
            log(f"it could not end well: {error.what}")
            child.kill()

    def _close(self) -> None:
        self._children.close()
        self._endpoints.close_nbd()
        self._keep_dirty()
        # The client that requested the end gets its answer.
        if self._control is not None:
            self._control.wait_until_answered(ANSWERS_S)
        running = running_folder(self._name)
        for path in (running / "process.json", running / "control"):
            path.unlink(missing_ok=True)
        log("ended")


def main() -> int:
    """The process."""
    task = read_task(int(sys.argv[1]))
    for number in task["fds"].values():
        os.set_inheritable(number, False)
    code = Supervisor(task).run()
    # Exits at once, without a wait for the threads that still wait for a client.
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
