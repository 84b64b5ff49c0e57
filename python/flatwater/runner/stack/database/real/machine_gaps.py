"""The figures of the machine that a run on a server of others does not have."""

from __future__ import annotations

from pathlib import Path

from flatwater.results.observation import Gap
from flatwater.server import Local

_PROCESS = ["database.server_cpu_user_pct", "database.server_cpu_system_pct", "database.server_rss_bytes"]
_SESSIONS = [
    *("database.sessions_reading", "database.sessions_syncing"),
    *("database.sessions_waiting", "database.threads_syncing"),
]
_STORAGE = ["storage.*"]


def gaps_of_machine(local: Local) -> list[Gap]:
    """The gaps of a server whose process is known so far."""
    if local.pid is None:
        figures = [*_PROCESS, *_SESSIONS, *_STORAGE, "machine.*"]
        return [Gap(what="the server's processors, memory, sessions and storage", figures=figures, why=local.why_not)]
    found = []
    if local.data is None:
        found.append(Gap(what="the server's storage", figures=_STORAGE, why=local.why_not))
    if not _may_trace(local.pid):
        why, remedy = "its threads may not be looked at", "run flatwater as root"
        found.append(Gap(what="what the server's sessions wait for", figures=_SESSIONS, why=why, remedy=remedy))
    return found


def _may_trace(pid: int) -> bool:
    """Whether the system calls of its threads may be read. A process that is gone counts as one whose may."""
    try:
        (Path("/proc") / str(pid) / "syscall").read_text()
    except PermissionError:
        return False
    except OSError:
        return True
    return True
