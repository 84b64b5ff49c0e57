"""The parts of one server that are on other storages: their folders, settings and files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import write_atomic
from flatwater.server.binary import Binary
from flatwater.server.copying import Copied, OnProgress, Stop, copy_tree, held_bytes
from flatwater.server.lines import read_switch
from flatwater.server.placement.means import TABLES, why_not
from flatwater.server.snapshot import Snapshot

#: The default of `innodb_temp_data_file_path`, in every version that has it.
_TEMPORARY = "ibtmp1:12M:autoextend"
#: Setting of the doublewrite buffer's place -> the file there, if the experiment names none ("": it is a folder). The
#: first that a server has is the one that it obeys: Percona Server 8.0.20 ignores the last.
_DOUBLEWRITE = {
    "innodb_doublewrite_dir": "",
    "innodb_doublewrite_file": "ib_doublewrite",
    "innodb_parallel_doublewrite_path": "xb_doublewrite",
}
#: The first part of the names of the binary log's files (`translate.py` writes the same).
_BINARY_LOG = "binlog"

#: Item -> the files of a data directory that belong to it. The others are made when the server starts.
_FILES = {
    "redo_log": re.compile(r"ib_logfile\d+|#innodb_redo/.*"),
    "undo_logs": re.compile(r"undo_?\d+"),
    "doublewrite": re.compile(r"#ib_.*\.dblwr"),
    "system_tablespace": re.compile(r"ibdata\d*"),
}


@dataclass(frozen=True)
class Placing:
    """What an experiment places: the fields of `database.placement`, each with the name of its storage."""

    items: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)

    @property
    def storages(self) -> list[str]:
        """The names of the storages, each once."""
        return list(dict.fromkeys((*self.items.values(), *self.tables.values())))

    def require(self, binary: Binary, settings: Mapping[str, str]) -> None:
        """Refuses what servers of this version, with these lines in their my.cnf, cannot place. Errors: UserError."""
        for item in (*self.items, *([TABLES] if self.tables else [])):
            reason = why_not(item, binary.flavour, binary.version)
            if reason is None:
                reason = _why_not_with(item, binary, settings)
            if reason is not None:
                raise UserError(reason[0], where=f"database.placement.{item}", hint=reason[1])

    def without_effect(self, binary: Binary, settings: Mapping[str, str]) -> list[str]:
        """Sentences about items that are placed and that the server does not have."""
        told = []
        if "binary_log" in self.items and not _has_binary_log(binary, settings):
            told.append("database.placement.binary_log has no effect: the server has no binary log")
        if "doublewrite" in self.items and read_switch(settings.get("innodb_doublewrite", "1")) is False:
            told.append("database.placement.doublewrite has no effect: innodb_doublewrite is off")
        return told


@dataclass(frozen=True)
class Parts:
    """The folders of one server's parts: item -> folder; and the folder of each table's files."""

    folders: Mapping[str, Path] = field(default_factory=dict)
    tables: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def below(cls, placing: Placing, tops: Mapping[str, Path]) -> Parts:
        """The parts below the folder that a server has on each storage."""
        return cls(
            {item: tops[name] / item for item, name in placing.items.items()},
            {table: tops[name] / TABLES for table, name in placing.tables.items()},
        )

    def make(self) -> None:
        """Makes the folders that do not exist. Errors: FlatwaterError."""
        for folder in (*self.folders.values(), *self.tables.values()):
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise FlatwaterError(f"cannot make {folder}: {error.strerror}", where="database.storages") from None

    def lines(self, binary: Binary, data: Path, settings: Mapping[str, str]) -> dict[str, str]:
        """The lines of the server's my.cnf. They replace those of `settings` with the same names."""
        if not self.folders and not self.tables:
            return {}
        options, folders, lines = binary.options(), self.folders, dict[str, str]()
        system = folders.get("system_tablespace")
        if system is not None:
            # Several other folders have this one as their default.
            homes = ("innodb_log_group_home_dir", "innodb_undo_directory", "innodb_doublewrite_dir")
            lines |= {name: str(data) for name in homes if name in options}
            lines["innodb_data_home_dir"] = str(system)
        if "redo_log" in folders:
            lines["innodb_log_group_home_dir"] = str(folders["redo_log"])
        if "undo_logs" in folders:
            lines["innodb_undo_directory"] = str(folders["undo_logs"])
        if "doublewrite" in folders:
            lines |= _doublewrite_line(folders["doublewrite"], settings, options)
        if "binary_log" in folders and _has_binary_log(binary, settings):
            lines["log_bin"] = str(folders["binary_log"] / settings.get("log_bin", _BINARY_LOG))
        temporary = folders.get("temporary_files")
        if temporary is not None:
            lines["tmpdir"] = str(temporary)
            if "innodb_temp_tablespaces_dir" in options:
                lines["innodb_temp_tablespaces_dir"] = str(temporary)
        if "innodb_temp_data_file_path" in options and (temporary or system) is not None:
            # The server takes the path as one below the folder of the system tablespace. MySQL 8.0 takes it as one
            # below the data directory (so 8.0.15 does).
            mysql_8 = binary.flavour != "mariadb" and binary.version >= (8, 0, 0)
            there = os.path.relpath(temporary or data, data if mysql_8 else system or data)
            lines["innodb_temp_data_file_path"] = f"{there}/{_TEMPORARY}"
        if self.tables and "innodb_directories" in options:
            lines["innodb_directories"] = ";".join(dict.fromkeys(map(str, self.tables.values())))
        return lines

    def link_tables(self, binary: Binary, data: Path, schema: str) -> None:
        """Tells the server where its tables are: in a file of its own for each. Errors: FlatwaterError."""
        if not self.tables or "innodb_directories" in binary.options():
            return  # these servers look into the folders themselves
        for folder in dict.fromkeys(self.tables.values()):
            for file in sorted((folder / _file_name(schema)).glob("*.ibd")):
                link = data / file.parent.name / f"{file.stem}.isl"
                try:
                    write_atomic(link, str(file))
                except OSError as error:
                    raise FlatwaterError(f"cannot write {link}: {error.strerror}", where="storage.path") from None


