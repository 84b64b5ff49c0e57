"""A run of a fileio workload: on files and block devices of this machine, or on a modelled device."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from flatwater.experiment import Experiment, Fileio
from flatwater.experiment.device import Use
from flatwater.owned import Identity, Permit
from flatwater.plan import units
from flatwater.plan.device import Device, never_written, write_cached, write_device
from flatwater.plan.part import Part
from flatwater.plan.requests import Requests, Uniform, precondition_requests, read_back_requests, write_requests

#: The end of a fault that does not end within the run.
FOREVER_S = 1e9


@dataclass(frozen=True)
class Verify:
    """The stamps of blocks, and their check."""

    #: Identifies the set of prepared files that the blocks belong to.
    set_id: int
    #: The run writes generations above this one. All earlier runs wrote smaller generations.
    generation_base: int


@dataclass(frozen=True)
class Fault:
    """A fault that is injected on purpose."""

    kind: Literal["error", "full", "stall", "lost-write", "misplaced-write", "corrupt-read"]
    after_ops: int
    duration_s: float


@dataclass(frozen=True)
class RealFileio:
    """A workload on files or a block device: `fileio::Spec` of crates/real."""

    workload: Requests
    paths: tuple[str, ...]
    #: The files that may be written; None: no file.
    permit: tuple[Identity, ...] | None
    threads: int
    #: Of several load hosts, the share of this one; None: the threads above are all.
    part: Part | None
    queue_depth: int
    engine: Literal["psync", "io_uring"]
    direct: bool
    sync: Literal["none", "sync", "dsync"]
    fsync_call: Literal["fsync", "fdatasync"]
    #: 0: closed loop.
    rate_per_s: float
    poisson: bool
    compressible_pct: float
    verify: Verify | None
    #: Drops the files from the page cache before the first request.
    drop_cache: bool
    fault: Fault | None
    continue_on_error: bool
    record: bool
    interval_ms: int


@dataclass(frozen=True)
class ModelledFileio:
    """A workload on a modelled device, in virtual time: `fileio::Spec` of crates/model."""

    workload: Requests
    device: Device
    threads: int
    queue_depth: int
    #: Every write is durable when it completes.
    sync: bool
    #: At most one write to a file at a time.
    exclusive_writes: bool
    #: 0: closed loop.
    rate_per_s: float
    poisson: bool
    continue_on_error: bool
    interval_ms: int


def write_real_fileio(
    cell: Experiment, paths: list[Path], file_bytes: int, seed: int, *, permit: Permit | None, verify: Verify | None
) -> RealFileio:
    """The plan of a cell's workload on existing files."""
    workload, fault = cell.fileio, cell.files.fault
    return RealFileio(
        workload=write_requests(workload, len(paths), file_bytes, seed),
        paths=tuple(str(path) for path in paths),
        permit=None if permit is None else permit.files,
        threads=workload.threads,
        part=None,
        queue_depth=workload.queue_depth,
        engine=workload.engine,
        direct=workload.direct,
        sync=workload.sync,
        fsync_call=workload.fsync_call,
        rate_per_s=workload.rate_per_s,
        poisson=workload.arrival == "poisson",
        compressible_pct=workload.compressible_pct,
        verify=verify,
        drop_cache=False,
        fault=Fault(fault.kind, fault.after_ops, fault.duration_s or FOREVER_S) if fault is not None else None,
        continue_on_error=workload.on_error == "continue",
        record=workload.record_latency,
        interval_ms=units.interval_ms(cell),
    )


def write_modelled_fileio(cell: Experiment, seed: int, *, fresh: bool = False) -> ModelledFileio:
    """The plan of a cell's workload on its modelled storage (`fresh`: a device that was never written)."""
    workload = cell.fileio
    return ModelledFileio(
        workload=write_requests(workload, workload.files, _file_bytes(cell), seed),
        device=write_storage(
            cell, asynchronous=workload.engine == "io_uring", align_bytes=_align_bytes(cell), fresh=fresh
        ),
        threads=workload.threads,
        queue_depth=workload.queue_depth,
        sync=workload.sync != "none",
        exclusive_writes=cell.modelled.exclusive_writes,
        rate_per_s=workload.rate_per_s,
        poisson=workload.arrival == "poisson",
        continue_on_error=workload.on_error == "continue",
        interval_ms=units.interval_ms(cell),
    )


