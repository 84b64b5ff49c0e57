"""Destroying a cache: its superblock, its pairing record and its stored state, but not the backing device's content."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from flatwater.cache import engine
from flatwater.cache.create import read_pair
from flatwater.cache.guard import claimed
from flatwater.cache.locate import located
from flatwater.cache.state import CacheState, lasting_folder, read_process, running_folder
from flatwater.errors import UserError
from flatwater.place import Place, open_place
from flatwater.place.contents import LOOKED_AT_BYTES

#: Both superblocks are in these first bytes (crates/core/src/cache/journal/layout.rs).
_HEADER_BYTES = 128 * 1024


def destroy(state: CacheState, *, discard_dirty: int | None, gone: bool) -> int | None:
    """Destroys a stopped cache; the number of dirty blocks that are lost, None if it is not known.

    The caller holds `state.alone()`.

    Errors: UserError if it runs, or if it is dirty and `discard_dirty` is not its number of dirty blocks. Then nothing
    is changed.
    """
    process = read_process(state.name)
    if process is not None:
        raise UserError(
            f"cache {state.name} runs (process {process.pid})", hint=f"flatwater cache stop {state.name} --drain"
        )
    state, _ = located(state)
    fast = open_place(state.fast, "FAST")
    found = engine.look(Path(state.fast)) if fast is not None else None
    if found is None or found.uuid != state.uuid:
        if not gone:
            what = f"{state.fast} is gone" if fast is None else f"{state.fast} does not hold this cache any more"
            raise UserError(
                f"{what}: how much was dirty in it is not known", hint="bring it back, or --gone if it is lost for good"
            )
        _forget(state)
        return state.dirty_blocks
    assert fast is not None, "the superblock was read from it"
    with claimed(state):
        dirty = found.dirty_blocks
        if dirty and discard_dirty != dirty:
            raise UserError(
                f"{dirty:,} blocks ({dirty * state.block_bytes:,} B) are dirty: only {state.fast} holds them",
                where="--discard-dirty" if discard_dirty is not None else None,
                hint=f"flatwater cache drain {state.name}, or --discard-dirty {dirty} to lose them",
            )
        _wipe(fast, state.fast_bytes)
        _forget(state)
    return dirty


def _wipe(fast: Place, used_bytes: int) -> None:
    """Wipes the beginning and the end of a cache device, or the whole of a file.

    Data beyond the cache do not belong to it, and stay.
    """
    with fast.path.open("r+b") as handle:
        handle.write(bytes(_HEADER_BYTES))
        handle.flush()
        os.fsync(handle.fileno())
        if used_bytes < fast.bytes:
            return
        if not fast.is_device:
            os.ftruncate(handle.fileno(), 0)
            os.ftruncate(handle.fileno(), fast.bytes)
            return
        for at in (0, max(0, fast.bytes - LOOKED_AT_BYTES)):
            handle.seek(at)
            handle.write(bytes(min(LOOKED_AT_BYTES, fast.bytes)))
        handle.flush()
        os.fsync(handle.fileno())


def _forget(state: CacheState) -> None:
    # Deletes the record only if it is this cache's: somebody may have put another file there.
    if read_pair(Path(state.pair)) in ("", state.uuid):
        Path(state.pair).unlink(missing_ok=True)
    for folder in (running_folder(state.name), lasting_folder(state.name)):
        shutil.rmtree(folder, ignore_errors=True)
