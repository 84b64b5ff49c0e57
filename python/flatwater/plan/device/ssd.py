"""A flash card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flatwater.experiment.device import Use
from flatwater.experiment.device.ssd import SsdDevice
from flatwater.plan.units import bytes_per_s, ns


@dataclass(frozen=True)
class Geometry:
    """Flash cells and their layout, of one module."""

    raw_bytes: int
    channels: int
    dies_per_channel: int
    planes_per_die: int
    page_bytes: int
    pages_per_block: int
    unit_blocks: int
    #: The unit of the mapping table.
    mapping_bytes: int


@dataclass(frozen=True)
class Timing:
    """Operation times of the flash cells."""

    read_ns: int
    program_ns: int
    erase_ns: int
    channel_bytes_per_s: float


@dataclass(frozen=True)
class Link:
    """The link between host and card, full duplex."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    flushes_alone: bool


@dataclass(frozen=True)
class Controller:
    """The card's controller or driver. A rate of 0: no limit."""

    request_ns: int
    parallel: int
    latency_ns: int
    read_bytes_per_s: float
    write_bytes_per_s: float


@dataclass(frozen=True)
class Buffer:
    """The write buffer; 0 bytes: none."""

    bytes: int
    power_safe: bool


@dataclass(frozen=True)
class PlainPolicy:
    """A policy without parameters."""

    name: Literal["greedy", "fifo", "random", "cost-benefit"]


@dataclass(frozen=True)
class DChoices:
    """The emptiest of a few units that are drawn at random."""

    choices: int
    name: Literal["d-choices"] = "d-choices"


Policy = PlainPolicy | DChoices


@dataclass(frozen=True)
class Collector:
    """Garbage collection. A rate of 0: limited only by the dies."""

    policy: Policy
    relocation_bytes_per_s: float
    pace: Literal["unit", "spread"]


@dataclass(frozen=True)
class Wear:
    """Endurance."""

    rated_cycles: int
    life_used: float
    spread: float
    static_threshold_cycles: int
    initial_bad_share: float


@dataclass(frozen=True)
class ReadErrors:
    """The shares of page reads with errors: of a new card, and at the end of the rated life."""

    retry_share_new: float
    retry_share_worn: float
    uncorrectable_share_new: float
    uncorrectable_share_worn: float


@dataclass(frozen=True)
class Written:
    """fresh: never written; filled: the used bytes were written once, in order."""

    name: Literal["fresh", "filled"]


@dataclass(frozen=True)
class Preconditioned:
    """The state after long random writes: drawn from the theory's distribution, or simulated."""

    simulate: bool
    name: Literal["preconditioned"] = "preconditioned"


Initial = Written | Preconditioned


@dataclass(frozen=True)
class Ssd:
    """A flash card: `ssd::Spec` of crates/model. The figures are those of one module."""

    capacity_bytes: int
    modules: int
    stripe_bytes: int
    geometry: Geometry
    timing: Timing
    link: Link
    controller: Controller
    buffer: Buffer
    queue_depth: int
    collector: Collector
    wear: Wear
    read_errors: ReadErrors
    initial: Initial
    #: Bytes from the start that hold data at first, of whatever program; 0: only what the workload uses.
    occupied_bytes: int
    kind: Literal["ssd"] = "ssd"


def write_ssd(card: SsdDevice, use: Use) -> Ssd:
    """The plan of a flash card with this use."""
    flash, cell, wear, errors = card.geometry, card.cell, card.wear, card.read_errors
    raw, pages_per_block = card.scaled_geometry(use)
    return Ssd(
        capacity_bytes=card.usable_bytes(use) // card.modules,
        modules=card.modules,
        stripe_bytes=card.stripe,
        geometry=Geometry(
            raw_bytes=raw,
            channels=flash.channels,
            dies_per_channel=flash.dies_per_channel,
            planes_per_die=flash.planes_per_die,
            page_bytes=flash.page,
            pages_per_block=pages_per_block,
            unit_blocks=flash.blocks_per_unit,
            mapping_bytes=card.mapping_bytes(use),
        ),
        timing=Timing(
            read_ns=ns(cell.read_us),
            program_ns=ns(cell.program_us),
            # A smaller block takes less time: the part for each page is the same.
            erase_ns=ns(cell.erase_us * pages_per_block / flash.pages_per_block),
            channel_bytes_per_s=bytes_per_s(card.timing.channel_mib_per_s),
        ),
        link=_link(card),
        controller=_controller(card, use),
        buffer=Buffer(card.buffer.size or 0, card.buffer.power_safe),
        queue_depth=card.queue_depth,
        collector=_collector(card),
        wear=Wear(
            rated_cycles=cell.rated_cycles,
            life_used=use.life_used,
            spread=wear.spread_pct / 100,
            static_threshold_cycles=wear.static_threshold_cycles,
            initial_bad_share=flash.initial_bad_pct / 100,
        ),
        read_errors=ReadErrors(
            retry_share_new=errors.retry_new_pct / 100,
            retry_share_worn=errors.retry_worn_pct / 100,
            uncorrectable_share_new=errors.uncorrectable_new_pct / 100,
            uncorrectable_share_worn=errors.uncorrectable_worn_pct / 100,
        ),
        initial=Preconditioned(use.simulate_initial) if use.initial == "preconditioned" else Written(use.initial),
        occupied_bytes=int(card.usable_bytes(use) * use.occupied) // card.modules,
    )


def _link(card: SsdDevice) -> Link:
    link = card.link
    return Link(bytes_per_s(link.read_mib_per_s), bytes_per_s(link.write_mib_per_s), link.flushes_alone)


def _controller(card: SsdDevice, use: Use) -> Controller:
    controller = card.controller
    asynchronous = use.asynchronous and controller.asynchronous_us is not None
    return Controller(
        request_ns=ns(controller.asynchronous_us if asynchronous else controller.synchronous_us),
        parallel=controller.parallel,
        latency_ns=ns(controller.latency_us),
        read_bytes_per_s=bytes_per_s(controller.read_mib_per_s),
        write_bytes_per_s=bytes_per_s(controller.write_mib_per_s),
    )


def _collector(card: SsdDevice) -> Collector:
    collector = card.collector
    policy: Policy
    if collector.policy == "d-choices":
        assert collector.choices is not None, "checked when the device's file was read"
        policy = DChoices(collector.choices)
    else:
        policy = PlainPolicy(collector.policy)
    return Collector(policy, bytes_per_s(collector.relocation_mib_per_s), collector.pace)