def write_plain_fileio(
    device: Device,
    *,
    sequential: bool,
    read_pct: float,
    block_bytes: int,
    file_bytes: int,
    threads: int,
    queue_depth: int,
    seed: int,
    interval_ms: int,
) -> ModelledFileio:
    """The plan of a closed loop of requests of one size to one file on a device, uniform or sequential."""
    return ModelledFileio(
        workload=Requests(
            sequential=sequential,
            read_pct=read_pct,
            block_sizes=((block_bytes, 100.0),),
            files=1,
            file_bytes=file_bytes,
            fsync_every=0,
            fsync="none",
            distribution=Uniform(),
            limit_bytes=0,
            seed=seed,
        ),
        device=device,
        threads=threads,
        queue_depth=queue_depth,
        sync=False,
        exclusive_writes=False,
        rate_per_s=0.0,
        poisson=False,
        continue_on_error=False,
        interval_ms=interval_ms,
    )


def write_storage(cell: Experiment, *, asynchronous: bool, align_bytes: int, fresh: bool = False) -> Device:
    """The plan of the layers below a cell's workload or modelled database: the storage, or a cache on it.

    `asynchronous` requests wait in a queue of the kernel. Each is a multiple of `align_bytes`. `fresh`: a device that
    was never written, which the engine makes at once.
    """
    cache = cell.flash_cache
    align = align_bytes if cache is None else math.gcd(align_bytes, cache.block_size)
    use = cell.modelled.use(asynchronous=asynchronous, align_bytes=align)
    storage = write_device(cell.modelled.modelled_device, never_written(use) if fresh else use)
    return storage if cache is None else write_cached(cache, storage, align_bytes=align, fresh=fresh)


def fileio_use(cell: Experiment) -> Use:
    """How a fileio workload uses its modelled storage: its queue, and the unit of its sizes."""
    return cell.modelled.use(asynchronous=cell.fileio.engine == "io_uring", align_bytes=_align_bytes(cell))


def _file_bytes(cell: Experiment) -> int:
    """Bytes of each file. The files lie one after another, so the length is a multiple of the alignment."""
    common = math.gcd(*cell.fileio.block_sizes)
    return (cell.size_per_file or 0) // common * common


def _align_bytes(cell: Experiment) -> int:
    """The common divisor of all request sizes."""
    workload = cell.fileio
    align = math.gcd(*workload.block_sizes)
    if workload.precondition_passes > 0:
        align = math.gcd(align, min(workload.precondition_block_size, _file_bytes(cell)))
    return align


#: A plan of either kind.
FileioRun = TypeVar("FileioRun", RealFileio, ModelledFileio)


def preconditioning(workload: Fileio, plan: FileioRun) -> FileioRun:
    """The plan of the preconditioning for a workload with this plan."""
    # The result of the preconditioning counts, not its engine: this depth is fast on any device.
    depth = 32 if workload.engine == "io_uring" else 1
    requests = precondition_requests(workload, plan.workload)
    return replace(plan, workload=requests, threads=1 if depth > 1 else 4, queue_depth=depth, rate_per_s=0.0)


def draining(plan: RealFileio) -> RealFileio:
    """One request, and the end of the workload (its final fsync): for a measurement that was interrupted."""
    requests = replace(plan.workload, limit_bytes=1)
    return replace(plan, workload=requests, threads=1, queue_depth=1, rate_per_s=0.0)


def reading_back(plan: RealFileio) -> RealFileio:
    """The plan that reads every block once, to verify what the run wrote."""
    # Data from the page cache would prove nothing about the storage.
    return replace(plan, workload=read_back_requests(plan.workload), rate_per_s=0.0, fault=None, drop_cache=True)
