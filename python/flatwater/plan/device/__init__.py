"""Modelled devices: one file for each kind. `Device` is the union of them all.

device.py has the kinds that consist of other devices, an array and a cache, and `write_device` for any kind.
"""

from __future__ import annotations

from flatwater.plan.device.device import (
    CACHE_PAGE_BYTES,
    Cached,
    Device,
    Raid,
    cache_device,
    cache_memory_bytes,
    later,
    never_written,
    write_cached,
    write_device,
)
from flatwater.plan.device.hdd import Hdd
from flatwater.plan.device.memory import Memory, plain_memory
from flatwater.plan.device.ssd import Ssd
from flatwater.plan.device.volume import Volume, slower

__all__ = [
    "CACHE_PAGE_BYTES",
    "Cached",
    "Device",
    "Hdd",
    "Memory",
    "Raid",
    "Ssd",
    "Volume",
    "cache_device",
    "cache_memory_bytes",
    "later",
    "never_written",
    "plain_memory",
    "slower",
    "write_cached",
    "write_device",
]
