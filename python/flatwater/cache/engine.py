"""The engine's functions for a stopped cache: making it, reading its superblock, checking it and draining it."""

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

#: Bytes of superblocks, journal and checkpoints of the smallest cache (crates/core/src/cache/journal/layout.rs).
OVERHEAD_BYTES_MIN = 512 * 1024
#: How often work under way is polled, seconds.
_POLL_S = 0.05


@dataclass(frozen=True)
class Damage:
    """A block whose data do not match their checksum."""

    fast_offset: int
    #: Where it belongs on the backing device.
    slow_offset: int
    #: Whether the block is dirty: then there is no other copy.
    dirty: bool


@dataclass(frozen=True)
class Found:
    """The content of a stopped cache, from its superblock and journal."""

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
    #: Why the cache and its backing device do not belong together; None if they do.
    pairing: str | None
    #: In what the backing device has changed since the cache stopped; None if it has not.
    changed: str | None
    #: The identity of the backing device on the cache device (`identity.digests`); None: not known.
    identity: str | None
    #: The cache device failed, and writes have bypassed it since.
    degraded: bool
    #: Blocks that were compared with their checksums.
    verified_blocks: int
    damaged: tuple[Damage, ...]
    #: Other findings, in words.
    notes: tuple[str, ...]

    @classmethod
    def read(cls, told: Any) -> Found:
        """From the engine's JSON."""
        known = {field.name: told[field.name] for field in fields(cls)}
        damaged = tuple(Damage(**block) for block in told["damaged"])
        return cls(**(known | {"damaged": damaged, "notes": tuple(told["notes"])}))

    @property
    def was_clean(self) -> bool:
        """Whether it was stopped cleanly."""
        return self.state == "stopped"

    @property
    def dirty_bytes(self) -> int:
        """Bytes whose only copy is on the cache device."""
        return self.dirty_blocks * self.block_bytes

    @property
    def lost(self) -> list[Damage]:
        """Blocks whose only copy is damaged."""
        return [block for block in self.damaged if block.dirty]


def settings_of(preset: str | None, changes: dict[str, str]) -> EngineSettings:
    """All settings of a preset with changes. Errors: UserError that names the setting."""
    try:
        return plan.settings_of(preset, changes.items())
    except ValueError as error:
        raise UserError(str(error), where=_wrong_change(preset, changes, str(error))) from None


def _wrong_change(preset: str | None, changes: dict[str, str], said: str) -> str | None:
    """The change that an error is about: the one that alone causes it, or else the last one that its text begins with.

    No change alone causes an error about settings that do not go together.
    """
    for name, value in changes.items():
        try:
            cache_settings(preset, [(name, value)])
        except ValueError as error:
            if str(error) == said:
                return f"{name}={value}"
    return next((f"{name}={value}" for name, value in reversed(changes.items()) if said.startswith(f"{name} ")), None)


def look(path: Path) -> Found | None:
    """The cache on a device; None if there is none. Errors: FlatwaterError for a damaged one."""
    try:
        told = cache_inspect(path)
    except (EngineError, ValueError) as error:
        raise FlatwaterError(f"{path}: {error}", hint="flatwater cache check") from None
    return Found.read(json.loads(told)) if told is not None else None


def require_pair(state: CacheState, *, trust: bool = False) -> Found:
    """The content of a cache, after a check that both devices belong to it.

    With `trust`, the backing device may have another identity than before, or may have changed. Errors: UserError if
    the devices do not belong together; FlatwaterError.
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
    """Errors: UserError if the backing device is another one, or has changed since the cache stopped."""
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
    """The devices of a cache, for the engine."""
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


#: Is called with the progress of work: done, total.
Progress = Callable[[int, int], None]


def check(state: CacheState, *, stop: Callable[[], bool], progress: Progress) -> Found:
    """The content of a stopped cache, after a comparison of every block with its checksum. Writes nothing.

    Errors: FlatwaterError; Interrupted.
    """
    return Found.read(_work("check", state, stop, progress))


@dataclass(frozen=True)
class Drained:
    """The result of draining."""

    written_blocks: int
    #: Blocks that do not match their checksums. They stay dirty.
    damaged: tuple[Damage, ...]


def drain(state: CacheState, *, stop: Callable[[], bool], progress: Progress, trust: bool = False) -> Drained:
    """Writes all dirty blocks of a stopped cache back, durably.

    Errors: FlatwaterError; Interrupted: the blocks written so far are clean, the others still dirty.
    """
    told = _work("drain", state, stop, progress, trust)
    return Drained(told["written_blocks"], tuple(Damage(**block) for block in told["damaged"]))


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