def copy_placed(
    snapshot: Snapshot,
    data: Path,
    parts: Parts,
    schema: str,
    on_progress: OnProgress | None = None,
    stop: Stop | None = None,
) -> Copied:
    """Copies a snapshot: its placed files into the folders of `parts`, all others into `data`.

    Errors: UserError for a table that the snapshot does not have, or where there is no room; FlatwaterError;
    Interrupted. What was copied until then stays, and the caller deletes it with the folders of the server.
    """
    if not parts.folders and not parts.tables:
        return snapshot.copy_to(data, on_progress, stop)
    wanted = dict(_wanted(snapshot, parts, schema))
    taken = {name for names in wanted.values() for name in names}
    copied = snapshot.copy_to(data, on_progress, stop, leave_out=lambda name: name in taken)
    for folder, names in wanted.items():
        copy_tree(
            snapshot.data,
            folder,
            leave_out=_other_than(names),
            on_progress=on_progress,
            stop=stop,
            fills=True,
        )
    return copied


def copied_bytes(snapshot: Snapshot, placing: Placing, schema: str) -> tuple[int, dict[str, int]]:
    """Bytes that `copy_placed` writes: to the data, and to each of the other storages, by its name.

    Redo logs that are placed are in neither of the two: the server's own settings say how large they become.
    Errors: UserError for a table that the snapshot does not have.
    """
    parts = Parts.below(placing, {name: Path(name) for name in placing.storages})
    placed, taken = dict.fromkeys(placing.storages, 0), set[str]()
    for folder, names in _wanted(snapshot, parts, schema):
        taken |= names
        if folder != parts.folders.get("redo_log"):
            placed[folder.parts[0]] += sum(held_bytes(snapshot.data / name) for name in names)
    files = [path for path in snapshot.data.rglob("*") if path.is_file() and not path.is_symlink()]
    names_of = {path: str(path.relative_to(snapshot.data)) for path in files}
    own = sum(
        held_bytes(path) for path, name in names_of.items() if name not in taken and not snapshot.leaves_out(name)
    )
    return own, placed


