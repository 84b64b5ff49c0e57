"""The requests of a fileio workload or of a replay, independent of their target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from flatwater.experiment import Fileio
from flatwater.experiment.workload import Replay


@dataclass(frozen=True)
class Uniform:
    """All blocks have the same probability."""

    kind: Literal["uniform"] = "uniform"


@dataclass(frozen=True)
class Zipf:
    """The probability of the block with rank k is proportional to 1 / k^theta."""

    theta: float
    kind: Literal["zipf"] = "zipf"


@dataclass(frozen=True)
class Pareto:
    """A share h of the blocks gets a share 1 - h of the requests, at every scale."""

    h: float
    kind: Literal["pareto"] = "pareto"


@dataclass(frozen=True)
class Hotspot:
    """The first `data_pct` % of the blocks get `access_pct` % of the requests."""

    access_pct: float
    data_pct: float
    kind: Literal["hotspot"] = "hotspot"


Distribution = Uniform | Zipf | Pareto | Hotspot


@dataclass(frozen=True)
class ReplayedTrace:
    """A trace to replay: `replay::Spec` of crates/core."""

    path: str
    #: None: detected from the file.
    format: str | None
    speed: float
    offsets: Literal["as-is", "wrap", "scale"]
    span_bytes: int
    align_bytes: int
    repeat: bool


@dataclass(frozen=True)
class Requests:
    """A fileio workload: `workload::fileio::Fileio` of crates/core."""

    sequential: bool
    read_pct: float
    #: Sizes in bytes, each with its percentage of the requests.
    block_sizes: tuple[tuple[int, float], ...]
    files: int
    file_bytes: int
    fsync_every: int
    fsync: Literal["none", "end", "every-write"]
    distribution: Distribution
    #: The workload ends after this many bytes; 0: no limit.
    limit_bytes: int
    seed: int
    replay: ReplayedTrace | None = None

    @property
    def used_bytes(self) -> int:
        """Bytes of all files together."""
        return self.file_bytes * self.files


def write_requests(workload: Fileio, files: int, file_bytes: int, seed: int) -> Requests:
    """The plan of a workload's requests to `files` files of `file_bytes` each."""
    return Requests(
        sequential=workload.mode.startswith("seq"),
        read_pct=100 * workload.read_fraction,
        block_sizes=tuple(workload.block_sizes.items()),
        files=files,
        file_bytes=file_bytes,
        fsync_every=workload.fsync_every,
        fsync=workload.fsync,
        distribution=_distribution(workload),
        limit_bytes=0,
        seed=seed,
        replay=_replay(workload) if isinstance(workload, Replay) else None,
    )


def _distribution(workload: Fileio) -> Distribution:
    match workload.distribution:
        case "uniform":
            return Uniform()
        case "zipf":
            return Zipf(workload.zipf_theta)
        case "pareto":
            return Pareto(workload.pareto_h)
        case "hotspot":
            return Hotspot(workload.hotspot_access_pct, workload.hotspot_data_pct)


def _replay(workload: Replay) -> ReplayedTrace:
    return ReplayedTrace(
        path=workload.trace,
        format=None if workload.format == "guess" else workload.format,
        speed=workload.speed,
        offsets=workload.offsets,
        span_bytes=workload.summary["span_bytes"],
        align_bytes=workload.align_bytes,
        repeat=workload.repeat,
    )


def precondition_requests(workload: Fileio, requests: Requests) -> Requests:
    """SNIA's workload-independent preconditioning: writes the files of a workload in order, several times."""
    # A block to verify is written as a whole, so that it keeps its header.
    block = requests.block_sizes[0][0] if workload.verify else workload.precondition_block_size
    block = min(block, requests.file_bytes)
    return replace(
        requests,
        sequential=True,
        read_pct=0.0,
        block_sizes=((block, 100.0),),
        fsync_every=0,
        fsync="none",
        limit_bytes=max(block, int(requests.used_bytes * workload.precondition_passes)),
        replay=None,
    )


def read_back_requests(requests: Requests) -> Requests:
    """The requests that read every block of a workload's files once."""
    block = requests.block_sizes[0][0]
    limit = requests.file_bytes // block * block * requests.files
    return replace(requests, sequential=True, read_pct=100.0, fsync_every=0, fsync="none", limit_bytes=limit)
