"""Settings of the modelled InnoDB: one line defines each of them.

The engine's `Settings` (crates/model/src/database/settings.rs) has the same fields; `tests/plan/test_mirror.py` holds
both to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from flatwater.experiment.database import innodb_computed as computed
from flatwater.experiment.database.innodb_computed import Computed, Host
from flatwater.experiment.database.innodb_definition import GONE, Default, Definition
from flatwater.experiment.database.innodb_others import WITHOUT_EFFECT
from flatwater.experiment.database.innodb_values import (
    Reader,
    Value,
    binlog_size,
    chunk_size,
    file_name,
    number,
    percent,
    power_of_two,
    size,
    switch,
    word,
)
from flatwater.experiment.database.lineage import Generation
from flatwater.experiment.database.settings import Setting, name_fault, spell, value_fault
from flatwater.experiment.problem import Problem, raise_problems
from flatwater.spelling import nearest

#: Files that MySQL 8.0.30's redo log has whatever its capacity (LOG_N_FILES of its log0constants.h).
REDO_FILES = 32

#: Settings of servers whose counterpart in the model is a field.
_FIELDS = {"innodb_doublewrite_file": "database.doublewrite_device puts the buffer on a device of its own"}
#: XtraDB's names and numbers (0 and 1 are native and estimate there, 2 keep_average).
_METHODS = {
    **{name: name for name in ("native", "reflex", "estimate", "keep_average")},
    "0": "native",
    "1": "estimate",
    "2": "keep_average",
}
#: What Percona Server 5.1 called them, and how it counted.
_CHECKPOINTS = {
    **{name: name for name in ("none", "reflex", "estimate", "keep_average")},
    "0": "none",
    "1": "reflex",
    "2": "estimate",
    "3": "keep_average",
}
#: As the engine counts them: none, contiguous ones, the whole area; XtraDB's numbers were none, area and contiguous.
_AREA = 2
_NEIGHBOURS = {"none": 0, "0": 0, "area": _AREA, "1": _AREA, "cont": 1, "2": 1}
_FLUSH_NEIGHBORS = {"0": 0, "1": 1, "2": _AREA, "off": 0, "on": 1, "false": 0, "true": 1}
#: What the log goes through: data pages never go through the kernel's cache in the model. Percona Server has the last.
_FLUSH_METHODS = {
    **dict.fromkeys(("fsync", "fdatasync", "o_dsync", "o_direct", "o_direct_no_fsync"), "O_DIRECT"),
    "all_o_direct": "ALL_O_DIRECT",
}
#: Percona Server's formulas of innodb_cleaner_lsn_age_factor.
_AGE_FACTORS = {name: name for name in ("legacy", "high_checkpoint")}
_CHANGE_BUFFERING = {name: name for name in ("none", "inserts", "deletes", "changes", "purges", "all")}


def _setting(read: Reader, since: Mapping[Generation, Default], without: Default = None) -> Any:
    return field(metadata={"definition": Definition(read, since, without)})


@dataclass(frozen=True)
class InnodbSettings:
    """Every setting that the model knows, by the servers' own names, as the engine takes it. Sizes are bytes.

    Computed defaults follow from settings above them (`innodb_computed.py`).
    """

    innodb_buffer_pool_size: int = _setting(
        size,
        {
            "mysql-5.1": 8 << 20,
            "mysql-5.5": 128 << 20,
            "mysql-8.0.11": computed.pool_of_dedicated,
            "mariadb-10.11": 128 << 20,
        },
    )
    innodb_buffer_pool_instances: int = _setting(
        number(1, 64),
        {
            "mysql-5.5": 1,
            "mysql-5.6": computed.eight_instances,
            "mysql-8.4": computed.instances,
            "mariadb-10.11": GONE,
        },
        without=1,
    )
    innodb_log_file_size: int = _setting(
        size, {"mysql-5.1": 5 << 20, "mysql-5.6": 48 << 20, "mysql-9": GONE, "mariadb-10.11": 96 << 20}, without=0
    )
    innodb_log_files_in_group: int = _setting(
        number(2, 100), {"mysql-5.1": 2, "mysql-9": GONE, "mariadb-10.11": GONE}, without=1
    )
    innodb_log_block_size: int = _setting(power_of_two(512, 4096), {"percona-5.5": 512}, without=512)
    #: 512 of MariaDB 10.11.9 and later.
    innodb_log_write_ahead_size: int = _setting(
        power_of_two(512, 16384), {"mysql-5.7": 8192, "mariadb-10.11": 512}, without=0
    )
    innodb_log_buffer_size: int = _setting(
        size, {"mysql-5.1": 1 << 20, "mysql-5.5": 8 << 20, "mysql-5.7": 16 << 20, "mysql-8.4": 64 << 20}
    )
    innodb_flush_method: Literal["O_DIRECT", "ALL_O_DIRECT"] = _setting(word(_FLUSH_METHODS), {"mysql-5.1": "O_DIRECT"})
    innodb_log_file_buffering: bool = _setting(switch, {"mariadb-10.11": computed.log_file_buffering}, without=False)
    #: Of the others, the engine knows which sync data only.
    innodb_use_fdatasync: bool = _setting(
        switch, {"mysql-8.0": False, "mysql-8.4": True, "mariadb-10.11": GONE}, without=False
    )
    innodb_flush_log_at_trx_commit: int = _setting(number(0, 2), {"mysql-5.1": 1})
    innodb_thread_concurrency: int = _setting(
        number(0, 1000), {"mysql-5.1": 8, "mysql-5.5": 0, "mariadb-10.11": GONE}, without=0
    )
    log_bin: bool = _setting(file_name, {"mysql-5.1": False, "mysql-8.0.11": True})
    sync_binlog: int = _setting(number(0, 2**32 - 1), {"mysql-5.1": 0, "mysql-5.7": 1, "mariadb-10.11": 0})
    max_binlog_size: int = _setting(binlog_size, {"mysql-5.1": 1 << 30})
    #: Files of a size are the older way to say it.
    innodb_redo_log_capacity: int = _setting(
        size, {"mysql-8.0": computed.redo_of_dedicated_8_0, "mysql-8.4": computed.redo_of_dedicated}, without=0
    )
    #: MySQL 5.1: a constant of its source.
    innodb_io_capacity: int = _setting(number(100, 10**7), {"mysql-5.1": 100, "mysql-5.5": 200, "mysql-8.4": 10_000})
    innodb_io_capacity_max: int = _setting(
        number(100, 10**7), {"mysql-5.6": computed.io_capacity_max}, without=computed.io_capacity_max
    )
    innodb_max_dirty_pages_pct: float = _setting(
        percent(100), {"mysql-5.1": 90.0, "mysql-5.5": 75.0, "mysql-8.0.11": 90.0, "mariadb-10.11": 90.0}
    )
    innodb_max_dirty_pages_pct_lwm: float = _setting(
        percent(100), {"mysql-5.6": 0.0, "mysql-8.0.11": 10.0}, without=0.0
    )
    innodb_adaptive_flushing: bool = _setting(switch, {"mysql-5.1": False, "mysql-5.5": True})
    innodb_adaptive_flushing_lwm: float = _setting(percent(70), {"mysql-5.6": 10.0}, without=10.0)
    innodb_flushing_avg_loops: int = _setting(number(1, 1000), {"mysql-5.6": 30}, without=30)
    innodb_flush_sync: bool = _setting(switch, {"mysql-5.7": True}, without=True)
    innodb_lru_scan_depth: int = _setting(number(100, 2**31), {"mysql-5.6": 1024, "mariadb-10.11": 1536}, without=1024)
    innodb_old_blocks_time: int = _setting(number(0, 2**32 - 1), {"mysql-5.5": 0, "mysql-5.6": 1000}, without=0)
    innodb_page_cleaners: int = _setting(
        number(1, 64), {"mysql-5.7": 4, "mysql-8.4": computed.page_cleaners, "mariadb-10.11": GONE}, without=1
    )
    innodb_purge_threads: int = _setting(
        number(0, 32), {"mysql-5.1": 0, "mysql-5.6": 1, "mysql-5.7": 4, "mysql-8.4": computed.purge_threads}
    )
    #: 127 of MariaDB 10.11.6 and later (MDEV-32050).
    innodb_purge_batch_size: int = _setting(
        number(1, 5000), {"mysql-5.5": 20, "mysql-5.6": 300, "mariadb-10.11": 127}, without=20
    )
    innodb_cleaner_lsn_age_factor: Literal["legacy", "high_checkpoint"] = _setting(
        word(_AGE_FACTORS), {"percona-8.4": "high_checkpoint"}, without="legacy"
    )
    innodb_adaptive_flushing_method: Literal["native", "reflex", "estimate", "keep_average"] = _setting(
        word(_METHODS), {"percona-5.5": "estimate"}, without="native"
    )
    innodb_doublewrite: bool = _setting(switch, {"mysql-5.1": True})
    #: MySQL 8.0: as many as innodb_write_io_threads, of which there are 4, unless it is written.
    innodb_doublewrite_pages: int = _setting(number(0, 512), {"mysql-8.0": 4, "mysql-8.4": 128}, without=0)
    innodb_file_per_table: bool = _setting(switch, {"mysql-5.1": False, "mysql-5.6": True})
    #: Before Percona's setting (and MySQL 5.6's), neighbours were always written too.
    innodb_flush_neighbors: int = _setting(word(_FLUSH_NEIGHBORS), {"mysql-5.6": 1, "mysql-8.0.11": 0}, without=_AREA)
    innodb_checkpoint_age_target: int = _setting(size, {"percona-5.5": 0}, without=0)
    #: MySQL 5.1's built-in InnoDB knew insertions only. MariaDB: none since 10.5.15 (MDEV-27734), and no change
    #: buffer since 11.0 (MDEV-29694).
    innodb_change_buffering: Literal["none", "inserts", "deletes", "changes", "purges", "all"] = _setting(
        word(_CHANGE_BUFFERING),
        {"mysql-5.1": "inserts", "mysql-5.5": "all", "mysql-8.4": "none", "mariadb-10.11": "none", "mariadb-11": GONE},
        without="none",
    )
    #: Without it, half of the pool (IBUF_POOL_SIZE_PER_MAX_SIZE of ibuf0ibuf.c).
    innodb_change_buffer_max_size: int = _setting(number(0, 50), {"mysql-5.6": 25, "mariadb-11": GONE}, without=50)
    #: MySQL 5.1: constants (3/8 of 64 pages; buf0rea.c).
    innodb_read_ahead_threshold: int = _setting(number(0, 64), {"mysql-5.1": 24, "mysql-5.5": 56})
    innodb_random_read_ahead: bool = _setting(switch, {"mysql-5.1": True, "mysql-5.5": False})
    innodb_adaptive_hash_index: bool = _setting(switch, {"mysql-5.1": True, "mysql-8.4": False, "mariadb-10.11": False})


#: The engine's settings.
_ENGINE: dict[str, Definition] = {one.name: one.metadata["definition"] for one in fields(InnodbSettings)}
#: Percona Server's name of innodb_flush_neighbors.
_NEIGHBOR_PAGES = "innodb_flush_neighbor_pages"
#: The name of innodb_adaptive_flushing_method in its 5.1.
_CHECKPOINT = "innodb_adaptive_checkpoint"
#: What MySQL calls the size of its redo log; MariaDB's is that of its one file.
_CAPACITY = "innodb_redo_log_capacity"
#: What servers do that do not have the setting: one pool, and a log through the kernel's cache.
_ANYWAY: dict[str, Value] = {"innodb_buffer_pool_instances": 1, "innodb_log_file_buffering": True}
#: What other defaults are computed from.
_DEDICATED, _CHUNK = "innodb_dedicated_server", "innodb_buffer_pool_chunk_size"
#: Every setting that may be written.
_SETTINGS = (
    _ENGINE
    | WITHOUT_EFFECT
    | {
        _NEIGHBOR_PAGES: Definition(word(_NEIGHBOURS), {"percona-5.5": "area"}),
        _CHECKPOINT: Definition(word(_CHECKPOINTS), {"percona-5.5": None}),
        _DEDICATED: Definition(switch, {"mysql-8.0.11": False, "mariadb-10.11": GONE}, without=False),
        _CHUNK: Definition(chunk_size, {"mysql-5.7": 128 << 20, "mariadb-10.11": GONE}),
    }
)


def read_model_settings(table: Any) -> Any:
    """The settings with their names spelled with underscores; refuses what the model does not have, all at once."""
    if not isinstance(table, Mapping):
        return table
    raise_problems("settings", _faults(table))
    return {spell(name): value for name, value in table.items()}


def _faults(table: Mapping[str, Any]) -> Iterator[Problem]:
    known = sorted(_SETTINGS)
    for written, value in table.items():
        name = spell(written)
        about = (f"database.settings.{name}",)
        if fault := name_fault(name) or value_fault(name, value):
            yield Problem(name, *fault, about)
        elif name not in known:
            close = nearest(name, known)
            hint = f"did you mean {close}?" if close else f"modelled: {', '.join(known)}"
            yield Problem(name, "is not modelled", _FIELDS.get(name, hint), about)
        else:
            try:
                _SETTINGS[name].read(value)
            except ValueError as error:
                yield Problem(name, str(error), None, about)


@cache
def defaults(generation: str) -> Mapping[str, Value]:
    """The settings that a generation's servers have, with their defaults; {} of servers that are not modelled.

    None: the server computes it. Each cell of a sweep needs them several times.
    """
    return MappingProxyType({name: None if callable(one) else one for name, one in _defaults(generation).items()})


@cache
def _defaults(generation: str) -> Mapping[str, Default]:
    found: dict[str, Default] = {}
    for name, definition in _SETTINGS.items():
        with suppress(KeyError):
            found[name] = definition.default(generation)
    return found


def has(generation: str, name: str) -> bool:
    """Whether a generation's servers have a setting that the model knows, with effect or without."""
    return name in defaults(generation)


