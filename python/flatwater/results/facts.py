"""Facts about the machine and the storage of a result: the contents of `machine.json`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypedDict, cast, get_args, get_origin, get_type_hints


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
    #: The machines that made the load, if it was not this one.
    load_hosts: list[MachineFacts]


def facts_of(told: Mapping[str, object]) -> MachineFacts:
    """The facts of a `machine.json` from anywhere: one that is not what it should be is as unknown as an absent one.

    Facts that have no name here (another version's, another tool's) are kept for the page, which only prints them.
    """
    return cast("MachineFacts", _sound(told, MachineFacts))


def _sound(told: Mapping[str, object], kind: type) -> dict[str, object]:
    hints = _hints(kind)
    found: dict[str, object] = {}
    for name, value in told.items():
        hint = hints.get(name)
        if hint in (MachineFacts, StorageFacts) and isinstance(value, dict):
            found[name] = _sound(value, hint)
        elif get_origin(hint) is list and isinstance(value, list):
            (entry,) = get_args(hint)
            facts = [_sound(one, entry) if entry is MachineFacts and isinstance(one, dict) else one for one in value]
            if all(isinstance(one, dict) or _is(one, entry) for one in facts):
                found[name] = facts
        elif hint is None or _is(value, hint):
            found[name] = value
    return found


@cache
def _hints(kind: type) -> dict[str, type]:
    return get_type_hints(kind)


def _is(value: object, kind: type) -> bool:
    """Whether a value is of a plain type; amounts are not negative."""
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64
    return kind in (str, bool) and isinstance(value, kind)
