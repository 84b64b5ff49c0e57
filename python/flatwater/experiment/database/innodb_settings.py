"""Settings of the modelled InnoDB: what each generation of servers has, and its defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flatwater.experiment.database.settings import Setting, name_fault, spell, value_fault
from flatwater.experiment.problem import Problem, quote, raise_problems
from flatwater.experiment.units import parse_size
from flatwater.spelling import nearest

Generation = Literal["mysql-5.1", "mysql-5.5", "percona-5.5", "mysql-5.6", "mysql-5.7", "mysql-8.0", "mariadb-10.11"]


@dataclass(frozen=True)
class InnodbSettings:
    """Every setting that the model knows, of any generation, by the servers' own names. Sizes are bytes."""

    innodb_buffer_pool_size: int
    innodb_buffer_pool_instances: int
    innodb_log_file_size: int
    innodb_log_files_in_group: int
    innodb_log_block_size: int
    innodb_log_write_ahead_size: int
    innodb_log_buffer_size: int
    innodb_flush_method: Literal["O_DIRECT", "ALL_O_DIRECT"]
    innodb_log_file_buffering: bool
    innodb_flush_log_at_trx_commit: int
    innodb_thread_concurrency: int
    log_bin: bool
    sync_binlog: int
    max_binlog_size: int
    innodb_redo_log_capacity: int
    innodb_io_capacity: int
    innodb_io_capacity_max: int
    innodb_max_dirty_pages_pct: float
    innodb_max_dirty_pages_pct_lwm: float
    innodb_adaptive_flushing: bool
    innodb_adaptive_flushing_lwm: float
    innodb_flushing_avg_loops: int
    innodb_flush_sync: bool
    innodb_lru_scan_depth: int
    innodb_old_blocks_time: int
    innodb_page_cleaners: int
    innodb_adaptive_flushing_method: Literal["native", "reflex", "estimate", "keep_average"]
    innodb_doublewrite: bool
    innodb_doublewrite_pages: int
    innodb_file_per_table: bool
    innodb_flush_neighbors: int
    innodb_checkpoint_age_target: int
    innodb_change_buffering: Literal["none", "inserts", "deletes", "changes", "purges", "all"]
    innodb_change_buffer_max_size: int
    innodb_read_ahead_threshold: int
    innodb_random_read_ahead: bool


#: MySQL 5.1's built-in InnoDB (manual 5.1, "InnoDB Startup Options"; io_capacity is a constant of its source).
_MYSQL_51: dict[str, Any] = {
    "innodb_buffer_pool_size": 8 << 20,
    "innodb_log_file_size": 5 << 20,
    "innodb_log_files_in_group": 2,
    "innodb_flush_log_at_trx_commit": 1,
    "innodb_thread_concurrency": 8,
    "innodb_io_capacity": 100,
    "innodb_max_dirty_pages_pct": 90.0,
    "innodb_adaptive_flushing": False,
    "innodb_doublewrite": True,
    "innodb_file_per_table": False,
    "innodb_log_buffer_size": 1 << 20,
    "innodb_flush_method": "O_DIRECT",
    "log_bin": False,
    "sync_binlog": 0,
    "max_binlog_size": 1 << 30,
    # The built-in one knew insertions only, and had constants for read-ahead (3/8 of 64 pages; buf0rea.c).
    "innodb_change_buffering": "inserts",
    "innodb_read_ahead_threshold": 24,
    "innodb_random_read_ahead": True,
}
#: MySQL 5.5 (manual 5.5): the plugin's new settings.
_MYSQL_55: dict[str, Any] = _MYSQL_51 | {
    "innodb_buffer_pool_size": 128 << 20,
    "innodb_buffer_pool_instances": 1,
    "innodb_old_blocks_time": 0,
    "innodb_thread_concurrency": 0,
    "innodb_io_capacity": 200,
    "innodb_max_dirty_pages_pct": 75.0,
    "innodb_adaptive_flushing": True,
    "innodb_log_buffer_size": 8 << 20,
    "innodb_change_buffering": "all",
    "innodb_read_ahead_threshold": 56,
    "innodb_random_read_ahead": False,
}
#: Percona Server 5.5 (its manual, "Improved InnoDB I/O Scalability").
_PERCONA_55: dict[str, Any] = _MYSQL_55 | {
    "innodb_adaptive_flushing_method": "estimate",
    "innodb_flush_neighbor_pages": "area",
    "innodb_checkpoint_age_target": 0,
    "innodb_log_block_size": 512,
}

