"""The compiled side of a cache: making it, reading what it says of itself, checking and draining it while it rests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from flatwater._engine import CacheTask, EngineError, cache_inspect, cache_make, cache_settings
from flatwater.cache.state import CacheState
from flatwater.errors import FlatwaterError, Interrupted, UserError

#: Superblocks, journal and checkpoints of the smallest cache, as crates/core/src/cache/journal/layout.rs lays them out.
OVERHEAD_BYTES_MIN = 512 * 1024
#: How often work under way is looked after.
_POLL_S = 0.05


@dataclass(frozen=True)
class Damage:
    """A block whose data do not pass their checksum."""

    fast_offset: int
    #: Where it belongs on the backing device.
    slow_offset: int
    #: There is no other copy.
    dirty: bool


@dataclass(frozen=True)
class Found:
    """What a resting cache says of itself."""

    uuid: str
    #: `stopped`, `starting` or `open`.
    state: str
    #: How often it was started.
    generation: int
    fast_bytes: int
    slow_bytes: int
    block_bytes: int
    slots: int
    clean_blocks: int
    dirty_blocks: int
    #: Why it and its backing device do not belong together, if they do not.
    pairing: str | None
    #: The cache device failed, and writes went past it since.
    degraded: bool
    #: Blocks that were read and held against their checksums.
    verified_blocks: int
    damaged: tuple[Damage, ...]
    #: What else was found, in words.
    notes: tuple[str, ...]

    @classmethod
    def read(cls, told: dict[str, Any]) -> Found:
        """From what the engine tells."""
        known = {one.name: told[one.name] for one in fields(cls)}
        damaged = tuple(Damage(**one) for one in told["damaged"])
        return cls(**(known | {"damaged": damaged, "notes": tuple(told["notes"])}))

    @property
    def was_clean(self) -> bool:
        """Whether it was stopped, and did not just end."""
        return self.state == "stopped"

    @property
    def dirty_bytes(self) -> int:
        """What only the cache device holds."""
        return self.dirty_blocks * self.block_bytes

    @property
    def lost(self) -> list[Damage]:
        """Blocks whose only copy is damaged."""
        return [one for one in self.damaged if one.dirty]


def settings_of(preset: str | None, changes: dict[str, str]) -> dict[str, Any]:
    """All settings. Errors: UserError that names the setting."""
    try:
        settings: dict[str, Any] = json.loads(cache_settings(preset, list(changes.items())))
    except ValueError as error:
        where = next((f"{name}={value}" for name, value in changes.items() if name in str(error)), None)
        raise UserError(str(error), where=where) from None
    return settings


def look(path: Path) -> Found | None:
    """What is on a cache device; None if there is no cache on it. Errors: FlatwaterError for a damaged one."""
    try:
        told = cache_inspect(path)
    except (EngineError, ValueError) as error:
        raise FlatwaterError(f"{path}: {error}", hint="flatwater cache check") from None
    return Found.read(json.loads(told)) if told is not None else None


def require_pair(state: CacheState) -> Found:
    """What a cache holds, after it was made sure that both devices are its own.

    Errors: UserError when they do not belong together; FlatwaterError.
    """
    try:
        told = cache_inspect(Path(state.fast), Path(state.pair), _length(state.backing))
    except (EngineError, ValueError) as error:
        raise FlatwaterError(f"{state.fast}: {error}") from None
    if told is None:
        raise UserError(
            f"{state.fast} holds no cache any more", where="FAST", hint="was it replaced or overwritten? docs/cache.md"
        )
    found = Found.read(json.loads(told))
    if found.uuid != state.uuid:
        what = f"{state.fast} holds another cache (UUID {found.uuid}; {state.name} is {state.uuid})"
        raise UserError(what, where="FAST", hint="start it by its own name")
    if found.pairing is not None:
        raise UserError(found.pairing, where=state.backing, hint="docs/cache.md, under Wrong pairs")
    return found


def _length(path: str) -> int:
    with Path(path).open("rb") as handle:
        return handle.seek(0, 2)


def places(state: CacheState) -> dict[str, Any]:
    """Where a cache lies, as the engine takes it."""
    return {"fast": state.fast, "slow": state.backing, "pair": state.pair}


def make(state: CacheState, *, force: bool) -> None:
    """Writes an empty cache. Errors: UserError that names what would be lost; FlatwaterError."""
    sizes = {"uuid": state.uuid, "fast_bytes": state.fast_bytes, "slow_bytes": state.slow_bytes}
    try:
        cache_make(json.dumps(places(state) | sizes | {"block_bytes": state.block_bytes, "force": force}))
    except ValueError as error:
        raise UserError(str(error), hint="--force if it is not needed any more") from None
    except EngineError as error:
        raise FlatwaterError(str(error)) from None


#: Is told how far work is: what is done, and of how much.
Progress = Callable[[int, int], None]


def check(state: CacheState, *, stop: Callable[[], bool], progress: Progress) -> Found:
    """What a resting cache holds, every block of it read and held against its checksum. Writes nothing.

    Errors: FlatwaterError; Interrupted.
    """
    return Found.read(_work("check", state, stop, progress))


@dataclass(frozen=True)
class Drained:
    """What draining did."""

    written_blocks: int
    #: Those that do not pass their checksums: they stay dirty.
    damaged: tuple[Damage, ...]


def drain(state: CacheState, *, stop: Callable[[], bool], progress: Progress) -> Drained:
    """Writes all that is dirty in a resting cache back, durably.

    Errors: FlatwaterError; Interrupted, after which what was written back is, and the rest still is dirty.
    """
    told = _work("drain", state, stop, progress)
    return Drained(told["written_blocks"], tuple(Damage(**one) for one in told["damaged"]))


def _work(kind: str, state: CacheState, stop: Callable[[], bool], progress: Progress) -> dict[str, Any]:
    try:
        task = CacheTask(kind, json.dumps(places(state)))
        stopped = False
        while not task.ended():
            progress(task.done(), task.total())
            if stop() and not stopped:
                task.stop()
                stopped = True
            time.sleep(_POLL_S)
        progress(task.done(), task.total())
        result: dict[str, Any] = json.loads(task.result())
    except (EngineError, ValueError) as error:
        raise FlatwaterError(str(error)) from None
    if stopped and task.done() < task.total():
        raise Interrupted(f"interrupted: {task.done():,} of {task.total():,} blocks are done, the rest is as it was")
    return result
