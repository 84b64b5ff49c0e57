"""The messages between the processes of a cache, and what they hand over: JSON objects, one a line.

A message has only the fields that it needs. This file imports little, because the serving child must start quickly.
"""

from __future__ import annotations

from typing import Any, TypedDict

from flatwater.plan.cache import EngineSettings

#: The counters of the engine, by name.
Statistics = dict[str, float]
#: The identity of a socket's file: device, inode, time of birth in ns, and file handle in hexadecimal. The last two are
#: None on a file system that does not have them.
SocketIdentity = list[int | str | None]


class Job(TypedDict, total=False):
    """Work that takes long."""

    do: str
    job: int
    #: First byte and length; the new size of the cache.
    range: list[int] | None
    bytes: int | None
    #: `running`, `done`, `failed`, `stopped`.
    state: str
    began_s: float
    ended_s: float
    #: Blocks.
    done: int
    total: int | None
    #: Why it failed, what to do, and whether the user can do it.
    error: str | None
    hint: str | None
    user: bool


class ShownJob(Job, total=False):
    """A job as it is shown: `kind` in place of `do`."""

    kind: str


class Request(TypedDict, total=False):
    """A request to a supervisor, or from it to its child."""

    do: str
    #: The sender's number of the request.
    id: int
    job: int
    range: list[int] | None
    bytes: int | None
    #: Settings and their values.
    changes: list[list[str]]
    #: The file of the block trace.
    path: str | None
    drain: bool
    force: bool


class Failed(TypedDict, total=False):
    """An error: what, where, a hint, and whether the user can mend it."""

    error: str | None
    where: str | None
    hint: str | None
    user: bool


class Answer(Failed, total=False):
    """The answer to a request."""

    id: int
    job: int
    found: ShownJob
    jobs: list[ShownJob]
    settings: EngineSettings | None
    statistics: Statistics | None
    #: Progress of jobs in blocks: done, total.
    progress: dict[int, tuple[int, int]]
    record: str | None
    stopped: list[int]
    stopping: bool
    restarting: bool
    restarts: int
    connections: int
    processes: list[int]
    name: str
    process: int
    serving_process: int
    state: str
    running_s: float
    mount: str | None
    nbd: str | None
    nbd_clients: int | None
    trouble: str | None
    told: list[tuple[float, str]]


class Report(TypedDict, total=False):
    """The state of a cache now, for people and programs. A value that is not known is None."""

    name: str
    uuid: str
    fast: str
    backing: str
    block_bytes: int
    fast_bytes: int
    in_use_bytes: int
    slow_bytes: int
    log: str
    running: bool
    state: str | None
    mode: str | None
    process: int | None
    serving_process: int | None
    running_s: float | None
    restarts: int | None
    mount: str | None
    nbd: str | None
    nbd_clients: int | None
    record: str | None
    hit_ratio: float | None
    dirty_blocks: int | None
    dirty_pct: float | None
    oldest_dirty_s: float | None
    write_back_bytes_per_s: float | None
    safe_to_unplug: bool | None
    jobs: list[ShownJob]
    told: list[tuple[float, str]]
    problem: str | None
    settings: EngineSettings | None
    statistics: Statistics | None


class Said(Failed, total=False):
    """A message of a child that answers no request."""

    ready: bool
    #: Why it cannot serve.
    failed: str
    told: list[list[Any]]
    job: int
    state: str
    changed: dict[str, str]
    record: str | None
    unmounted: bool
    ended: bool


class Task(TypedDict, total=False):
    """The task of a supervisor, which it hands over to the next process."""

    #: The fields of `CacheState`.
    state: dict[str, Any]
    fds: dict[str, int]
    record: str | None
    give_up: bool
    trust: bool
    identity: str | None
    #: The FUSE options agreed with the kernel, as the engine's JSON.
    protocol: str
    #: The identity of the NBD socket.
    nbd_file: SocketIdentity | None
    jobs: list[Job]
    told: list[tuple[float, str]]
    began_s: float
    restarts: int
    resumed: bool
