"""Facts about the machine and the storage of a result: the contents of `machine.json`."""

from __future__ import annotations

from typing import TypedDict


class StorageFacts(TypedDict, total=False):
    """The kernel's facts about the mount and the block device of a path. Unknown facts are absent."""

    path: str
    file_system: str
    mount_options: str
    mount_source: str
    device: str
    device_bytes: int
    model: str
    rotational: bool
    scheduler: str
    write_cache: str
    logical_block_bytes: int
    physical_block_bytes: int
    queue_requests: int
    discard_bytes_max: int
    read_ahead_bytes: int
    #: Where the partition begins on its disk; absent where the whole disk is used.
    partition_start_bytes: int
    #: Of the file system: a block, all of it, and what was free before the run.
    file_system_block_bytes: int
    file_system_bytes: int
    file_system_free_bytes: int


class MachineFacts(TypedDict, total=False):
    """`machine.json`: the machine that ran the cells. Unknown facts are absent."""

    cpu: str
    cores: int
    memory_bytes: int
    architecture: str
    kernel: str
    system: str
    hardware: str
    hypervisor: bool
    clock_source: str
    cpu_governor: str
    #: always, madvise or never.
    transparent_huge_pages: str
    swappiness: int
    swap_bytes: int
    #: Memory of each NUMA node.
    numa_node_bytes: list[int]
    python: str
    flatwater: str
    #: For a run on this machine with real files.
    storage: StorageFacts
    #: For a run on other machines: `dask`, and a machine for each worker.
    executor: str
    workers: list[MachineFacts]
