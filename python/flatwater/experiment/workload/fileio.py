"""Reads and writes of files or a block device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator, SerializationInfo
from pydantic import model_validator as _model_validator

from flatwater.experiment.problem import Problem, quote, refuse
from flatwater.experiment.units import (
    AS_WRITTEN,
    Percent,
    Size,
    parse_size,
    print_size,
    write_size,
)
from flatwater.experiment.workload.timing import Timing, problem

#: Threads past this only queue on the processors; deeper queues are io_uring's job.
MAX_THREADS = 4096
#: io_uring's rings hold 32,768 entries; no device has queues as deep as this limit.
MAX_QUEUE_DEPTH = 4096
#: Linux moves at most 2 GiB - 4 KiB in one request (MAX_RW_COUNT); stay well under it.
MAX_BLOCK_SIZE = 2**30
#: The preparation stamps the blocks that verify will check; it writes blocks of at most this size, each as a whole.
MAX_VERIFIED_BLOCK_SIZE = 64 * 2**20
#: Linux's usual hard limit on open files is 1,048,576; sysbench's default is 128 files.
MAX_FILES = 65536
#: Addresses and lengths of direct IO are multiples of a sector; 512 is the smallest sector there is.
SECTOR = 512

Mode = Literal["seqwr", "seqrewr", "seqrd", "seqrw", "rndrd", "rndwr", "rndrw"]
_FIO_MODES = {
    "read": "seqrd",
    "write": "seqwr",
    "rw": "seqrw",
    "readwrite": "seqrw",
    "randread": "rndrd",
    "randwrite": "rndwr",
    "randrw": "rndrw",
}


def _mode(value: Any) -> Any:
    return _FIO_MODES.get(value, value) if isinstance(value, str) else value


def _threads(threads: int) -> int:
    if threads > MAX_THREADS:
        raise refuse(
            f"{threads:,} threads are more than the limit of {MAX_THREADS}",
            'for many requests at once use engine = "io_uring" with a queue_depth',
        )
    return threads


def _one_block_size(value: Any) -> int:
    size = parse_size(value)
    if size > MAX_BLOCK_SIZE:
        raise ValueError(f"{quote(value)} is more than {print_size(MAX_BLOCK_SIZE)}, the largest block")
    return size


def _block_size(value: Any) -> int | dict[int, float]:
    """Bytes, or a mixture: size -> percent of the requests."""
    try:
        if not isinstance(value, dict):
            return _one_block_size(value)
        # int keys are sizes already: text "4096" in a file is bytes too.
        mixture: dict[int, float] = {}
        for written, percent in value.items():
            size = _one_block_size(int(written) if isinstance(written, str) and written.isdecimal() else written)
            if isinstance(percent, bool) or not isinstance(percent, int | float) or not 0 < percent <= 100:
                raise ValueError(f"the share of {quote(written)} must be more than 0 and at most 100 %")
            if size in mixture:
                raise ValueError(f"{write_size(size)} is in the mixture twice")
            mixture[size] = float(percent)
        if not mixture:
            raise ValueError("the mixture of block sizes is empty")
        if abs(sum(mixture.values()) - 100) > 0.01:
            raise ValueError(f"the shares of the block sizes add up to {sum(mixture.values()):g} %, not 100 %")
    except ValueError as error:
        raise refuse(str(error), "like 16KiB, or a mixture in percent: { 4KiB = 70, 16KiB = 30 }") from None
    return mixture


def _write_block_size(value: int | dict[int, float], info: SerializationInfo) -> Any:
    if info.context != AS_WRITTEN:
        return value
    if isinstance(value, int):
        return write_size(value)
    return {write_size(size): percent for size, percent in value.items()}


BlockSize = Annotated[int | dict[int, float], PlainValidator(_block_size), PlainSerializer(_write_block_size)]


class Fileio(Timing):
    """Reads and writes of files or a block device, as sysbench's fileio and fio do them."""

    kind: Literal["fileio"] = "fileio"
    #: sysbench's names; fio's (read, write, rw, randread, randwrite, randrw) are accepted.
    mode: Annotated[Mode, BeforeValidator(_mode)]
    #: Share of reads in the mixed modes (seqrw, rndrw); 60 is sysbench's default of 1.5 reads a write.
    read_pct: Percent = 60.0
    #: sysbench's way to say read_pct: reads / writes. Turned into read_pct, so always None after loading.
    rw_ratio: Annotated[float, Field(ge=0)] | None = Field(default=None, exclude=True)
    #: Bytes of a request, or size -> percent of the requests.
    block_size: BlockSize = 16384
    files: int = Field(default=1, ge=1, le=MAX_FILES)
    threads: Annotated[int, Field(ge=1), AfterValidator(_threads)] = 1
    #: Requests that each thread keeps in flight.
    queue_depth: int = Field(default=1, ge=1, le=MAX_QUEUE_DEPTH)
    engine: Literal["psync", "io_uring"] = "psync"
    #: O_DIRECT.
    direct: bool = True
    #: O_SYNC, O_DSYNC.
    sync: Literal["none", "sync", "dsync"] = "none"
    #: fsync of every file after this many requests of a thread (sysbench's file-fsync-freq); 0 = never.
    fsync_every: int = Field(default=0, ge=0, le=2**31)
    fsync: Literal["none", "end", "every-write"] = "none"
    fsync_call: Literal["fsync", "fdatasync"] = "fsync"
    distribution: Literal["uniform", "zipf", "pareto", "hotspot"] = "uniform"
    #: Exponent of the zipf distribution (0.99: YCSB's).
    zipf_theta: float = Field(default=0.99, gt=0, le=100)
    #: sysbench's --rand-pareto-h: a share 1 - h of the accesses goes to a share h of the data.
    pareto_h: float = Field(default=0.2, gt=0, lt=1)
    hotspot_access_pct: Percent = 80.0
    hotspot_data_pct: float = Field(default=20.0, gt=0, le=100)
    #: How far the written data can be compressed; 0 = not at all.
    compressible_pct: Percent = 0.0
    #: Each block carries offset, generation and checksum, and is checked when read.
    verify: bool = False
    #: Sequential writes of the used size before the warm-up: SNIA's preconditioning asks for 2.
    precondition_passes: float = Field(default=0.0, ge=0, le=100)
    precondition_block_size: Size = 131072
    #: What the throughput is reported in.
    unit: Literal["IOPS", "MiB/s"] = "IOPS"
    #: Off only to measure what recording costs: no latencies, no requests in flight.
    record_latency: bool = True

    @_model_validator(mode="after")
    def _ratio_to_percent(self) -> Self:
        if self.rw_ratio is not None and "read_pct" not in self.model_fields_set:
            return self.model_copy(update={"read_pct": 100 * self.rw_ratio / (1 + self.rw_ratio), "rw_ratio": None})
        return self

    @property
    def read_fraction(self) -> float:
        """Share of the requests that read, 0..1, in any mode."""
        if self.mode in ("seqrw", "rndrw"):
            return self.read_pct / 100
        return 1.0 if self.mode in ("seqrd", "rndrd") else 0.0

    @property
    def block_sizes(self) -> dict[int, float]:
        """Every block size in bytes, with its percent of the requests."""
        return {self.block_size: 100.0} if isinstance(self.block_size, int) else self.block_size

    def conflicts(self) -> Iterator[Problem]:
        """Engines without queues, blocks that O_DIRECT or verification cannot do, fields said twice."""
        if self.rw_ratio is not None and "read_pct" in self.model_fields_set:
            yield problem("rw_ratio", "read_pct and rw_ratio say the same thing twice", "keep one", "read_pct")
        if self.engine == "psync" and self.queue_depth > 1:
            what = f'"psync" waits for each request, so it cannot keep {self.queue_depth} in flight'
            yield problem("queue_depth", what, 'use engine = "io_uring", or threads instead', "engine")
        yield from self._block_conflicts()
        if self.fsync == "every-write" and self.fsync_every > 1:
            what = f'fsync = "every-write" and fsync_every = {self.fsync_every} contradict each other'
            yield problem("fsync_every", what, "keep one", "fsync")
        yield from super().conflicts()

    def _block_conflicts(self) -> Iterator[Problem]:
        for size in self.block_sizes:
            if self.direct and size % SECTOR:
                what = f"{write_size(size)} is not a multiple of {SECTOR} bytes, which O_DIRECT needs"
                yield problem("block_size", what, "or, on files, set direct = false", "direct")
            if self.verify and size < SECTOR:
                what = f"verify needs blocks of {SECTOR} bytes or more, not {write_size(size)}"
                yield problem("block_size", what, None, "verify")
            if self.verify and size > MAX_VERIFIED_BLOCK_SIZE:
                most = print_size(MAX_VERIFIED_BLOCK_SIZE)
                what = f"verify needs blocks of {most} or less, which the preparation can stamp, not {write_size(size)}"
                yield problem("block_size", what, "smaller blocks, or verify = false", "verify")
        if self.verify and len(self.block_sizes) > 1:
            what = "verify cannot be used with mixed block sizes: a block would be overwritten in parts"
            yield problem("verify", what, "use one block_size", "block_size")
        if self.direct and self.precondition_passes and self.precondition_block_size % SECTOR:
            what = f"{write_size(self.precondition_block_size)} is not a multiple of {SECTOR} bytes (O_DIRECT)"
            yield problem("precondition_block_size", what, "or set direct = false", "direct")