def is_done_anyway(generation: str, name: str, value: Setting) -> bool:
    """Whether servers without a setting do what is written: a comparison of generations may write it for all."""
    return name in _ANYWAY and not has(generation, name) and _SETTINGS[name].read(value) == _ANYWAY[name]


def own_name(generation: str, name: str) -> str:
    """What servers of a generation call a setting (`server/translate.py` does the same for real servers)."""
    is_other = name == _CAPACITY and not has(generation, name) and not has(generation, "innodb_log_files_in_group")
    return "innodb_log_file_size" if is_other else name


def server_settings(generation: str, written: Mapping[str, Setting], host: Host) -> dict[str, Value]:
    """Every setting as a server of this generation has it when it was started on this machine."""
    own = _defaults(generation)
    written = {own_name(generation, name): value for name, value in written.items()}
    read: dict[str, Value] = {}
    to_compute: dict[str, Computed] = {}
    for name, definition in _SETTINGS.items():
        value = written[name] if name in written else own.get(name, definition.without)
        if callable(value):
            to_compute[name] = value
        elif value is None or (name not in written and name not in own):
            read[name] = value
        else:
            read[name] = definition.read(value)
    # In the order of the definitions: what is computed rests on what stands above it.
    for name, compute in to_compute.items():
        read[name] = compute(read, host)
    return read


