"""Very many connections of one flatwater process."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from benchmarks.database.programs import FLATWATER
from benchmarks.database.rows import POINT_SELECT
from benchmarks.database.server import TestedServer
from benchmarks.database.work import Setting
from benchmarks.job import run_child
from flatwater.errors import FlatwaterError

#: Files that a process has open besides its connections.
SPARE_FILES = 100
#: A thread of the server and a session in it.
SESSION_BYTES = 400 * 2**10


@dataclass(frozen=True)
class Crowd:
    """What a run with so many connections gave; `held` if it ended well with all of them and no error."""

    connections: int
    held: bool
    queries_per_s: float
    errors: int
    connected_max: int
    rss_max_bytes: int
    cpu_us: float


def missing(connections: int) -> str | None:
    """The limit of this machine that does not let so many connections be."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if files != resource.RLIM_INFINITY and files < connections + SPARE_FILES:
        return f"a process may have {files:,} files open (ulimit -Hn)"
    limits = {"/proc/sys/kernel/threads-max": "kernel.threads-max", "/proc/sys/kernel/pid_max": "kernel.pid_max"}
    threads = connections + SPARE_FILES
    for path, name in (*limits.items(), *((str(path), str(path)) for path in _pids_limits())):
        limit = _number(Path(path))
        if limit is not None and limit < threads:
            return f"the server may have only {limit:,} threads ({name})"
    available = psutil.virtual_memory().available
    if available < connections * SESSION_BYTES:
        return f"{available / 2**30:.1f} GiB of memory are too little for the server's sessions"
    return None


def _pids_limits() -> list[Path]:
    """The files of control groups, of both versions, that limit this process's threads."""
    root, found = Path("/sys/fs/cgroup"), []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, names, place = line.split(":", 2)
        if number == "0" or "pids" in names.split(","):
            found.append((root if number == "0" else root / "pids") / place.strip("/") / "pids.max")
    return found


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def measure_crowd(setting: Setting, server: TestedServer, connections: int, tell: Callable[[str], None]) -> Crowd:
    """Point selects over so many connections. Errors: FlatwaterError when the run fails."""
    server.query("FLUSH STATUS")  # or Max_used_connections would be that of the rows before
    work = replace(POINT_SELECT, connections=connections)
    command = FLATWATER.command(work, setting, 1)
    finished = run_child(command, setting.folder, FLATWATER.environment(setting.address))
    found = read_crowd(finished.output, connections, server.status("Max_used_connections"), finished.rss_max_bytes)
    tell(
        f"{connections:,} connections: {'held' if found.held else 'did not hold'}, {found.queries_per_s:,.0f} "
        f"queries/s, {found.errors:,} errors, {found.rss_max_bytes / 2**20:.0f} MiB"
    )
    return found


def read_crowd(output: str, connections: int, connected_max: int, rss_max_bytes: int) -> Crowd:
    """The figures of `flatwater run --json`; `connected_max` is the server's own count of sessions at once."""
    try:
        cell = json.loads(output)
        seconds = sum(phase["end_s"] - phase["start_s"] for phase in cell["phases"])
        counters, queries = cell["counters"], int(cell["counters"]["queries"])
        errors = int(cell["errors"]) + sum(counters[name] for name in ("reconnects", "connect_failures"))
        return Crowd(
            connections=connections,
            held=cell["status"] == "complete" and errors == 0 and connected_max >= connections,
            queries_per_s=queries / seconds,
            errors=errors,
            connected_max=connected_max,
            rss_max_bytes=rss_max_bytes,
            cpu_us=float(cell["client_cpu_us_per_op"]) * cell["operations"] / queries,
        )
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise FlatwaterError(f"flatwater's output is not understood: {error!r}") from None
