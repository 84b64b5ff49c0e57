"""A flash card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from flatwater.experiment.device.device import Device, Memory, Use
from flatwater.experiment.problem import Problem, Table
from flatwater.experiment.units import Percent, Size, print_size

#: What one cell holds and how it wears.
CellName = Literal["SLC", "MLC", "eMLC", "TLC", "QLC"]
#: Which unit the collector takes next.
PolicyName = Literal["greedy", "fifo", "random", "d-choices", "cost-benefit"]


@dataclass(frozen=True)
class Cell:
    """Flash of one kind: what a device's file need not say again."""

    read_us: float
    program_us: float
    erase_us: float
    rated_cycles: int


#: Times, and how well they are known:
#: - SLC: 25 us, 220 us: Micron MT29F4G08AAA data sheet (M40A, Rev. B, 2007). Its block takes 1.5 ms; 2 ms: that of
#:   the MT29F2G08AAC (M49A, Rev. D, 2006), which programs in 300 us.
#: - MLC: 50 us, 900 us: Micron MT29F16G08MAA data sheet (L52A, Rev. D, 2008). Its block takes 3.5 ms; 3 ms: HP's
#:   technical white paper on the differences between SLC, MLC and TLC NAND, table 1.
#: - eMLC: not checked. As MLC; the slower program of 1.3 ms is our choice.
#: - TLC: 700 us: 64-layer V-NAND of Samsung, over which its fifth generation (500 us, 2018) was announced as 30 %
#:   faster. 60 us is remembered of the former at ISSCC 2017, the paper was not at hand. 5 ms is our choice. HP's
#:   table has 75 us, 900 to 1350 us and 4.5 ms.
#: - QLC: not checked. 110 us, 2 ms are remembered of Samsung's 1 Tb chip at ISSCC, the paper was not at hand; 5 ms
#:   is our choice.
#: Cycles: the laboratory's own summary of 2010-2013 (SLC 100,000, MLC 10,000, eMLC 30,000, 3-bit 5,000). The data
#: sheets above have 100,000 and 10,000, Silverton Consulting (October 2010) 30,000 of eMLC; HP's table has 3,000 to
#: 5,000 of later MLC and 1,000 to 3,000 of TLC. QLC's 1,000 is an assumption.
CELLS: dict[CellName, Cell] = {
    "SLC": Cell(25, 220, 2000, 100_000),
    "MLC": Cell(50, 900, 3000, 10_000),
    "eMLC": Cell(50, 1300, 3000, 30_000),
    "TLC": Cell(60, 700, 5000, 5000),
    "QLC": Cell(110, 2000, 5000, 1000),
}

#: A word of 4 bytes for each logical page and each one of flash, and a bit.
_PAGE_MEMORY_BYTES = 4.2
#: A mapping in pages larger than this would be too coarse for InnoDB's pages, and no faster.
_MAPPING_BYTES_MAX = 16384
#: Pages of the mapping are numbered with 32 bits; a card that needs more gets larger ones, up to this.
_PAGES_MAX = 2**32 - 2
_COARSEST_BYTES = 2**20
#: The model keeps account of each page of a buffer; the largest drives have 16 GiB of memory, most of it for maps.
_BUFFER_BYTES_MAX = 16 * 2**30
#: Write amplification depends on the number of units when there are few: a scaled card keeps at least so many.
_UNITS_MIN = 512
#: Pages of a unit that a scaled card keeps: with fewer, greedy collection finds emptier victims than the real card.
_UNIT_PAGES_MIN = 256
#: Units that hold no data: the open one and two of the collector's (crates/model, ssd/ftl/geometry.rs).
_RESERVE_UNITS = 3


