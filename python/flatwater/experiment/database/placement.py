"""The parts of a modelled server with a device of their own: logs, the doublewrite buffer, tables.

`placed.py` has `database.placement`, the form that real servers have, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from flatwater.errors import UserError
from flatwater.experiment.database.lineage import engine_generation
from flatwater.experiment.database.placed import PlacedLayer, Placement
from flatwater.experiment.device.load import load_device
from flatwater.experiment.problem import Problem


def _none_in_words(written: Any) -> Any:
    return None if written == "none" else written


#: A device of `devices/`, by its name or path; None or the word "none", which a sweep can say: none of its own.
DeviceName = Annotated[Annotated[str, Field(min_length=1)] | None, BeforeValidator(_none_in_words)]

#: A part of a server, apart from its tables.
Part = Literal["log", "doublewrite", "binlog"]
PARTS: tuple[Part, ...] = ("log", "doublewrite", "binlog")


#: Generations of the engine whose servers have files of their own for undo logs, and know DATA DIRECTORY.
_NEWER = frozenset(("mysql-5.6", "mysql-5.7", "mysql-8.0.11", "mysql-8.0", "mariadb-10.11"))
#: What `placement.tables` is called here and in `server/placement/means.py`.
_TABLES = "tables"
#: Part of a real server -> the generations of the engine that can have it elsewhere (`server/placement/means.py` has
#: the versions and their sources), what the others do with it, and a hint. Parts that all can place are left out.
_SOME: dict[str, tuple[frozenset[str], str, str]] = {
    "undo_logs": (_NEWER, "its undo logs are in the system tablespace", "place system_tablespace"),
    "doublewrite": (
        frozenset(("percona-5.5", "mysql-8.0")),
        "its doublewrite buffer is in the system tablespace",
        "place system_tablespace",
    ),
    _TABLES: (
        _NEWER,
        "they ignore DATA DIRECTORY for tables of InnoDB",
        "a newer generation, or storage.device = the faster one and the logs placed on the other",
    ),
}
#: The table of the model that has the undo logs.
_UNDO = "undo"
#: The setting that gives undo logs files of their own.
_UNDO_SETTING = "database.settings.innodb_undo_tablespaces"
#: Generations of MySQL whose undo logs always have files of their own (MySQL 8.0 Reference Manual, 17.6.3.4 Undo
#: Tablespaces), and those whose doublewrite buffer has (17.6.4 Doublewrite Buffer: since 8.0.20).
_ALWAYS_UNDO_FILES = frozenset(("mysql-8.0.11", "mysql-8.0"))
_DOUBLEWRITE_FILES = frozenset(("mysql-8.0",))


@dataclass(frozen=True)
class OwnFiles:
    """What a server has in files of its own. The rest of it is in the system tablespace."""

    undo_logs: bool
    doublewrite: bool


def own_files(generation: str, undo_tablespaces: float | None) -> OwnFiles:
    """What servers of a generation have in files of their own.

    `undo_tablespaces`: innodb_undo_tablespaces, as the server runs; None of a server without this setting.
    """
    behaves_as = engine_generation(generation)
    always = behaves_as in _ALWAYS_UNDO_FILES
    return OwnFiles(always or bool(undo_tablespaces), behaves_as in _DOUBLEWRITE_FILES)


@dataclass(frozen=True)
class Holding:
    """The content of a device."""

    parts: tuple[Part, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the device in its series: the first part that it holds."""
        return (*self.parts, *self.tables)[0]


def held(parts: Mapping[Part, str | None], tables: Mapping[str, str | None]) -> dict[str, Holding]:
    """Device -> its parts and tables. Parts without a device of their own are left out."""
    devices = dict.fromkeys(device for device in (*parts.values(), *tables.values()) if device is not None)
    return {
        device: Holding(
            tuple(part for part, own in parts.items() if own == device),
            tuple(table for table, own in tables.items() if own == device),
        )
        for device in devices
    }


