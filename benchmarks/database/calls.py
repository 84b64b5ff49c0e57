"""System calls of each client for each query, counted by strace."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.database.programs import Program
from benchmarks.database.server import TestedServer
from benchmarks.database.work import Setting, Work
from benchmarks.job import run_child
from flatwater.errors import FlatwaterError

#: A traced client is many times slower; so many seconds are still thousands of queries.
SECONDS = 2
#: Calls that are told by name.
NAMED = 4


@dataclass(frozen=True)
class Calls:
    """System calls of one program for each query of a work, those of its start taken off; the most frequent by name."""

    work: Work
    program: str
    per_query: float
    named: tuple[tuple[str, float], ...]


def missing() -> str | None:
    """Why nothing is counted."""
    return None if shutil.which("strace") else "strace is not on the PATH (Debian's package strace)"


def count_calls(
    program: Program, work: Work, setting: Setting, server: TestedServer, tell: Callable[[str], None]
) -> Calls:
    """Runs a program shortly under strace, and once more with nothing to do.

    Queries are those that the server counted (`Questions`), so all programs' are counted alike.
    Errors: FlatwaterError, also where strace is not allowed to trace.
    """
    short = replace(setting, seconds=SECONDS)
    busy, queries = _trace(program, program.command(work, short, 1000), short, server)
    idle, idle_queries = _trace(program, program.idle_command(work, short, 1000), short, server)
    done = max(1, queries - idle_queries)
    per_query = {name: (count - idle.get(name, 0)) / done for name, count in busy.items()}
    most = sorted(per_query.items(), key=lambda item: -item[1])[:NAMED]
    found = Calls(work, program.name, sum(per_query.values()), tuple(most))
    tell(f"system calls, {work.title}, {program.name}: {found.per_query:.2f} a query")
    return found


def _trace(program: Program, command: list[str], setting: Setting, server: TestedServer) -> tuple[dict[str, int], int]:
    told = setting.folder / "strace.txt"
    before = server.status("Questions")
    traced = ["strace", "-f", "-c", "-o", str(told), *command]
    run_child(traced, setting.folder, program.environment(setting.address))
    return read_counts(told), server.status("Questions") - before


def read_counts(told: Path) -> dict[str, int]:
    """Calls by name from what `strace -c` wrote."""
    # % time, seconds, usecs/call, calls, errors (or nothing), name
    lines = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", told.read_text(), re.MULTILINE)
    counts = {name: int(count) for count, name in lines if name != "total"}
    if not counts:
        raise FlatwaterError("strace's output is not understood")
    return counts