#: MySQL 5.6 (manual 5.6, "InnoDB Startup Options and System Variables"): the page cleaner's settings.
_MYSQL_56: dict[str, Any] = _MYSQL_55 | {
    "innodb_log_file_size": 48 << 20,
    # 8, and 1 for a pool below 1 GiB, unless it is written.
    "innodb_buffer_pool_instances": None,
    "innodb_old_blocks_time": 1000,
    "innodb_file_per_table": True,
    # Twice innodb_io_capacity, and 2000 at least, unless it is written.
    "innodb_io_capacity_max": None,
    "innodb_max_dirty_pages_pct_lwm": 0.0,
    "innodb_adaptive_flushing_lwm": 10.0,
    "innodb_flushing_avg_loops": 30,
    "innodb_lru_scan_depth": 1024,
    "innodb_flush_neighbors": 1,
    "innodb_change_buffer_max_size": 25,
}
#: MySQL 5.7 (manual 5.7).
_MYSQL_57: dict[str, Any] = _MYSQL_56 | {
    "innodb_flush_sync": True,
    "innodb_page_cleaners": 4,
    "innodb_log_buffer_size": 16 << 20,
    "innodb_log_write_ahead_size": 8192,
    "sync_binlog": 1,
}
#: MySQL 8.0.30 and later (manual 8.0); files of a size are the older way to say the log's capacity.
_MYSQL_80: dict[str, Any] = _MYSQL_57 | {
    "innodb_max_dirty_pages_pct": 90.0,
    "innodb_max_dirty_pages_pct_lwm": 10.0,
    "innodb_flush_neighbors": 0,
    "innodb_redo_log_capacity": 100 << 20,
    # As many as innodb_write_io_threads, of which there are 4, unless it is written.
    "innodb_doublewrite_pages": 4,
    "log_bin": True,
}
#: MariaDB 10.11 (its documentation, "InnoDB System Variables"): one log file.
_MARIADB_1011: dict[str, Any] = {
    name: value
    for name, value in _MYSQL_57.items()
    if name
    not in (
        "innodb_log_files_in_group",
        "innodb_thread_concurrency",
        "innodb_buffer_pool_instances",
        "innodb_page_cleaners",
    )
} | {
    "innodb_log_file_size": 96 << 20,
    "innodb_max_dirty_pages_pct": 90.0,
    "innodb_lru_scan_depth": 1536,
    # Of 10.11.9 and later.
    "innodb_log_write_ahead_size": 512,
    # Off, but on for a server that is started with innodb_flush_log_at_trx_commit = 2 (MDEV-28766).
    "innodb_log_file_buffering": None,
    "sync_binlog": 0,
    # Since 10.5.15 (MDEV-27734); MySQL since 8.4, which is not modelled.
    "innodb_change_buffering": "none",
}

#: What each generation has, with its defaults.
DEFAULTS: dict[str, dict[str, Any]] = {
    "mysql-5.1": _MYSQL_51,
    "mysql-5.5": _MYSQL_55,
    "percona-5.5": _PERCONA_55,
    "mysql-5.6": _MYSQL_56,
    "mysql-5.7": _MYSQL_57,
    "mysql-8.0": _MYSQL_80,
    "mariadb-10.11": _MARIADB_1011,
}
#: Files that MySQL 8.0.30's redo log has whatever its capacity (LOG_N_FILES of its log0constants.h).
REDO_FILES = 32

#: Settings that published runs name and that change nothing in the model.
WITHOUT_EFFECT = (
    "innodb_purge_threads",
    "innodb_read_io_threads",
    "innodb_write_io_threads",
)

