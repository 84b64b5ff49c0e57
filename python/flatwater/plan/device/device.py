"""Any device: single devices, and those that consist of others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from flatwater.experiment import device as files
from flatwater.experiment.cache import FlashCache
from flatwater.experiment.device.raid import member_use
from flatwater.experiment.storage import ModelledStorage
from flatwater.plan.device.hdd import Hdd, write_hdd
from flatwater.plan.device.memory import Memory, write_memory
from flatwater.plan.device.raid import (
    Background,
    Cache,
    Controller,
    Event,
    write_background,
    write_cache,
    write_controller,
    write_events,
)
from flatwater.plan.device.ssd import Ssd, write_ssd
from flatwater.plan.device.volume import Volume, write_volume

#: The cache writes its journal and checkpoints in pages of this size (crates/core/src/cache/journal/layout.rs).
CACHE_PAGE_BYTES = 4096
#: Bytes of the engine for each block (the bound of crates/core/examples/cache_speed.rs).
MEMORY_BYTES_PER_BLOCK = 40


@dataclass(frozen=True)
class Raid:
    """An array of devices: `raid::Spec` of crates/model."""

    capacity_bytes: int
    level: int
    members: int
    #: The device of each member.
    device: Device
    unit_bytes: int
    #: Size of a line of the controller's memory.
    line_bytes: int
    controller: Controller
    cache: Cache
    background: Background
    events: tuple[Event, ...]
    kind: Literal["raid"] = "raid"


@dataclass(frozen=True)
class Cached:
    """A flash cache, a fast device in front of a slow one: `cached::Spec` of crates/model."""

    fast: Device
    slow: Device
    #: Used bytes of the fast device; 0: all of it.
    fast_bytes: int
    block_bytes: int
    #: The preset that gives the settings not in `settings`; None: the engine's defaults.
    preset: str | None
    #: Settings by name, in the syntax of `flatwater cache set`.
    settings: Mapping[str, str]
    warm: bool
    kind: Literal["cached"] = "cached"


Device = Hdd | Memory | Ssd | Volume | Raid | Cached


def write_device(device: files.Device, use: files.Use) -> Device:
    """The plan of a device of `devices/` with this use."""
    return WRITERS[type(device)](device, use)


def write_raid(array: files.RaidDevice, use: files.Use) -> Raid:
    """The plan of an array with this use."""
    line_bytes, block_bytes = array.lines(use)
    return Raid(
        capacity_bytes=array.usable_bytes(use),
        level=array.level,
        members=array.members,
        device=write_device(array.member(), replace(member_use(use), align_bytes=line_bytes)),
        unit_bytes=array.stripe_unit,
        line_bytes=line_bytes,
        controller=write_controller(array),
        cache=write_cache(array, block_bytes, use.scale),
        background=write_background(array),
        events=write_events(use.events),
    )


def write_cached(cache: FlashCache, slow: Device, *, align_bytes: int, fresh: bool = False) -> Cached:
    """The plan of a cache in front of a device.

    Requests are multiples of `align_bytes`. `fresh`: the device was never written, and the cache is empty.
    """
    device, use = cache_device(cache, align_bytes)
    return Cached(
        fast=write_device(device, never_written(use) if fresh else use),
        slow=slow,
        fast_bytes=cache.size or 0,
        block_bytes=cache.block_size,
        preset=None if cache.preset == "none" else cache.preset,
        settings=cache.changes(),
        warm=cache.warm and not fresh,
    )


def cache_device(cache: FlashCache, align_bytes: int) -> tuple[files.Device, files.Use]:
    """The device of a modelled cache, and how the cache uses it."""
    modelled = cache.fast
    assert isinstance(modelled, ModelledStorage), "checked when the experiment was read"
    # The cache itself keeps several requests in the queue of its device.
    use = modelled.use(asynchronous=True, align_bytes=math.gcd(align_bytes, CACHE_PAGE_BYTES))
    return modelled.modelled_device, use


def cache_memory_bytes(cache: FlashCache) -> int:
    """Memory of the engine of a modelled cache, and of the model of its device."""
    device, own_use = cache_device(cache, CACHE_PAGE_BYTES)
    size = cache.size or device.usable_bytes(own_use)
    return device.memory_bytes(own_use) + size // cache.block_size * MEMORY_BYTES_PER_BLOCK


def later(device: Device, extra_ns: int) -> Device:
    """The device with so much more (or, if negative, less) time for each answer, and no less than none.

    The time keeps nothing busy, as that of a kernel between the device and a program. A cache's is its slow device's.
    """
    if isinstance(device, Volume):
        times = {name: max(0, getattr(device, name) + extra_ns) for name in ("read_ns", "write_ns", "flush_ns")}
        return replace(device, **times)
    if isinstance(device, Hdd):
        return replace(device, overhead_ns=max(0, device.overhead_ns + extra_ns))
    if isinstance(device, Memory):
        return replace(device, latency_ns=max(0, device.latency_ns + extra_ns))
    if isinstance(device, Cached):
        return replace(device, slow=later(device.slow, extra_ns))
    if isinstance(device, Raid):
        array = replace(device.controller, latency_ns=max(0, device.controller.latency_ns + extra_ns))
        return replace(device, controller=array)
    return replace(
        device, controller=replace(device.controller, latency_ns=max(0, device.controller.latency_ns + extra_ns))
    )


def never_written(use: files.Use) -> files.Use:
    """The same use, of a device that was never written. The engine makes it at once, whatever its size."""
    return replace(use, initial="fresh", simulate_initial=False)


#: Kind of device -> the function that writes its plan.
WRITERS: dict[type[files.Device], Callable[[Any, files.Use], Device]] = {
    files.HddDevice: write_hdd,
    files.MemoryDevice: write_memory,
    files.RaidDevice: write_raid,
    files.SsdDevice: write_ssd,
    files.VolumeDevice: write_volume,
}
