"""The reasons why the threads of a server wait, from the system call that each of them is in.

A server reports how many pages it read, but not how long its sessions waited for them. The kernel reports the system
call that a thread is in (/proc/PID/task/TID/syscall, proc(5)). The share of the samples in a call is the mean number of
threads in it. That number divided by the rate of the calls is the mean duration of a call (Little's law). This works
for every server and every storage, also for storage that a program serves without a block device.

To read that file, the process needs the right to trace the other: as root, or as the same user if the system lets a
parent trace its children. Without the right there are no figures.
"""

from __future__ import annotations

import platform
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from flatwater.probe.proc import read_text, threads_of
from flatwater.server import is_stopped

State = Literal["network", "reading", "syncing", "waiting"]

#: Numbers of system calls: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux.
_CALLS: dict[str, dict[str, State]] = {
    "x86_64": {
        **dict.fromkeys(("7", "271", "232", "281", "45", "47"), "network"),  # poll, epoll_wait, recvfrom, recvmsg
        **dict.fromkeys(("17", "295", "327"), "reading"),  # pread64, preadv, preadv2
        **dict.fromkeys(
            ("74", "75", "277", "18", "296", "328"), "syncing"
        ),  # fsync, fdatasync, sync_file_range, pwrite
        "202": "waiting",  # futex
    },
    "aarch64": {
        **dict.fromkeys(("73", "22", "207", "212"), "network"),
        **dict.fromkeys(("67", "69", "286"), "reading"),
        **dict.fromkeys(("82", "83", "84", "68", "70", "287"), "syncing"),
        "98": "waiting",
    },
}


@dataclass(frozen=True)
class Pace:
    """How often threads are looked at, and servers asked."""

    #: The minimum distance of samples, seconds. The distances are random, so that periodic behaviour does not hide
    #: between samples.
    pause_s: float
    #: The largest share of one core that sampling may take. With more threads there are fewer samples.
    share_max: float
    #: Whether what costs the server much is asked the more rarely for it (spacing.py).
    spares: bool = False


#: Beside a load of flatwater's own; and beside the work of others, which is to be disturbed as little as possible.
OF_A_RUN, OF_AN_OBSERVATION = Pace(0.02, 0.005), Pace(0.15, 0.001, spares=True)
#: The distance of looks for a process where there is none, seconds.
NOBODY_S = 1.0
#: The minimum of samples for a figure. If a second has fewer, they count with those of the next.
SAMPLES_MIN = 5

_Thread = tuple[int, str]


class Sessions:
    """Samples the threads of some processes in a thread of its own, until it is closed."""

    def __init__(self, pids: Callable[[], Sequence[int]], pace: Pace = OF_A_RUN) -> None:
        self._pids = pids
        self._pace = pace
        self._calls = _CALLS.get(platform.machine(), {})
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._samples = 0
        #: Threads that were seen waiting for a client: sessions, and the thread that accepts connections.
        self._sessions: set[_Thread] = set()
        #: Threads that were there when sampling began, before the workload connected.
        self._earlier: set[_Thread] | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        if self._calls:
            self._thread = threading.Thread(target=self._work, name="session-probe", daemon=True)
            self._thread.start()

    def sample(self) -> dict[str, float]:
        """Mean numbers of threads since the last call; {} if there are too few samples."""
        with self._lock:
            if self._samples < SAMPLES_MIN:
                # They wait for those of the next second.
                return {}
            counts, samples = self._counts, self._samples
            self._counts, self._samples = Counter(), 0
        names = ("sessions_reading", "sessions_syncing", "sessions_waiting", "threads_syncing")
        return {name: counts[name] / samples for name in names}

    def end(self) -> None:
        """Asks the thread to end."""
        self._closed.set()

    def _work(self) -> None:
        while not self._closed.is_set():
            begun_s = time.thread_time()
            pids = self._pids()
            seen = [(thread, state) for pid in pids for thread, state in self._threads_of(pid)]
            if seen:
                self._count(seen)
            cost_s = time.thread_time() - begun_s
            pause_s = max(self._pace.pause_s, cost_s / self._pace.share_max) if pids else NOBODY_S
            self._closed.wait(pause_s * random.uniform(0.5, 1.5))

    def _count(self, seen: list[tuple[_Thread, State | None]]) -> None:
        self._sessions |= {thread for thread, state in seen if state == "network"}
        self._sessions &= {thread for thread, _ in seen}
        if self._earlier is None:
            self._earlier = {thread for thread, _ in seen}
        with self._lock:
            self._samples += 1
            for thread, state in seen:
                if state == "syncing":
                    self._counts["threads_syncing"] += 1
                # A slow session may not come back to its client for seconds. Of the threads that began later, those in
                # the read of a file are sessions; those that only wait may be idle threads of the server's own.
                late = thread not in self._earlier and state in ("reading", "syncing")
                if state is not None and (late or thread in self._sessions):
                    self._counts[f"sessions_{state}"] += 1

    def _threads_of(self, pid: int) -> list[tuple[_Thread, State | None]]:
        """Every thread of a process with its state: None for a thread that runs, or is in another system call."""
        found: list[tuple[_Thread, State | None]] = []
        if is_stopped(pid):
            return []  # a frozen server's threads wait for nothing but its thaw
        try:
            for thread in threads_of(pid):
                call = read_text(f"/proc/{pid}/task/{thread}/syscall").partition(" ")[0]
                found.append(((pid, thread), self._calls.get(call)))
        except OSError:
            # The process has ended, or may not be traced.
            return []
        return found
