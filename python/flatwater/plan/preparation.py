"""Files that are written before a workload uses them."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.owned import Identity


@dataclass(frozen=True)
class Preparation:
    """What to write: `prepare::Spec` of crates/real."""

    #: Files that exist; each is extended to `file_bytes`.
    paths: tuple[str, ...]
    permit: tuple[Identity, ...]
    file_bytes: int
    #: Bytes that an earlier attempt wrote, counted over all files in order.
    done_bytes: int
    threads: int
    direct: bool
    #: The files are a block device.
    device: bool
    compressible_pct: float
    #: Blocks of this size are stamped, so that they can be verified; 0: none are.
    stamp_bytes: int
    set_id: int
    seed: int