def resolve(generation: str, written: Mapping[str, Setting], host: Host | None = None) -> InnodbSettings:
    """Every setting as the engine takes it: what is written over the generation's defaults."""
    read = server_settings(generation, written, host or Host())
    if "innodb_flush_neighbors" not in written and read[_NEIGHBOR_PAGES] is not None:
        read["innodb_flush_neighbors"] = read[_NEIGHBOR_PAGES]
    if read[_CHECKPOINT] is not None:
        switched_on = "innodb_adaptive_flushing" in written and bool(read["innodb_adaptive_flushing"])
        read |= _as_percona_5_1(read[_CHECKPOINT], native=switched_on)
    resolved: dict[str, Any] = {name: read[name] for name in _ENGINE}
    if has(generation, "innodb_redo_log_capacity"):
        files = {"innodb_log_file_size", "innodb_log_files_in_group"}
        if files & set(written) and "innodb_redo_log_capacity" not in written:
            capacity = resolved["innodb_log_file_size"] * resolved["innodb_log_files_in_group"]
            resolved["innodb_redo_log_capacity"] = capacity
        resolved["innodb_log_files_in_group"] = REDO_FILES
        resolved["innodb_log_file_size"] = resolved["innodb_redo_log_capacity"] // REDO_FILES // 4096 * 4096
    return InnodbSettings(**resolved)


