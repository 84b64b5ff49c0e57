"""The settings of the cache's engine, by the engine's names. The preset has the defaults."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, SerializationInfo

from flatwater.experiment.problem import Table, refuse
from flatwater.experiment.units import AS_WRITTEN, Percent, Seconds, parse_size, write_size

#: A process number.
Process = Annotated[int, Field(ge=1, lt=2**32)]


def _bytes_or_none(value: Any) -> Any:
    if value is None or (value == 0 and not isinstance(value, bool)):
        return value
    try:
        return parse_size(value)
    except ValueError as error:
        raise refuse(str(error), "sizes look like 512KiB; 0 switches it off") from None


def _write(size: int | None, info: SerializationInfo) -> int | str | None:
    return write_size(size) if size and info.context == AS_WRITTEN else size


#: A size, or 0 for none.
Bytes = Annotated[int | None, BeforeValidator(_bytes_or_none), PlainSerializer(_write)]


class Settings(Table):
    """The settings that can be changed while the cache serves. None: the value of the preset."""

    #: write-back: writes end on the fast device; write-through: when both devices have them; write-around: on the
    #: slow one only; write-only: as write-back, but reads do not fill the cache.
    mode: Literal["write-back", "write-through", "write-around", "write-only"] | None = None
    #: The eviction policy. FlashCache's two policies work within sets of 512 blocks.
    policy: Literal["lru", "fifo", "s3-fifo", "flashcache", "flashcache-lru"] | None = None
    #: The read misses that are admitted when the cache is full: all, or only those of blocks that were missed before.
    admission: Literal["all", "second-hit"] | None = None
    #: Requests of a longer sequential stream bypass the cache, unless they hit; 0: no bypass.
    sequential_bytes: Bytes = None
    #: Only requests of these processes fill the cache; empty: of all.
    allow_processes: list[Process] | None = None
    #: Requests of these processes do not fill the cache.
    deny_processes: list[Process] | None = None
    #: When a write is answered: written to the fast device, as a disk with a volatile cache does it, or with the
    #: journal's record of it durable too.
    acknowledge: Literal["written", "journaled"] | None = None
    #: Share of the cache that may be dirty before write-back goes all out, down to the low mark. Where only the high
    #: one is said, the low one is as far below it as the preset's.
    dirty_high_pct: Percent | None = None
    dirty_low_pct: Percent | None = None
    #: Maximum time from the first write to a block to its write-back, at a constant rate; 0: no limit.
    flush_period_s: Seconds | None = None
    #: A dirty block without access for this long is written back; 0: never.
    fallow_delay_s: Seconds | None = None
    #: The number of such write-backs in parallel.
    fallow_speed: Annotated[int, Field(ge=1, le=1024)] | None = None
    #: After this long without a request, all dirty blocks are written back; 0: never.
    idle_flush_s: Seconds | None = None
    #: Write-backs in parallel, and those of them within one set (flashcache's policy; 0: no limit).
    write_back_depth: Annotated[int, Field(ge=1, le=1024)] | None = None
    write_back_depth_per_set: Annotated[int, Field(ge=0, le=1024)] | None = None
    #: Write back in the order of flushes: without the cache, the slow device is then old but consistent.
    ordered: bool | None = None
    #: Check reads of the fast device against the block's checksum.
    verify: bool | None = None
    #: Make writes durable at least this often, also without a flush; 0: never.
    commit_interval_s: Seconds | None = None
    #: While no process serves a real cache, requests fail with EIO after this time; 0: they wait.
    outage_s: Seconds | None = None

    def said(self) -> dict[str, str]:
        """What the file says, by name, as the engine takes it."""
        said = {name: getattr(self, name) for name in Settings.model_fields}
        return {name: _text(value) for name, value in said.items() if value is not None}


@lru_cache
def low_share(preset: str) -> float:
    """The low mark of a preset as a share of its high mark."""
    from flatwater._engine import cache_settings

    settings = json.loads(cache_settings(None if preset == "none" else preset, []))
    return float(settings["dirty_low_pct"] / settings["dirty_high_pct"])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ",".join(str(one) for one in value) or "none"
    return repr(value) if isinstance(value, float) else str(value)
