"""What a run and the load generators on its hosts send each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from flatwater.engine_json import Json
from flatwater.plan.fileio import RealFileio
from flatwater.plan.server import RealDatabase
from flatwater.runner.stack.layers.shared import Shared

#: connecting: it logs in, or looks for its files. ready: it waits for the common instant. over: nothing more will come.
State = Literal["connecting", "ready", "running", "over"]


@dataclass(frozen=True)
class FilesOfHost:
    """The part of a fileio load. The host writes the engine's plan: only it knows how its kernel names the files."""

    plan: RealFileio
    target: Shared


@dataclass(frozen=True)
class Errand:
    """What one host is to do."""

    #: The name of this part of this run.
    key: str
    #: The topic of dask's events on which the news of all hosts come.
    topic: str
    host: int
    #: The engine's plan, which holds the password of the server; or files.
    work: Json[RealDatabase] | FilesOfHost


class News(TypedDict):
    """What a host tells: each interval, and between two of them that it is alive."""

    host: int
    #: 0, 1, 2, ...: none may be missing.
    number: int
    state: State
    #: Start and end in seconds since the host began, and the bytes of `Run.next_part`; None: no interval ended.
    part: tuple[float, float, bytes] | None
    #: What the host recorded of itself in that interval.
    own: dict[str, float]
    #: When its sessions began, ns of its CLOCK_MONOTONIC.
    begun_ns: int | None
    failure: str | None
    #: The failure that ended it.
    ended_by: str | None
    warning: str | None


class Told(TypedDict):
    """A host's clocks, ns."""

    monotonic_ns: int
    wall_ns: int