#: What the engine wants to know of every generation, where its servers have no setting for it.
_FIXED: dict[str, Any] = {
    "innodb_adaptive_flushing_method": "native",
    "innodb_checkpoint_age_target": 0,
    "innodb_log_block_size": 512,
    "innodb_log_write_ahead_size": 0,
    "innodb_log_file_buffering": None,
    "innodb_log_files_in_group": 1,
    "innodb_thread_concurrency": 0,
    "innodb_redo_log_capacity": 0,
    "innodb_io_capacity_max": None,
    "innodb_max_dirty_pages_pct_lwm": 0.0,
    "innodb_adaptive_flushing_lwm": 10.0,
    "innodb_flushing_avg_loops": 30,
    "innodb_flush_sync": True,
    "innodb_lru_scan_depth": 1024,
    "innodb_buffer_pool_instances": 1,
    "innodb_page_cleaners": 1,
    "innodb_old_blocks_time": 0,
    "innodb_doublewrite_pages": 0,
    # Half of the pool (IBUF_POOL_SIZE_PER_MAX_SIZE of ibuf0ibuf.c).
    "innodb_change_buffer_max_size": 50,
}
#: The smallest pool that is divided by itself (BUF_POOL_SIZE_THRESHOLD of MySQL 5.6 and later), and in how many.
_DIVIDED_BYTES, _DIVIDED_IN = 1 << 30, 8
_SIZES = (
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_block_size",
    "innodb_checkpoint_age_target",
    "innodb_redo_log_capacity",
    "innodb_log_buffer_size",
    "innodb_log_write_ahead_size",
    "max_binlog_size",
)
#: Of these, the ones that are powers of two, and their ranges.
_POWERS = {"innodb_log_block_size": (512, 4096), "innodb_log_write_ahead_size": (512, 16384)}
#: Whole numbers and their ranges.
_NUMBERS = {
    "innodb_log_files_in_group": (2, 100),
    "innodb_flush_log_at_trx_commit": (0, 2),
    "innodb_thread_concurrency": (0, 1000),
    "innodb_io_capacity": (100, 10**7),
    "innodb_io_capacity_max": (100, 10**7),
    "innodb_flushing_avg_loops": (1, 1000),
    "innodb_lru_scan_depth": (100, 2**31),
    "innodb_buffer_pool_instances": (1, 64),
    "innodb_page_cleaners": (1, 64),
    "innodb_doublewrite_pages": (0, 512),
    "sync_binlog": (0, 2**32 - 1),
    "innodb_old_blocks_time": (0, 2**32 - 1),
    "innodb_change_buffer_max_size": (0, 50),
    "innodb_read_ahead_threshold": (0, 64),
}
#: Shares, and the most of each.
_PERCENTAGES = {
    "innodb_max_dirty_pages_pct": 100,
    "innodb_max_dirty_pages_pct_lwm": 100,
    "innodb_adaptive_flushing_lwm": 70,
}
_CHANGE_BUFFERING = {name: name for name in ("none", "inserts", "deletes", "changes", "purges", "all")}
_SWITCHES = {"0": False, "off": False, "false": False, "1": True, "on": True, "true": True}
#: XtraDB's names and numbers (0 and 1 are native and estimate there, 2 keep_average).
_METHODS = {
    **{name: name for name in ("native", "reflex", "estimate", "keep_average")},
    "0": "native",
    "1": "estimate",
    "2": "keep_average",
}
#: As the engine counts them: none, contiguous ones, the whole area; XtraDB's numbers were none, area and contiguous.
_NEIGHBOURS = {"none": 0, "0": 0, "area": 2, "1": 2, "cont": 1, "2": 1}
#: What the log goes through: data pages never go through the kernel's cache in the model. Percona Server has the last.
_FLUSH_METHODS = {
    **dict.fromkeys(("fsync", "fdatasync", "o_dsync", "o_direct", "o_direct_no_fsync"), "O_DIRECT"),
    "all_o_direct": "ALL_O_DIRECT",
}
_FLUSH_NEIGHBORS = {"0": 0, "1": 1, "2": 2, "off": 0, "on": 1, "false": 0, "true": 1}


def read_model_settings(table: Any) -> Any:
    """The settings with their names spelled with underscores; refuses what the model does not have, all at once."""
    if not isinstance(table, Mapping):
        return table
    raise_problems("settings", _faults(table))
    return {spell(name): value for name, value in table.items()}


def _faults(table: Mapping[str, Any]) -> Iterator[Problem]:
    known = sorted({name for defaults in DEFAULTS.values() for name in defaults})
    for written, value in table.items():
        name = spell(written)
        about = (f"database.settings.{name}",)
        if fault := name_fault(name) or value_fault(value):
            yield Problem(name, *fault, about)
        elif name in WITHOUT_EFFECT:
            continue
        elif name not in known:
            close = nearest(name, known)
            hint = f"did you mean {close}?" if close else f"modelled: {', '.join(known)}"
            yield Problem(name, "is not modelled", hint, about)
        else:
            try:
                _read(name, value)
            except ValueError as error:
                yield Problem(name, str(error), None, about)