class Geometry(Table):
    """Flash and its layout, of one module."""

    #: All flash, bad blocks included.
    raw: Size
    channels: int = Field(gt=0, le=1024)
    dies_per_channel: int = Field(gt=0, le=1024)
    planes_per_die: int = Field(default=1, gt=0, le=64)
    #: A flash page of one plane.
    page: Size
    pages_per_block: int = Field(gt=0, le=65536)
    #: Blocks of a unit, each on another die: what is collected and erased together; None: one of each die.
    unit_blocks: int | None = Field(default=None, gt=0)
    #: Blocks that are bad from the factory.
    initial_bad_pct: Percent = 0

    @property
    def dies(self) -> int:
        """How many dies the module has: those of all its channels."""
        return self.channels * self.dies_per_channel

    @property
    def blocks_per_unit(self) -> int:
        """Blocks of a unit, each on another die."""
        return self.unit_blocks or self.dies

    @property
    def unit_bytes(self) -> int:
        """What is collected and erased together."""
        return self.blocks_per_unit * self.planes_per_die * self.pages_per_block * self.page


class Timing(Table):
    """What flash takes; None: as its cell does."""

    read_us: float | None = Field(default=None, gt=0)
    program_us: float | None = Field(default=None, gt=0)
    erase_us: float | None = Field(default=None, gt=0)
    #: One channel.
    channel_mib_per_s: float = Field(gt=0)


class Link(Table):
    """Between host and card, both ways at once."""

    read_mib_per_s: float = Field(gt=0)
    write_mib_per_s: float = Field(gt=0)
    #: A flush waits until the drive has nothing else to do, and everything else waits for it, as over SATA.
    flushes_alone: bool = False


class Controller(Table):
    """The card's controller, or its driver on the host's CPU."""

    #: A request with a thread of its own keeps one of `parallel` busy for this long.
    synchronous_us: float = Field(ge=0)
    #: A request of a kernel's queue; None: as a synchronous one.
    asynchronous_us: float | None = Field(default=None, ge=0)
    #: Requests handled at once.
    parallel: int = Field(default=1, gt=0, le=1024)
    #: Added to each request, without keeping anything busy.
    latency_us: float = Field(default=0, ge=0)
    #: From the buffer to flash; None: as dies and channels can.
    write_mib_per_s: float | None = Field(default=None, gt=0)
    #: From flash to the link; None: as dies and channels can.
    read_mib_per_s: float | None = Field(default=None, gt=0)


class Buffer(Table):
    """Where writes land."""

    #: None, or 0: there is none, a write ends in flash.
    size: Memory = None
    #: A capacitor saves it when power fails: a flush has nothing to do.
    power_safe: bool = True


class Collector(Table):
    """Garbage collection."""

    policy: PolicyName = "greedy"
    #: Units that `d-choices` chooses from.
    choices: int | None = Field(default=None, gt=0, le=1000)
    #: The collector's own rate, while host writes wait; None: as the dies can.
    relocation_mib_per_s: float | None = Field(default=None, gt=0)
    #: unit: a unit at a time, when there is no room left; spread: a little after each host write.
    pace: Literal["unit", "spread"] = "unit"


class Wear(Table):
    """Endurance."""

    cell: CellName
    #: Erases that a block is good for; None: as its cell.
    rated_cycles: int | None = Field(default=None, gt=0, le=10_000_000)
    #: TB (10^12 B) that the host may write over the life of a module, by its maker; None: no source tells.
    endurance_tbw: float | None = Field(default=None, gt=0, le=10_000_000)
    #: Spread of the blocks' own endurance around that: standard deviation over mean.
    spread_pct: Percent = 0
    #: Cold data moves when its block has been erased so much less than the others; 0: never.
    static_threshold_cycles: int = Field(default=0, ge=0, le=10_000_000)


class ReadErrors(Table):
    """Page reads that go wrong, growing from new to worn as bit errors do."""

    #: Reads that must be repeated.
    retry_new_pct: Percent = 0
    retry_worn_pct: Percent = 0
    #: Reads that fail.
    uncorrectable_new_pct: Percent = 0
    uncorrectable_worn_pct: Percent = 0


