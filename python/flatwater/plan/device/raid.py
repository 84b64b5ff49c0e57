"""The parts of an array, except its members."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.experiment.device import ArrayEvent
from flatwater.experiment.device.event import EventKind
from flatwater.experiment.device.raid import ControllerCache, RaidDevice
from flatwater.plan.units import bytes_per_s, ns


@dataclass(frozen=True)
class Controller:
    """The controller, which takes the host's requests."""

    read_ns: int
    write_ns: int
    latency_ns: int
    link_bytes_per_s: float
    member_queue_depth: int
    updates_at_once: int
    parity_after_data: bool
    battery: bool


@dataclass(frozen=True)
class Cache:
    """The controller's memory; 0 bytes: none."""

    bytes: int
    block_bytes: int
    dirty_share: float
    destage_from_share: float
    #: Destage all dirty lines of a row together; otherwise only consecutive ones.
    destage_rows: bool
    destage_after_ns: int


@dataclass(frozen=True)
class Background:
    """Background work of the controller, as shares of the members' time."""

    patrol_share: float
    check_share: float
    rebuild_share: float
    chunk_bytes: int
    relearn_ns: int


@dataclass(frozen=True)
class Event:
    """An event of the array at a given time."""

    kind: EventKind
    at_ns: int
    duration_ns: int | None = None
    member: int | None = None


def write_controller(array: RaidDevice) -> Controller:
    """The plan of an array's controller."""
    controller = array.controller
    return Controller(
        read_ns=ns(controller.read_us),
        write_ns=ns(controller.write_us),
        latency_ns=ns(controller.latency_us),
        link_bytes_per_s=bytes_per_s(controller.link_mib_per_s),
        member_queue_depth=controller.member_queue_depth,
        updates_at_once=controller.updates_at_once,
        parity_after_data=controller.parity == "after-data",
        battery=controller.battery,
    )


def write_cache(array: RaidDevice, block_bytes: int, scale: float) -> Cache:
    """The plan of a controller's memory, with blocks of `block_bytes`."""
    cache = array.cache or ControllerCache(size=block_bytes, dirty_pct=0)
    return Cache(
        bytes=int(cache.size * scale) if array.cache else 0,
        block_bytes=block_bytes,
        dirty_share=cache.dirty_pct / 100,
        destage_from_share=cache.destage_from_pct / 100,
        destage_rows=cache.destage == "rows",
        destage_after_ns=round(cache.destage_after_s * 1e9),
    )


def write_background(array: RaidDevice) -> Background:
    """The plan of the background work of an array's controller."""
    background = array.background
    return Background(
        patrol_share=background.patrol_pct / 100,
        check_share=background.check_pct / 100,
        rebuild_share=background.rebuild_pct / 100,
        chunk_bytes=background.chunk,
        relearn_ns=round(background.relearn_s * 1e9),
    )


def write_events(events: tuple[ArrayEvent, ...]) -> tuple[Event, ...]:
    """The plan of the events of an array during its use."""
    return tuple(
        Event(
            kind=event.kind,
            at_ns=round(event.at_s * 1e9),
            duration_ns=None if event.duration_s is None else round(event.duration_s * 1e9),
            member=event.member,
        )
        for event in events
    )
