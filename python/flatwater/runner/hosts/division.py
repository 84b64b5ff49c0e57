"""The division of a load among hosts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flatwater.plan.fileio import RealFileio
from flatwater.plan.part import Part
from flatwater.plan.server import RealDatabase


def divide(sessions: int, hosts: int) -> list[tuple[int, int]]:
    """The first session of each host, and the number of its sessions: as equal as whole numbers allow."""
    least, more = divmod(sessions, hosts)
    counts = [least + (host < more) for host in range(hosts)]
    return [(sum(counts[:host]), count) for host, count in enumerate(counts)]


def parts_of(plan: RealDatabase, hosts: int) -> list[RealDatabase]:
    """The plan of each host. All sessions together are those of the plan, with the same random numbers and arrivals."""
    return [
        replace(plan, connections=count, part=Part(first, plan.connections))
        for first, count in divide(plan.connections, hosts)
    ]


def fileio_parts_of(plan: RealFileio, hosts: int) -> list[RealFileio]:
    """The same for threads. Each host then adds its own permit to write, and knows nothing of our working directory."""
    paths = tuple(str(Path(path).absolute()) for path in plan.paths)
    return [
        replace(plan, paths=paths, threads=count, part=Part(first, plan.threads), permit=None)
        for first, count in divide(plan.threads, hosts)
    ]