class SsdDevice(Device):
    """A flash card: channels and dies, a translation layer with its collector, a write buffer, a controller, a link.

    With `modules`, identical modules that are striped: `capacity` is then that of all together, everything else that
    of one.
    """

    KIND: ClassVar[str] = "ssd"

    kind: Literal["ssd"]
    modules: int = Field(default=1, gt=0, le=64)
    #: Bytes of a stripe on one module.
    stripe: Size = 65536
    geometry: Geometry
    timing: Timing
    link: Link
    controller: Controller
    buffer: Buffer = Field(default_factory=Buffer)
    #: Commands in a module at once.
    queue_depth: int = Field(default=256, gt=0, le=65536)
    collector: Collector = Field(default_factory=Collector)
    wear: Wear
    read_errors: ReadErrors = Field(default_factory=ReadErrors)

    @property
    def cell(self) -> Cell:
        """Its flash: the cell's figures, and the file's own where it has them."""
        preset, own = CELLS[self.wear.cell], self.timing
        return Cell(
            own.read_us or preset.read_us,
            own.program_us or preset.program_us,
            own.erase_us or preset.erase_us,
            self.wear.rated_cycles or preset.rated_cycles,
        )

    def conflicts(self) -> Iterator[Problem]:
        layout = list(self._layout_conflicts())
        yield from layout
        if not layout:
            yield from self._spare_conflicts()
        if (self.collector.choices is None) == (self.collector.policy == "d-choices"):
            what = "is needed by policy d-choices" if self.collector.choices is None else "is for policy d-choices only"
            yield Problem("collector.choices", what, rests_on=("collector.policy",))

    def _layout_conflicts(self) -> Iterator[Problem]:
        flash = self.geometry
        if flash.page & (flash.page - 1) or not 512 <= flash.page <= 2**17:
            yield Problem("geometry.page", f"must be a power of two of 512 B to 128 KiB, not {flash.page} B")
        if flash.dies > 65536:
            what = f"{flash.dies} dies are more than the model takes (65536)"
            yield Problem("geometry.dies_per_channel", what, rests_on=("geometry.channels",))
        elif flash.blocks_per_unit > flash.dies:
            yield Problem(
                "geometry.unit_blocks",
                f"{flash.blocks_per_unit} blocks of a unit are on different dies, but there are {flash.dies}",
                "leave it out: a unit is then a block of every die",
                ("geometry.channels", "geometry.dies_per_channel"),
            )
        if (self.buffer.size or 0) > _BUFFER_BYTES_MAX:
            most = print_size(_BUFFER_BYTES_MAX)
            yield Problem("buffer.size", f"must be at most {most}, not {print_size(self.buffer.size or 0)}")
        if self.capacity % self.modules:
            yield Problem("modules", f"{self.modules} must divide the capacity's {self.capacity} B")

    def _spare_conflicts(self) -> Iterator[Problem]:
        flash = self.geometry
        capacity = self.capacity // self.modules
        units = int(flash.raw // flash.unit_bytes * (1 - flash.initial_bad_pct / 100))
        # As the engine counts: open units may hold the only dead pages there are.
        usable = (units - _RESERVE_UNITS - (_RESERVE_UNITS - 1)) * flash.unit_bytes
        if units < 4 * _RESERVE_UNITS:
            yield Problem(
                "geometry.raw",
                f"{print_size(flash.raw)} are only {units} good units of {print_size(flash.unit_bytes)}",
                f"the collector needs {4 * _RESERVE_UNITS}: smaller blocks, or other geometry.unit_blocks",
                ("geometry.pages_per_block", "geometry.unit_blocks", "geometry.initial_bad_pct"),
            )
        elif capacity >= usable:
            beside = f"of {print_size(flash.raw)} raw, {print_size(max(usable, 0))} beside bad blocks and open units"
            yield Problem(
                "capacity",
                f"leaves no over-provisioning: {print_size(capacity)} a module {beside}",
                "write amplification needs spare flash: a smaller capacity, or more geometry.raw",
                ("geometry.raw", "geometry.initial_bad_pct", "geometry.unit_blocks"),
            )
        if flash.raw // self.mapping_bytes(Use()) > _PAGES_MAX:
            yield Problem(
                "geometry.raw",
                f"{print_size(flash.raw)} in pages of {print_size(self.mapping_bytes(Use()))} are more than 2^32 pages",
                "make geometry.page larger, or several `modules` of it",
                ("geometry.page", "geometry.pages_per_block"),
            )

    def usable_bytes(self, use: Use) -> int:
        """Bytes that the host can use, in whole stripes and pages of each module."""
        own = int(self.capacity // self.modules * use.scale * (1 - use.reserve))
        grain = max(self.stripe if self.modules > 1 else 0, _MAPPING_BYTES_MAX, self.geometry.page)
        return own // grain * grain * self.modules

    def mapping_bytes(self, use: Use) -> int:
        """What the card keeps account in.

        Larger than a flash page where every request begins and ends at its multiples: all flash pages of it then live
        and die together, so that the result is the same, only sooner there.
        """
        flash = self.geometry
        mapping = flash.page
        while (
            mapping * 2 <= _MAPPING_BYTES_MAX
            and use.align_bytes % (mapping * 2) == 0
            and flash.unit_bytes % (mapping * 2) == 0
        ):
            mapping *= 2
        # Of a card too large for that, writes of parts are the price.
        while (
            flash.raw * use.scale / mapping > _PAGES_MAX
            and mapping < _COARSEST_BYTES
            and flash.unit_bytes % (mapping * 2) == 0
        ):
            mapping *= 2
        return mapping

    def scaled_geometry(self, use: Use) -> tuple[int, int]:
        """Raw bytes and pages a block at `use.scale`.

        Fewer units, so that channels, dies and their parallel work stay. The open units and the collector's do not
        become fewer, so that they come on top. With too few units left, their blocks become smaller.
        """
        flash = self.geometry
        pages_per_block, unit_bytes = flash.pages_per_block, flash.unit_bytes
        if use.scale >= 1:
            return flash.raw, pages_per_block
        data_bytes = (flash.raw - _RESERVE_UNITS * unit_bytes) * use.scale
        mapping = self.mapping_bytes(use)
        while (
            data_bytes / unit_bytes < _UNITS_MIN
            and pages_per_block % 2 == 0
            and unit_bytes // 2 % mapping == 0
            and unit_bytes // 2 // mapping >= _UNIT_PAGES_MIN
        ):
            pages_per_block, unit_bytes = pages_per_block // 2, unit_bytes // 2
        units = max(round(data_bytes / unit_bytes), 1) + _RESERVE_UNITS
        return units * unit_bytes, pages_per_block

    def memory_bytes(self, use: Use) -> int:
        """A word for each logical page and one for each of flash."""
        raw, _ = self.scaled_geometry(use)
        pages = (raw * self.modules + self.capacity * use.scale) / self.mapping_bytes(use)
        return int(pages * _PAGE_MEMORY_BYTES)

    def notes(self, use: Use) -> list[str]:
        """What the model does differently from the card as its file has it, in sentences."""
        flash, mapping = self.geometry, self.mapping_bytes(use)
        raw, pages_per_block = self.scaled_geometry(use)
        unit_bytes = flash.unit_bytes // flash.pages_per_block * pages_per_block
        told = []
        if left := raw % unit_bytes:
            told.append(f"the last {print_size(left)} of raw flash are no whole unit of {print_size(unit_bytes)}")
        if pages_per_block != flash.pages_per_block:
            told.append(
                f"blocks of {pages_per_block} instead of {flash.pages_per_block} pages, "
                "so that the scaled card still has enough of them: collections are as much shorter"
            )
        if raw // unit_bytes < _UNITS_MIN:
            told.append(f"only {raw // unit_bytes} units: write amplification comes out higher than the theory's")
        if use.align_bytes % mapping:
            told.append(
                f"requests of {print_size(use.align_bytes)} may be parts of a page of {print_size(mapping)}: "
                "a write of a part reads the rest first"
            )
        return told
