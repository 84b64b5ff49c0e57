"""What is asked of each server: a base, and one change of it at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.servers.registry import Server
from flatwater.experiment.database.innodb_settings import has

Value: TypeAlias = str | int | float | bool
#: Fields of an experiment's file, with dots, and their values.
Fields: TypeAlias = Mapping[str, Value]

_SETTINGS = "database.settings."
#: In all files of the redo log. Small, so that its limit is met in the base.
REDO_MIB = 48
#: TPC-C's data are some 100 MiB a warehouse: a pool of a quarter of them with five warehouses.
POOL_MIB = 128
CONNECTIONS = 16
#: A change of `CONNECTIONS` to each of these.
_OTHER_CONNECTIONS = (1, 4, 64, 256)
_REDO_TIMES = 8
_ADAPTIVE_CHECKPOINT = "innodb_adaptive_checkpoint"


@dataclass(frozen=True)
class Change:
    """One change of the base."""

    name: str
    fields: Fields


def base(server: Server, generation: str) -> Fields:
    """The unchanged server: every field that some change replaces, as far as servers of the generation have it."""
    settings: dict[str, Value] = {
        "innodb_buffer_pool_size": f"{POOL_MIB}M",
        "innodb_log_files_in_group": 2,
        "innodb_doublewrite": True,
        "innodb_io_capacity": 200,
        "innodb_io_capacity_max": 2000,
        "innodb_flush_neighbors": 0,
        "innodb_buffer_pool_instances": 1,
        "innodb_page_cleaners": 1,
        "innodb_max_dirty_pages_pct": 75,
        "innodb_flush_log_at_trx_commit": 1,
        "innodb_flush_method": "O_DIRECT",
    }
    # An own setting is replaced, too; its first value is that of the base.
    settings |= {name: values[0][0] for name, values in server.own if name == _ADAPTIVE_CHECKPOINT}
    kept = {f"{_SETTINGS}{name}": value for name, value in settings.items() if has(generation, name)}
    return {"workload.connections": CONNECTIONS, **kept, **_redo(generation, 1)}


def changes(server: Server, generation: str) -> tuple[Change, ...]:
    """Every change of the server itself that servers of the generation can have."""
    unchanged = base(server, generation)
    return tuple(one for one in _all(server, generation) if one.fields.keys() <= unchanged.keys())


def _all(server: Server, generation: str) -> Iterator[Change]:
    # The most telling ones first: a night may end before the last.
    yield Change(f"redo log x {_REDO_TIMES}", _redo(generation, _REDO_TIMES))
    for times in (2.0, 0.5):
        yield _setting(f"buffer pool x {times:g}", innodb_buffer_pool_size=f"{POOL_MIB * times:.0f}M")
    yield _setting("doublewrite off", innodb_doublewrite=False)
    # Servers without a maximum take the capacity alone.
    capacity, most = f"{_SETTINGS}innodb_io_capacity", f"{_SETTINGS}innodb_io_capacity_max"
    for value in (2000, 20000):
        both = {capacity: value, most: 2 * value}
        own = both if has(generation, "innodb_io_capacity_max") else {capacity: value}
        yield Change(f"io_capacity {value}", own)
    yield _setting("neighbours", innodb_flush_neighbors=1)
    yield _setting("8 pool instances", innodb_buffer_pool_instances=8)
    yield _setting("4 page cleaners", innodb_page_cleaners=4)
    yield _setting("dirty limit 20 %", innodb_max_dirty_pages_pct=20)
    yield _setting("commits synced once a second", innodb_flush_log_at_trx_commit=2)
    yield _setting("flush method fsync", innodb_flush_method="fsync")
    for count in _OTHER_CONNECTIONS:
        yield Change(f"{count} connections", {"workload.connections": count})
    for name, values in server.own:
        if name == _ADAPTIVE_CHECKPOINT:
            for method, _ in values[1:]:
                yield _setting(f"adaptive checkpoint {method}", innodb_adaptive_checkpoint=method)


def _setting(title: str, **settings: Value) -> Change:
    return Change(title, {f"{_SETTINGS}{name}": value for name, value in settings.items()})


def _redo(generation: str, times: int) -> Fields:
    """The size of one file of the redo log: there are two, or only one where the generation has no more."""
    if not has(generation, "innodb_log_file_size"):
        return {f"{_SETTINGS}innodb_redo_log_capacity": f"{REDO_MIB * times}M"}
    files = 2 if has(generation, "innodb_log_files_in_group") else 1
    return {f"{_SETTINGS}innodb_log_file_size": f"{REDO_MIB * times // files}M"}
