"""Settings of the modelled InnoDB: what each generation of servers has, and its defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from flatwater.experiment.database.settings import Setting, name_fault, spell, value_fault
from flatwater.experiment.problem import Problem, nearest, quote, raise_problems
from flatwater.experiment.units import parse_size

Generation = Literal["mysql-5.1", "mysql-5.5", "percona-5.5"]

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
}
#: MySQL 5.5 (manual 5.5): the plugin's new settings.
_MYSQL_55: dict[str, Any] = _MYSQL_51 | {
    "innodb_buffer_pool_size": 128 << 20,
    "innodb_thread_concurrency": 0,
    "innodb_io_capacity": 200,
    "innodb_max_dirty_pages_pct": 75.0,
    "innodb_adaptive_flushing": True,
}
#: Percona Server 5.5 (its manual, "Improved InnoDB I/O Scalability").
_PERCONA_55: dict[str, Any] = _MYSQL_55 | {
    "innodb_adaptive_flushing_method": "estimate",
    "innodb_flush_neighbor_pages": "area",
    "innodb_checkpoint_age_target": 0,
    "innodb_log_block_size": 512,
}

#: What each generation has, with its defaults.
DEFAULTS: dict[str, dict[str, Any]] = {"mysql-5.1": _MYSQL_51, "mysql-5.5": _MYSQL_55, "percona-5.5": _PERCONA_55}

#: Settings that published runs name and that change nothing in the model.
WITHOUT_EFFECT = (
    "innodb_buffer_pool_instances",
    "innodb_file_per_table",
    "innodb_flush_method",
    "innodb_log_buffer_size",
    "innodb_purge_threads",
    "innodb_read_io_threads",
    "innodb_write_io_threads",
)

#: What the engine wants to know of every generation, where its servers have no setting for it.
_FIXED = {
    "innodb_adaptive_flushing_method": "native",
    "innodb_checkpoint_age_target": 0,
    "innodb_log_block_size": 512,
}
_SIZES = (
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_block_size",
    "innodb_checkpoint_age_target",
)
#: Whole numbers and their ranges.
_NUMBERS = {
    "innodb_log_files_in_group": (2, 100),
    "innodb_flush_log_at_trx_commit": (0, 2),
    "innodb_thread_concurrency": (0, 1000),
    "innodb_io_capacity": (100, 10**7),
}
_SWITCHES = {"0": False, "off": False, "false": False, "1": True, "on": True, "true": True}
#: XtraDB's names and numbers (0 and 1 are native and estimate there, 2 keep_average).
_METHODS = {
    **{name: name for name in ("native", "reflex", "estimate", "keep_average")},
    "0": "native",
    "1": "estimate",
    "2": "keep_average",
}
_NEIGHBOURS = {"none": False, "0": False, "area": True, "1": True}


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
        return 0 if value == 0 else parse_size(value)
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}, not {quote(value)}")
        return value
    if name == "innodb_max_dirty_pages_pct":
        if isinstance(value, bool | str) or not 0 <= value <= 100:
            raise ValueError(f"must be from 0 to 100, not {quote(value)}")
        return float(value)
    words: dict[str, Any] = _SWITCHES
    if name == "innodb_adaptive_flushing_method":
        words = _METHODS
    elif name == "innodb_flush_neighbor_pages":
        words = _NEIGHBOURS
    key = str(int(value)) if isinstance(value, bool) else str(value).lower()
    if key not in words:
        raise ValueError(f"must be one of {', '.join(words)}, not {quote(value)}")
    return words[key]


def resolve(generation: str, written: Mapping[str, Setting]) -> dict[str, Any]:
    """Every setting as the engine takes it: what is written over the generation's defaults. Sizes are bytes."""
    told: dict[str, Any] = _FIXED | DEFAULTS[generation] | {n: v for n, v in written.items() if n not in WITHOUT_EFFECT}
    read = {name: _read(name, value) for name, value in told.items()}
    # Before Percona's setting (and MySQL 5.6's), neighbours were always written too.
    read["innodb_flush_neighbors"] = read.pop("innodb_flush_neighbor_pages", True)
    return read