def _as_percona_5_1(checkpoint: Value, *, native: bool) -> dict[str, Value]:
    """What Percona Server 5.1's innodb_adaptive_checkpoint means; `native`: innodb_adaptive_flushing was switched on.

    That is off there by default (ha_innodb.cc of XtraDB 1.0.17), and `none` leaves it so. Switched on it is looked at
    first, whatever the method (srv_master_thread).
    """
    method = "native" if native or checkpoint == "none" else checkpoint
    return {"innodb_adaptive_flushing_method": method, "innodb_adaptive_flushing": native or checkpoint != "none"}


def contradictions(settings: InnodbSettings, written: Mapping[str, Setting]) -> Iterator[Problem]:
    """Resolved settings that servers do not take together, those of them that are written."""
    method = "innodb_adaptive_flushing_method"
    if {method, _CHECKPOINT} <= written.keys():
        about = (f"database.settings.{_CHECKPOINT}", f"database.settings.{method}")
        yield Problem(f"settings.{_CHECKPOINT}", f"{method} says the same thing", "give one of the two", about)
    for high, low in (
        ("innodb_io_capacity_max", "innodb_io_capacity"),
        ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"),
    ):
        name, other = (high, low) if high in written else (low, high)
        most, least = getattr(settings, high), getattr(settings, low)
        if most < least and name in written:
            what = f"{high} must not be below {low}: {most:g} and {least:g}"
            yield Problem(f"settings.{name}", what, None, (f"database.settings.{name}", f"database.settings.{other}"))
