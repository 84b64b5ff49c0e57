"""A real flash cache: where it lies, how it is served, what it is told to do.

Nothing else of flatwater is imported here: a serving process that was restarted keeps its users waiting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NewType

from flatwater._engine import cache_settings

#: First byte and length.
Range = tuple[int, int]
#: All settings of a cache, as `cache_settings` of the engine gives them: they go back as they came.
EngineSettings = NewType("EngineSettings", dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class CachePlaces:
    """Where a resting cache lies: `Places` of crates/python."""

    fast: str
    slow: str
    pair: str
    #: The backing device is the right one although it is not as it was left.
    trust: bool = False
    #: What the kernel calls the backing device.
    identity: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewCache(CachePlaces):
    """An empty cache to make: `Wanted` of crates/python."""

    uuid: str
    fast_bytes: int
    slow_bytes: int
    block_bytes: int
    #: What is there already is thrown away.
    force: bool = False


@dataclass(frozen=True)
class Protocol:
    """What was agreed with the kernel."""

    minor: int
    flags: int
    write_bytes_max: int


@dataclass(frozen=True)
class Fuse:
    """A mount to serve."""

    #: A descriptor of /dev/fuse.
    fd: int
    protocol: Protocol
    #: User and group of the files; None: those of the server.
    owner: tuple[int, int] | None = None


@dataclass(frozen=True)
class Adversity:
    """How a device is made slow or bad on purpose; 0 is neither."""

    read_errno: int = 0
    write_errno: int = 0
    latency_us: int = 0
    sync_us: int = 0
    at_once: int = 0


@dataclass(frozen=True, kw_only=True)
class CacheServer:
    """A cache that serves: `cache::Spec` of crates/serve."""

    fast: str
    slow: str
    pair: str
    #: The backing device is served with no cache.
    plain: bool = False
    settings: EngineSettings
    #: A cache device that failed is started empty, and what only it had is given up.
    give_up: bool = False
    trust: bool = False
    identity: str | None = None
    #: The file that requests are recorded to.
    record: str | None = None
    name: str = ""
    fuse: Fuse | None = None
    #: Of the fast device, the slow one and the pairing record.
    adversities: tuple[Adversity, Adversity, Adversity] = (Adversity(), Adversity(), Adversity())


@dataclass(frozen=True)
class Export:
    """What is offered over NBD at a listening socket: `Exported` of crates/python."""

    fd: int
    name: str
    bytes: int
    block_bytes: int


@dataclass(frozen=True)
class Set:
    """Settings by name, as text."""

    set: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class WriteBack:
    """What is dirty in a range; None: everything."""

    write_back: Range | None


@dataclass(frozen=True)
class Pinning:
    """A range that is held in the cache, or no longer."""

    range: Range
    pinned: bool


@dataclass(frozen=True)
class Pin:
    """Holds a range in the cache, or lets it go."""

    pin: Pinning


@dataclass(frozen=True)
class Preload:
    """Reads a range into the cache."""

    preload: Range


@dataclass(frozen=True)
class Resize:
    """Uses so many bytes of the cache device."""

    resize: int


#: A command to a cache that serves: `Order` of crates/python.
Order = Set | WriteBack | Literal["stop_write_back"] | Pin | Preload | Resize


def settings_of(preset: str | None, changes: Iterable[tuple[str, str]] = ()) -> EngineSettings:
    """The settings of a preset (None: the engine's own), with changes by name. Errors: ValueError that says what."""
    return EngineSettings(json.loads(cache_settings(preset, list(changes))))
