"""The process that holds what must not die with the engine: the /dev/fuse descriptor, the sockets, the claims.

It is small, leads a session of its own, and does no IO on the devices. The serving child does; when that dies, of
whatever, another one takes its place, and whoever reads and writes notices no more than a delay: the kernel keeps the
requests that were not answered and gives them to the next child. When the supervisor itself dies, the child turns into
one (`serving.py`). A restart is the same on purpose: the child ends, this process starts its program anew with all
descriptors kept, and that starts a child; so both may be of another version.

It is told what to do by a task, JSON in an inherited descriptor.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flatwater.cache import engine
from flatwater.cache.child import Child
from flatwater.cache.control import LINE_BYTES_MAX, short_path
from flatwater.cache.held import is_there
from flatwater.cache.jobs import KINDS, Jobs
from flatwater.cache.messages import Answer, Request, Said, ShownJob, Task
from flatwater.cache.mounting import mount, mount_users, process_name, unmount
from flatwater.cache.outage import Outage
from flatwater.cache.state import (
    SOCKET,
    CacheState,
    Process,
    keep_dirty,
    keep_job,
    keep_settings,
    load_state,
    read_socket,
    running_folder,
    socket_identity,
    write_whole,
)
from flatwater.cache.task import become_supervisor, read_task
from flatwater.errors import FlatwaterError, UserError

#: A child that lived shorter than this died of what it found: the next one waits longer.
LIVED_S = 10.0
#: The first wait after such a death, which doubles up to the longest.
BACK_OFF_S, BACK_OFF_MAX_S = 0.1, 10.0
#: How long a first child may take until it serves: recovery reads a journal, not a device.
BEGIN_S = 600.0
#: How long answers are waited for at the end.
ANSWERS_S = 2.0
#: How long requests wait for a process that serves where the settings cannot be read.
OUTAGE_S = 120.0
#: What is remembered of what happened.
TOLD_MAX = 50


class Supervisor:
    """One cache, from start to stop."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._state = CacheState(**task["state"])
        self._name = self._state.name
        self._fds: dict[str, int] = task["fds"]
        self._events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._jobs = Jobs(task.get("jobs", []))
        self._child: Child | None = None
        self._outage: Outage | None = None
        self._child_lock = threading.Condition()
        self._began_s: float = task.setdefault("began_s", time.time())
        self._restarts: int = task.get("restarts", 0)
        self._trouble: str | None = None
        self._told: list[tuple[float, str]] = [(at, text) for at, text in task.get("told", [])]
        self._stopping = False
        #: Who ends it first: a request to stop, and the child that sees that the mount is gone, come together.
        self._ending = threading.Lock()
        #: What is dirty is written back at the end, as the request to stop says.
        self._drains = False
        self._told_to_end = False
        self._back_off_s = 0.0
        #: Requests that have no answer yet.
        self._asked = 0
        self._answered = threading.Condition()

    # --- life

    def run(self) -> int:
        """Serves until it is stopped; the exit code."""
        resumed = self._task.get("resumed", False)
        try:
            if not resumed:
                self._open()
            running = running_folder(self._name)
            write_whole(running / "process.json", asdict(Process.current()))
            self._watch_signals()
            threading.Thread(target=self._accept, daemon=True).start()
            self._spawn(first=not resumed)
        except FlatwaterError as error:
            self._report(error=error.what, hint=error.hint)
            self._close()
            return error.exit_code
        self._report(ready=True)
        return self._follow()

    def _open(self) -> None:
        """The socket that is asked, and the mount."""
        running = running_folder(self._name)
        running.mkdir(parents=True, exist_ok=True, mode=0o700)
        (running / "control").unlink(missing_ok=True)
        self._fds["control"] = _listen(running / "control")
        if self._state.nbd is not None:
            socket_file = Path(self._state.nbd)
            # Held here, so that clients that come while there is no child wait for the next one.
            if read_socket(self._name) == socket_identity(socket_file):
                # A process of this cache that was killed left it.
                socket_file.unlink(missing_ok=True)
            self._fds["nbd"] = _listen(socket_file)
            self._task["nbd_file"] = socket_identity(socket_file)
            write_whole(running / SOCKET, {"identity": self._task["nbd_file"]})
        if self._state.mount is not None:
            self._fds["fuse"], self._task["protocol"] = mount(Path(self._state.mount), self._name)

    def _watch_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda got, _: self._events.put(("signal", got)))

    def _report(self, **told: Any) -> None:
        """Tells whoever started this one, once."""
        report = self._fds.pop("report", None)
        if report is None:
            return
        with suppress(OSError):
            os.write(report, json.dumps(told).encode() + b"\n")
        os.close(report)

    def _follow(self) -> int:
        while True:
            what, detail = self._events.get()
            if what == "signal":
                self._on_signal()
            elif what == "told":
                self._remember(*detail)
            elif what == "restart":
                self._hand_over()
            elif what == "changed":
                self._keep_settings(detail)
            elif what == "unmounted":
                _log("somebody unmounted it")
                threading.Thread(target=self._stop, daemon=True).start()
            elif what == "ended" and detail is self._child:
                if self._stopping:
                    self._close()
                    return 0
                self._revive()

    def _on_signal(self) -> None:
        """The first asks for an end as soon as nobody uses the mount; the second ends it although it is used."""
        lazily, self._told_to_end = self._told_to_end, True

        def end() -> None:
            while True:
                try:
                    return self._begin_stop({"force": lazily})
                except FlatwaterError as error:
                    _log(f"told to end, but {error.what}")
                    time.sleep(1.0)

        threading.Thread(target=end, daemon=True).start()

    # --- the child

    def _spawn(self, *, first: bool = False) -> None:
        """Starts a child and waits until it serves. Errors: FlatwaterError with what it says."""
        kept = load_state(self._name)
        if kept is not None:
            self._state.settings, self._state.preset = kept.settings, kept.preset
            self._state.used_bytes, self._state.pins = kept.used_bytes, kept.pins
        self._task |= {
            "state": asdict(self._state),
            "jobs": self._jobs.unfinished(),
            "restarts": self._restarts,
            "told": self._told[-10:],
            "resumed": True,
        }
        child = Child(self._task, self._fds, self._hear)
        try:
            child.wait_ready(BEGIN_S)
        except FlatwaterError:
            child.kill()
            if first and "fuse" in self._fds and self._state.mount is not None:
                with suppress(FlatwaterError):
                    unmount(Path(self._state.mount), lazily=True)
            raise
        if self._outage is not None:
            self._outage.end()
        self._trouble = None
        # It was given up once: what comes now is not.
        self._task.pop("give_up", None)
        self._task.pop("trust", None)
        with self._child_lock:
            self._child = child
            self._child_lock.notify_all()
        _log(f"process {child.pid} serves")
        for job in self._jobs.running():
            with suppress(FlatwaterError):
                child.ask(job)

    def _hear(self, child: Child, message: Said) -> None:
        """What a child says without being asked; comes from its own thread."""
        for one in message.get("told", []):
            self._events.put(("told", (one[0], one[1])))
        if "job" in message:
            if message["state"] == "done":
                self._keep_job(message["job"])
            self._jobs.hear(message)
        if "record" in message:
            # The next child goes on with it.
            self._task["record"] = message["record"]
        if "changed" in message:
            self._events.put(("changed", message["changed"]))
        if message.get("unmounted"):
            self._events.put(("unmounted", None))
        if message.get("ended"):
            self._events.put(("ended", child))

    def _revive(self) -> None:
        """A child has died: the next one, at once or after a while."""
        child, self._child = self._child, None
        assert child is not None
        self._restarts += 1
        lived = time.monotonic() - child.began_s
        self._back_off_s = 0.0 if lived > LIVED_S else min(BACK_OFF_MAX_S, max(BACK_OFF_S, 2 * self._back_off_s))
        what = (
            f"the serving process {child.pid} died ({child.how_it_ended}) after {lived:.1f} s: another takes its place"
        )
        self._remember(time.time(), what)
        refusal = self._plan_outage()
        try:
            self._spawn_until_one_serves()
        finally:
            refusal.cancel()
            refusal.join()
            if self._outage is not None:
                self._outage.end()

    def _plan_outage(self) -> threading.Timer:
        """Requests that wait get EIO when no process serves for as long as `outage_s` says."""
        wait_s = OUTAGE_S
        with suppress(FlatwaterError):
            wait_s = float(engine.settings_of(self._state.preset, self._state.settings)["outage_s"])
        self._outage = Outage(self._fds.get("fuse"), self._fds.get("nbd"))

        def begin(outage: Outage = self._outage) -> None:
            self._remember(time.time(), f"no process can serve since {wait_s:g} s: requests get EIO until one does")
            outage.begin()

        timer = threading.Timer(wait_s if wait_s > 0 else threading.TIMEOUT_MAX, begin)
        timer.daemon = True
        timer.start()
        return timer

    def _spawn_until_one_serves(self) -> None:
        while not self._stopping:
            try:
                return self._spawn()
            except FlatwaterError as error:
                self._trouble = error.what
                self._back_off_s = min(BACK_OFF_MAX_S, max(BACK_OFF_S, 2 * self._back_off_s))
                _log(f"no process can serve: {error.what}; the next try in {self._back_off_s:.1f} s")
                time.sleep(self._back_off_s)
        return None

    def _remember(self, at_s: float, text: str) -> None:
        self._told = [*self._told, (at_s, text)][-TOLD_MAX:]
        _log(text)

    def _serving(self, wait_s: float = 20.0) -> Child:
        """The child, or the next one. Errors: FlatwaterError when there is none for too long."""
        with self._child_lock:
            self._child_lock.wait_for(lambda: self._child is not None, wait_s)
            if self._child is None:
                told = f" ({self._trouble})" if self._trouble else ""
                raise FlatwaterError(f"cache {self._name} is being restarted{told}", hint="ask again in a moment")
            return self._child

    def _hand_over(self) -> None:
        """Ends the child and starts this process's program anew, which starts another one."""
        child = self._serving()
        # A child that cannot end well is killed: the next one recovers as after a crash.
        with suppress(FlatwaterError):
            child.ask({"do": "stop", "drain": False}, timeout_s=60.0)
        child.kill()
        self._task |= {"jobs": self._jobs.unfinished(), "told": self._told[-10:], "restarts": self._restarts + 1}
        _log("restarting")
        become_supervisor(self._task, self._fds)

    def _keep_settings(self, changed: dict[str, str]) -> None:
        """What was set through the files beside the exported one is kept for the next start too."""
        with suppress(FlatwaterError):
            keep_settings(self._name, changed)

    def _keep_dirty(self) -> None:
        """How much only the cache device holds is kept: when that is lost, nobody else can tell."""
        with suppress(FlatwaterError, KeyError):
            found = engine.look(Path(f"/proc/self/fd/{self._fds['fast']}"))
            keep_dirty(self._name, found.dirty_blocks if found is not None else None)

    def _keep_job(self, number: int) -> None:
        """What a job did is kept before anybody is told that it is done: it then outlives whatever dies."""
        with suppress(FlatwaterError):
            keep_job(self._name, self._jobs.get(number))

    # --- requests

    def _accept(self) -> None:
        listener = socket.socket(fileno=os.dup(self._fds["control"]))
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._converse, args=(link,), daemon=True).start()

    def _converse(self, link: socket.socket) -> None:
        with link, suppress(OSError):
            link.settimeout(60.0)
            with link.makefile("rb") as lines:
                line = lines.readline(LINE_BYTES_MAX)
            with self._answered:
                self._asked += 1
            try:
                request = json.loads(line)
                answer = self._answer(request)
            except FlatwaterError as error:
                answer = {"error": error.what, "hint": error.hint, "where": error.where}
                answer["user"] = isinstance(error, UserError)
            except (ValueError, TypeError, KeyError):
                answer = {"error": "that is no request"}
            with suppress(OSError):
                link.sendall(json.dumps(answer).encode() + b"\n")
            with self._answered:
                self._asked -= 1
                self._answered.notify_all()

    def _answer(self, request: Request) -> Answer:
        do = request["do"]
        if do == "status":
            return self._status()
        if do == "job":
            # Apart: what it failed of is no error of this answer.
            return {"found": self._job(int(request["job"]))}
        if do == "stop":
            self._begin_stop(request)
            return {"stopping": True}
        if do == "restart":
            self._serving()
            self._events.put(("restart", None))
            return {"restarting": True, "restarts": self._restarts}
        if do in KINDS:
            job = self._jobs.begin(request)
            try:
                self._serving().ask(job)
            except FlatwaterError:
                self._jobs.forget(job["job"])
                raise
            return {"job": job["job"]}
        if do in ("set", "stop-flush", "record"):
            return self._serving().ask(request)
        raise UserError(f"{do!r} is nothing that a cache does")

    def _status(self) -> Answer:
        answer: Answer = {
            "name": self._name,
            "process": os.getpid(),
            "state": self._life(),
            "running_s": time.time() - self._began_s,
            "restarts": self._restarts,
            "mount": self._state.mount,
            "nbd": self._state.nbd,
            "nbd_clients": None,
            "record": self._task.get("record"),
            "trouble": self._trouble or self._removed("fast") or self._removed("backing"),
            "told": self._told,
            "statistics": None,
        }
        child = self._child
        if child is not None:
            answer["serving_process"] = child.pid
            with suppress(FlatwaterError):
                answer |= child.ask({"do": "statistics"}, timeout_s=5.0)
                if "nbd" in self._fds:
                    answer["nbd_clients"] = child.ask({"do": "clients"}, timeout_s=5.0)["connections"]
        self._jobs.progress(answer.pop("progress", {}))
        answer["jobs"] = self._jobs.all()
        return answer

    def _life(self) -> str:
        if self._stopping:
            return "stopping"
        if self._child is not None and self._child.alive:
            return "serving"
        if self._outage is not None and self._outage.is_on:
            return "refusing"
        return "restarting" if self._trouble is None else "not serving"

    def _removed(self, role: str) -> str | None:
        """That a place is not there any more under its path, in words."""
        path, held = str(getattr(self._state, role)), self._fds.get(role)
        if held is None or is_there(path, held):
            return None
        if role == "fast":
            what = f"flatwater cache stop {self._name} --drain writes back what is dirty"
        else:
            what = "copy what the cache serves elsewhere before it is stopped"
        return f"{path} was removed or replaced: {what}"

    def _job(self, number: int) -> ShownJob:
        child = self._child
        if child is not None:
            with suppress(FlatwaterError):
                self._jobs.progress(child.ask({"do": "progress"}, timeout_s=5.0).get("progress", {}))
        return self._jobs.get(number)

    # --- the end

    def _begin_stop(self, request: Request) -> None:
        """Lets the mount go, after which nothing new comes, and ends the rest in the background."""
        if self._stopping:
            return
        if not request.get("force"):
            self._require_no_clients()
        path = self._state.mount
        # Before the mount goes: the child sees that too, and the end may begin there.
        self._drains = bool(request.get("drain"))
        if path is not None and not unmount(Path(path), lazily=bool(request.get("force"))):
            self._drains = False
            by = ", ".join(mount_users(Path(path))) or "nobody says by whom"
            raise FlatwaterError(f"{path} is in use: {by}", hint="let it go first, or --force")
        threading.Thread(target=self._stop, daemon=True).start()

    def _require_no_clients(self) -> None:
        child = self._child
        if child is None or "nbd" not in self._fds:
            return
        clients = child.ask({"do": "clients"})
        count = clients["connections"]
        if count:
            by = ", ".join(process_name(process) for process in clients["processes"])
            raise FlatwaterError(
                f"{self._state.nbd} is in use: {count} connection{'s' if count > 1 else ''}, of {by}",
                hint="let it go first, or --force",
            )

    def _leave_nbd(self) -> None:
        """Nobody finds the socket any more, and who waits to be accepted is told so."""
        listener = self._fds.pop("nbd", None)
        if listener is None:
            return
        with suppress(OSError), socket.socket(fileno=listener) as own:
            own.shutdown(socket.SHUT_RDWR)
        path = Path(self._state.nbd or "")
        with suppress(OSError):
            # Somebody may have put something else there.
            if socket_identity(path) == self._task.get("nbd_file"):
                path.unlink()
                (running_folder(self._name) / SOCKET).unlink(missing_ok=True)

    def _stop(self) -> None:
        """Ends the child, once: whoever asked for the end, or took the mount away."""
        with self._ending:
            if self._stopping:
                return
            self._stopping = True
        # What is dirty in a file that was removed goes with it when this process lets it go.
        drain = self._drains or self._removed("fast") is not None
        self._leave_nbd()
        child = self._child
        if child is None:
            self._events.put(("ended", None))
            return
        try:
            # Draining takes as long as the backing device needs.
            child.ask({"do": "stop", "drain": drain}, timeout_s=None)
        except FlatwaterError as error:
            _log(f"it could not end well: {error.what}")
            child.kill()

    def _close(self) -> None:
        if self._child is not None:
            self._child.kill()
        if self._outage is not None:
            self._outage.end()
        self._leave_nbd()
        self._keep_dirty()
        # Who asked for the end gets the answer.
        with self._answered:
            self._answered.wait_for(lambda: self._asked == 0, ANSWERS_S)
        running = running_folder(self._name)
        for path in (running / "process.json", running / "control"):
            path.unlink(missing_ok=True)
        _log("ended")


def _listen(path: Path) -> int:
    """A listening socket that only this user may connect to. Errors: FlatwaterError."""
    try:
        before = os.umask(0o177)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, short_path(path) as address:
                listener.bind(address)
                listener.listen(64)
                return os.dup(listener.fileno())
        finally:
            os.umask(before)
    except OSError as error:
        raise FlatwaterError(f"cannot listen at {path}: {error.strerror or error}") from None


def _log(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} supervisor {os.getpid()}: {text}", flush=True)


def main() -> int:
    """The process."""
    task = read_task(int(sys.argv[1]))
    for number in task["fds"].values():
        os.set_inheritable(number, False)
    code = Supervisor(task).run()
    # Threads that still wait for a client are not waited for.
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