def _read(name: str, value: Setting) -> Any:
    """A setting's value as the engine takes it. Raises ValueError with a sentence that continues its name."""
    if name in _SIZES:
        return _read_size(name, value)
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}, not {quote(value)}")
        return value
    if name in _PERCENTAGES:
        if isinstance(value, bool | str) or not 0 <= value <= _PERCENTAGES[name]:
            raise ValueError(f"must be from 0 to {_PERCENTAGES[name]}, not {quote(value)}")
        return float(value)
    words: dict[str, Any] = _SWITCHES
    if name == "log_bin" and isinstance(value, str) and value.lower() not in _SWITCHES:
        return True  # The files' name.
    if name == "innodb_flush_method":
        words = _FLUSH_METHODS
    if name == "innodb_adaptive_flushing_method":
        words = _METHODS
    elif name == "innodb_change_buffering":
        words = _CHANGE_BUFFERING
    elif name == "innodb_flush_neighbor_pages":
        words = _NEIGHBOURS
    elif name == "innodb_flush_neighbors":
        words = _FLUSH_NEIGHBORS
    key = str(int(value)) if isinstance(value, bool) else str(value).lower()
    if key not in words:
        raise ValueError(f"must be one of {', '.join(words)}, not {quote(value)}")
    return words[key]


def _read_size(name: str, value: Setting) -> int:
    bytes_ = 0 if value == 0 else parse_size(value)
    least, most = _POWERS.get(name, (0, bytes_))
    if not least <= bytes_ <= most or (name in _POWERS and bytes_ & (bytes_ - 1)):
        raise ValueError(f"must be a power of two from {least} to {most}, not {quote(value)}")
    if name == "max_binlog_size" and not 4096 <= bytes_ <= 1 << 30:
        raise ValueError(f"must be from 4096 to 1G, not {quote(value)}")
    return bytes_


def has(generation: str, name: str) -> bool:
    """Whether a generation's servers have a setting that the model knows, with effect or without."""
    if name in WITHOUT_EFFECT:
        return True
    return name in DEFAULTS[generation]


def resolve(generation: str, written: Mapping[str, Setting]) -> InnodbSettings:
    """Every setting as the engine takes it: what is written over the generation's defaults. Sizes are bytes."""
    told: dict[str, Any] = DEFAULTS[generation] | {n: v for n, v in written.items() if n not in WITHOUT_EFFECT}
    read = _FIXED | {name: value if value is None else _read(name, value) for name, value in told.items()}
    # Before Percona's setting (and MySQL 5.6's), neighbours were always written too.
    neighbours = read.pop("innodb_flush_neighbor_pages", _NEIGHBOURS["area"])
    read.setdefault("innodb_flush_neighbors", neighbours)
    if read["innodb_io_capacity_max"] is None:
        read["innodb_io_capacity_max"] = max(2 * read["innodb_io_capacity"], 2000)
    if read["innodb_buffer_pool_instances"] is None:
        read["innodb_buffer_pool_instances"] = _DIVIDED_IN if read["innodb_buffer_pool_size"] >= _DIVIDED_BYTES else 1
    if read["innodb_log_file_buffering"] is None:
        read["innodb_log_file_buffering"] = read["innodb_flush_log_at_trx_commit"] == 2
    if generation == "mysql-8.0":
        files = {"innodb_log_file_size", "innodb_log_files_in_group"}
        if files & set(written) and "innodb_redo_log_capacity" not in written:
            read["innodb_redo_log_capacity"] = read["innodb_log_file_size"] * read["innodb_log_files_in_group"]
        read["innodb_log_files_in_group"] = REDO_FILES
        read["innodb_log_file_size"] = read["innodb_redo_log_capacity"] // REDO_FILES // 4096 * 4096
    return InnodbSettings(**read)


def contradictions(settings: InnodbSettings, written: Mapping[str, Setting]) -> Iterator[Problem]:
    """Resolved settings that servers do not take together, those of them that are written."""
    for high, low in (
        ("innodb_io_capacity_max", "innodb_io_capacity"),
        ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"),
    ):
        name, other = (high, low) if high in written else (low, high)
        most, least = getattr(settings, high), getattr(settings, low)
        if most < least and name in written:
            what = f"{high} must not be below {low}: {most:g} and {least:g}"
            yield Problem(f"settings.{name}", what, None, (f"database.settings.{name}", f"database.settings.{other}"))
