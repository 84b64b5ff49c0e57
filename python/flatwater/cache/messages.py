"""What the processes of a cache say to each other, and hand over: objects of JSON, a line each.

A field that a message does not need is not in it. The file imports nothing of weight: see serving.py.
"""

from __future__ import annotations

from typing import Any, TypedDict

from flatwater.plan.cache import EngineSettings

#: What the engine counts, by name.
Statistics = dict[str, Any]
#: Which socket a path names: device, inode, time of birth in ns, and the file handle in hexadecimal; a file system that
#: does not keep one of the last two has None there.
SocketIdentity = list[int | str | None]


class Job(TypedDict, total=False):
    """Work that lasts."""

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
    """A job as it is shown: what was asked for is its kind."""

    kind: str


class Request(TypedDict, total=False):
    """What is asked of a supervisor, or by it of its child."""

    do: str
    #: The asker's number of it.
    id: int
    job: int
    range: list[int] | None
    bytes: int | None
    #: Settings and their values.
    changes: list[list[str]]
    #: Where requests are recorded.
    path: str | None
    drain: bool
    force: bool


class Failed(TypedDict, total=False):
    """Why something was not done, what to do, and whether the user can do it."""

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
    #: How far jobs are, in blocks: done, and of how many.
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
    """What is known of a cache now, for people and programs. What nobody knows is None."""

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
    """What a child says without being asked."""

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
    """What a supervisor is started with, and hands over to the next process."""

    #: The fields of `CacheState`.
    state: dict[str, Any]
    fds: dict[str, int]
    record: str | None
    give_up: bool
    trust: bool
    identity: str | None
    #: What was agreed with the kernel, as the engine's JSON.
    protocol: str
    #: Which file the socket is.
    nbd_file: SocketIdentity | None
    jobs: list[Job]
    told: list[tuple[float, str]]
    began_s: float
    restarts: int
    resumed: bool