def _wanted(snapshot: Snapshot, parts: Parts, schema: str) -> Iterator[tuple[Path, set[str]]]:
    """Folder -> the files of the snapshot that go there, by their paths below its data directory."""
    files = [str(path.relative_to(snapshot.data)) for path in snapshot.data.rglob("*") if path.is_file()]
    for item, folder in parts.folders.items():
        if item in _FILES:
            yield folder, {name for name in files if _FILES[item].fullmatch(name) and not snapshot.leaves_out(name)}
    of_tables = _table_files(files, schema)
    by_folder: dict[Path, set[str]] = {}
    for table, folder in parts.tables.items():
        names = of_tables.get(_file_name(table))
        if names is None:
            there = ", ".join(sorted(of_tables))
            hint = f"there is: {there}" if there else "innodb_file_per_table = true gives each table a file"
            raise UserError(
                f"{schema} has no file of a table {table}", where=f"database.placement.tables.{table}", hint=hint
            )
        by_folder.setdefault(folder, set()).update(names)
    yield from by_folder.items()


def _table_files(files: Iterable[str], schema: str) -> dict[str, list[str]]:
    """Table of a schema, as its files are called -> its files among those of a data directory: one, or one a partition.

    Servers call the file of a partition `order_line#P#p0.ibd`, MySQL since 8.0 `order_line#p#p0.ibd`.
    """
    found: dict[str, list[str]] = {}
    for name in files:
        path = Path(name)
        table = path.stem.partition("#")[0]
        if table and path.suffix == ".ibd" and str(path.parent) == _file_name(schema):
            found.setdefault(table, []).append(name)
    return found


def _file_name(identifier: str) -> str:
    """The name of a schema or table in the names of files (MySQL manual, "Mapping of Identifiers to File Names")."""
    return re.sub(r"[^0-9a-zA-Z_]", lambda sign: f"@{ord(sign[0]):04x}", identifier)


def _other_than(names: set[str]) -> Callable[[str], bool]:
    kept = names | {str(parent) for name in names for parent in Path(name).parents}
    return lambda name: name not in kept


def _why_not_with(item: str, binary: Binary, settings: Mapping[str, str]) -> tuple[str, str] | None:
    told = {**binary.options(), **settings}
    # A MySQL without this option (9.7) has files of its own for them, always.
    if item == "undo_logs" and told.get("innodb_undo_tablespaces") == "0":
        return (
            f"the undo logs of {binary.title} are in the system tablespace unless they have files of their own",
            "database.settings.innodb_undo_tablespaces = 3, or place system_tablespace",
        )
    if item == TABLES and read_switch(told.get("innodb_file_per_table", "1")) is False:
        return "innodb_file_per_table is off: all tables are in the system tablespace", "place system_tablespace"
    if item == "temporary_files" and "innodb_temp_data_file_path" in settings:
        return "database.settings.innodb_temp_data_file_path says where they are, too", "keep one of the two"
    if item == "doublewrite" and _doublewrite_setting(binary.options()) is None:
        return f"{binary.title} has no setting for it", "place system_tablespace, which takes it along"
    return None


def _doublewrite_setting(options: Mapping[str, str]) -> str | None:
    return next((name for name in _DOUBLEWRITE if name in options), None)


def _doublewrite_line(folder: Path, settings: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    name = _doublewrite_setting(options)
    if name is None:
        return {}  # `require` refuses it
    file = _DOUBLEWRITE[name]
    return {name: str(folder / settings.get(name, file) if file else folder)}


def _has_binary_log(binary: Binary, settings: Mapping[str, str]) -> bool:
    default = binary.flavour != "mariadb" and binary.version >= (8, 0, 0)
    return "log_bin" in settings or (default and "skip_log_bin" not in settings)
