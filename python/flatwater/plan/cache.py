"""A real flash cache: its devices, its service, and the commands to it.

This file imports no other part of flatwater: while a serving process restarts, its users wait.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NewType

from flatwater._engine import cache_settings

#: Offset of the first byte, and length.
Range = tuple[int, int]
#: All settings of a cache, as the engine's `cache_settings` returns them. They go back to the engine unchanged.
EngineSettings = NewType("EngineSettings", dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class CachePlaces:
    """The devices of a cache that is not serving: `Places` of crates/python."""

    fast: str
    slow: str
    pair: str
    #: Accept the backing device although its content has changed.
    trust: bool = False
    #: The kernel's name of the backing device.
    identity: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewCache(CachePlaces):
    """A new, empty cache: `Wanted` of crates/python."""

    uuid: str
    fast_bytes: int
    slow_bytes: int
    block_bytes: int
    #: Discard existing content.
    force: bool = False


@dataclass(frozen=True)
class Protocol:
    """The version and options that were negotiated with the kernel."""

    minor: int
    flags: int
    write_bytes_max: int


@dataclass(frozen=True)
class Fuse:
    """A mount point to serve."""

    #: A file descriptor of /dev/fuse.
    fd: int
    protocol: Protocol
    #: User and group of the files; None: those of the process.
    owner: tuple[int, int] | None = None


@dataclass(frozen=True)
class Adversity:
    """Delays and errors that are injected into a device; 0: none."""

    read_errno: int = 0
    write_errno: int = 0
    latency_us: int = 0
    sync_us: int = 0
    at_once: int = 0


@dataclass(frozen=True, kw_only=True)
class CacheServer:
    """A cache to serve: `cache::Spec` of crates/serve."""

    fast: str
    slow: str
    pair: str
    #: The backing device is served without a cache.
    plain: bool = False
    settings: EngineSettings
    #: If the cache device has failed, start with an empty one, and lose the dirty data.
    give_up: bool = False
    trust: bool = False
    identity: str | None = None
    #: The file to record the requests in.
    record: str | None = None
    name: str = ""
    fuse: Fuse | None = None
    #: For the fast device, the slow one and the pairing record.
    adversities: tuple[Adversity, Adversity, Adversity] = (Adversity(), Adversity(), Adversity())


@dataclass(frozen=True)
class Export:
    """An export over NBD on a listening socket: `Exported` of crates/python."""

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
    """Writes back the dirty data of a range; None: of the whole cache."""

    write_back: Range | None


@dataclass(frozen=True)
class Pinning:
    """A range to pin or to unpin."""

    range: Range
    pinned: bool


@dataclass(frozen=True)
class Pin:
    """Pins or unpins a range."""

    pin: Pinning


@dataclass(frozen=True)
class Preload:
    """Reads a range into the cache."""

    preload: Range


@dataclass(frozen=True)
class Resize:
    """Changes the used size of the cache device, in bytes."""

    resize: int


#: A command to a serving cache: `Order` of crates/python.
Order = Set | WriteBack | Literal["stop_write_back"] | Pin | Preload | Resize


def settings_of(preset: str | None, changes: Iterable[tuple[str, str]] = ()) -> EngineSettings:
    """The settings of a preset (None: the engine's defaults), with changes by name. Errors: ValueError."""
    return EngineSettings(json.loads(cache_settings(preset, list(changes))))
