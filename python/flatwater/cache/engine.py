"""The compiled side of a cache: making it, reading what it says of itself, checking and draining it while it rests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from flatwater._engine import CacheTask, EngineError, cache_inspect, cache_make, cache_settings
from flatwater.cache.identity import differs, digested, digests, identity_of, in_words, read_digests
from flatwater.cache.state import CacheState
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.plan import cache as plan
from flatwater.plan.cache import CachePlaces, EngineSettings, NewCache

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
    #: That the backing device is not as it was left, if so.
    changed: str | None
    #: What the kernel called the backing device, as the cache device has it (`identity.digests`); None: not known.
    identity: str | None
    #: The cache device failed, and writes went past it since.
    degraded: bool
    #: Blocks that were read and held against their checksums.
    verified_blocks: int
    damaged: tuple[Damage, ...]
    #: What else was found, in words.
    notes: tuple[str, ...]

    @classmethod
    def read(cls, told: Any) -> Found:
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


def settings_of(preset: str | None, changes: dict[str, str]) -> EngineSettings:
    """All settings. Errors: UserError that names the setting."""
    try:
        return plan.settings_of(preset, changes.items())
    except ValueError as error:
        raise UserError(str(error), where=_blamed(preset, changes, str(error))) from None


def _blamed(preset: str | None, changes: dict[str, str], said: str) -> str | None:
    """The change that an error is about: the one that alone gives the same; else the last one that it begins with, for
    some do not go together.
    """
    for name, value in changes.items():
        try:
            cache_settings(preset, [(name, value)])
        except ValueError as error:
            if str(error) == said:
                return f"{name}={value}"
    return next((f"{name}={value}" for name, value in reversed(changes.items()) if said.startswith(f"{name} ")), None)


def look(path: Path) -> Found | None:
    """What is on a cache device; None if there is no cache on it. Errors: FlatwaterError for a damaged one."""
    try:
        told = cache_inspect(path)
    except (EngineError, ValueError) as error:
        raise FlatwaterError(f"{path}: {error}", hint="flatwater cache check") from None
    return Found.read(json.loads(told)) if told is not None else None


def require_pair(state: CacheState, *, trust: bool = False) -> Found:
    """What a cache holds, after it was made sure that both devices are its own. With `trust` the backing device may be
    another one than the kernel said before, or be changed.

    Errors: UserError when they do not belong together; FlatwaterError.
    """
    try:
        told = cache_inspect(Path(state.fast), Path(state.pair), Path(state.backing))
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
    if not trust:
        _require_backing(state, found)
    return found


def _require_backing(state: CacheState, found: Found) -> None:
    """Errors: UserError when the backing device is another one, or not as it was left."""
    now = identity_of(state.backing) or {}
    kept = state.backing_identity
    what = None
    if differs(kept, now):
        what = (
            f"it is another {'device' if 'part' in now else 'file'}: {in_words(now)}; the cache's is {in_words(kept)}"
        )
    elif found.identity is not None and differs(read_digests(found.identity), digested(now)):
        what = f"the cache was made for another one; this is {in_words(now)}"
    elif _length(state.backing) > found.slow_bytes:
        what = f"it grew: {_length(state.backing)} B, and the cache was made for {found.slow_bytes} B"
    elif found.changed is not None:
        what = found.changed
    if what is not None:
        hint = "put the right one there; if this is it: start or drain with --trust-backing (docs/cache.md)"
        raise UserError(what, where=state.backing, hint=hint)


def _length(path: str) -> int:
    with Path(path).open("rb") as handle:
        return handle.seek(0, 2)


def places(state: CacheState, *, trust: bool = False) -> CachePlaces:
    """Where a cache lies."""
    known = digests(identity_of(state.backing) or {})
    return CachePlaces(fast=state.fast, slow=state.backing, pair=state.pair, trust=trust, identity=known)


def make(state: CacheState, *, force: bool) -> None:
    """Writes an empty cache. Errors: UserError that names what would be lost; FlatwaterError."""
    wanted = NewCache(
        **vars(places(state)),
        uuid=state.uuid,
        fast_bytes=state.fast_bytes,
        slow_bytes=state.slow_bytes,
        block_bytes=state.block_bytes,
        force=force,
    )
    try:
        cache_make(to_json(wanted))
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


def drain(state: CacheState, *, stop: Callable[[], bool], progress: Progress, trust: bool = False) -> Drained:
    """Writes all that is dirty in a resting cache back, durably.

    Errors: FlatwaterError; Interrupted, after which what was written back is, and the rest still is dirty.
    """
    told = _work("drain", state, stop, progress, trust)
    return Drained(told["written_blocks"], tuple(Damage(**one) for one in told["damaged"]))


def _work(kind: str, state: CacheState, stop: Callable[[], bool], progress: Progress, trust: bool = False) -> Any:
    try:
        task = CacheTask(kind, to_json(places(state, trust=trust)))
        stopped = False
        while not task.ended():
            progress(task.done(), task.total())
            if stop() and not stopped:
                task.stop()
                stopped = True
            time.sleep(_POLL_S)
        progress(task.done(), task.total())
        result = json.loads(task.result())
    except (EngineError, ValueError) as error:
        raise FlatwaterError(str(error)) from None
    if stopped and task.done() < task.total():
        raise Interrupted(f"interrupted: {task.done():,} of {task.total():,} blocks are done, the rest is as it was")
    return result