def placed(database: PlacedLayer, own: OwnFiles) -> dict[str, Holding]:
    """Storage of `storages` -> the parts and tables of a server that are on it, by the model's names."""
    placement, items = database.placement, database.placement.items
    system = items.get("system_tablespace")
    parts: dict[Part, str | None] = {
        "log": items.get("redo_log"),
        "doublewrite": items.get("doublewrite", None if own.doublewrite else system),
        "binlog": items.get("binary_log"),
    }
    undo = items.get("undo_logs", None if own.undo_logs else system)
    found = held(parts, {**placement.placed_tables, **({_UNDO: undo} if undo is not None else {})})
    return {name: holding for name, holding in found.items() if name in database.storages}


def not_modelled(generation: str, placement: Placement, own: OwnFiles) -> dict[str, tuple[str, str]]:
    """The placed parts, and `tables`, that the model of a generation has nowhere else: why, and what to do."""
    items, found = placement.items, dict[str, tuple[str, str]]()
    behaves_as = engine_generation(generation)
    for item, (able, why, hint) in _SOME.items():
        is_placed = bool(placement.placed_tables) if item == _TABLES else item in items
        if is_placed and behaves_as not in able:
            found[item] = f"servers of {generation} cannot place it: {why}", hint
    if "undo_logs" in items and "undo_logs" not in found and not own.undo_logs:
        told = f"{_SOME['undo_logs'][1]} unless they have files of their own"
        found["undo_logs"] = told, f"{_UNDO_SETTING} = 3, or place system_tablespace"
    if "temporary_files" in items:
        found["temporary_files"] = "is not modelled: the model writes none", "take it out"
    if "system_tablespace" in items and own.undo_logs and own.doublewrite:
        told = f"the model of {generation} writes nothing to it: undo logs and doublewrite buffer have their own files"
        found["system_tablespace"] = told, "place undo_logs and doublewrite"
    return found


def placed_problems(
    generation: str, placement: Placement, own: OwnFiles, fields: Mapping[str, str | None], *, file_per_table: bool
) -> Iterator[Problem]:
    """What servers of the generation cannot place, what the model does not have, and what is placed twice.

    `fields`: `log_device` and the like, and `tables.NAME`, with their devices. `own` and `file_per_table`: as the
    servers run.
    """
    about = ("database.generation", "database.placement")
    lacking = not_modelled(generation, placement, own)
    if placement.placed_tables and not file_per_table and _TABLES not in lacking:
        setting = "database.settings.innodb_file_per_table"
        told = "innodb_file_per_table is off: all tables are in the system tablespace"
        yield Problem("placement.tables", told, f"{setting} = true", (*about, setting))
    for item, (told, hint) in lacking.items():
        rests_on = (*about, _UNDO_SETTING) if item in ("undo_logs", "system_tablespace") else about
        yield Problem(f"placement.{item}", told, hint, rests_on)
    twice = {"redo_log": "log_device", "doublewrite": "doublewrite_device", "binary_log": "binlog_device"}
    same = {**twice, "undo_logs": "tables.undo", **{f"tables.{name}": f"tables.{name}" for name in placement.tables}}
    for field in placement.said:
        other = same.get(field)
        if other is not None and fields.get(other) is not None:
            told = f"database.{other} says where it is, too"
            yield Problem(f"placement.{field}", told, "keep one of the two", (*about, f"database.{other}"))


def device_problems(parts: Mapping[Part, str | None], tables: Mapping[str, str | None]) -> Iterator[Problem]:
    """Devices that do not exist."""
    named = {f"{part}_device": device for part, device in parts.items()}
    named |= {f"tables.{table}": device for table, device in tables.items()}
    for field, device in named.items():
        if device is None:
            continue
        try:
            load_device(device)
        except UserError as error:
            yield Problem(field, error.what, error.hint, (f"database.{field}",))
