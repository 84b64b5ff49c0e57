"""How long a modelled device takes when nobody else uses it: from the figures of its file."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.analysis.bound.evidence import PAGE_BYTES
from flatwater.errors import UserError
from flatwater.experiment.device import Device
from flatwater.experiment.device.hdd import HddDevice
from flatwater.experiment.device.memory import MemoryDevice
from flatwater.experiment.device.raid import RaidDevice
from flatwater.experiment.device.ssd import CELLS, SsdDevice
from flatwater.experiment.device.volume import VolumeDevice

_MIB_PER_US = 2**20 / 1e6
_US_PER_MINUTE = 60e6


@dataclass(frozen=True)
class Unloaded:
    """Times of one request, microseconds."""

    #: A read of a page.
    read_us: float
    #: A small write that is durable when it ends.
    sync_us: float


def unloaded(device: Device) -> Unloaded | None:
    """None of a kind that is not known here, or an array whose members cannot be read."""
    if isinstance(device, SsdDevice):
        return _card(device)
    if isinstance(device, HddDevice):
        return _disk(device)
    if isinstance(device, RaidDevice):
        return _array(device)
    if isinstance(device, MemoryDevice):
        return Unloaded(device.latency_us + _moved_us(device.read_mib_per_s), device.latency_us)
    if isinstance(device, VolumeDevice):
        return Unloaded(device.read_us, device.write_us + device.flush_us)
    return None


def _card(card: SsdDevice) -> Unloaded:
    cell, timing = CELLS[card.wear.cell], card.timing
    host = card.controller.synchronous_us + card.controller.latency_us
    read = timing.read_us if timing.read_us is not None else cell.read_us
    program = timing.program_us if timing.program_us is not None else cell.program_us
    moved = _moved_us(timing.channel_mib_per_s) + _moved_us(card.link.read_mib_per_s)
    buffered = bool(card.buffer.size) and card.buffer.power_safe
    return Unloaded(host + read + moved, host if buffered else host + program)


def _disk(disk: HddDevice) -> Unloaded:
    turn_us = _US_PER_MINUTE / disk.rpm
    # Random requests wait for half a turn. The next block of a log has just passed, so a sync waits for a whole one.
    return Unloaded(disk.overhead_us + disk.seek.average_us + turn_us / 2, disk.overhead_us + turn_us)


def _array(array: RaidDevice) -> Unloaded | None:
    try:
        member = unloaded(array.member())
    except UserError:
        return None
    if member is None:
        return None
    controller = array.controller
    kept = array.cache is not None and controller.battery
    sync = controller.write_us if kept else controller.write_us + member.sync_us
    return Unloaded(controller.latency_us + controller.read_us + member.read_us, controller.latency_us + sync)


def _moved_us(mib_per_s: float) -> float:
    return PAGE_BYTES / (mib_per_s * _MIB_PER_US)
