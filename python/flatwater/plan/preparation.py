"""The files to write before a workload uses them."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.owned import Identity


@dataclass(frozen=True)
class Preparation:
    """The files and their data: `prepare::Spec` of crates/real."""

    #: Existing files. Each is extended to `file_bytes`.
    paths: tuple[str, ...]
    permit: tuple[Identity, ...]
    file_bytes: int
    #: Bytes that an earlier attempt wrote, over all files in order.
    done_bytes: int
    threads: int
    direct: bool
    #: Whether the path is a block device.
    device: bool
    compressible_pct: float
    #: Size of the blocks that are stamped for verification; 0: no stamps.
    stamp_bytes: int
    set_id: int
    seed: int
