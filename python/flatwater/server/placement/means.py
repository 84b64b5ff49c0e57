"""Which servers can put which of their parts elsewhere: one registry, with the source of each line."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.server.flavours import FLAVOURS, Version
from flatwater.server.settings import read_spans

#: The parts that have a line in the registry, with the name of an experiment's field.
TABLES = "tables"


@dataclass(frozen=True)
class Means:
    """How servers put one of their parts elsewhere."""

    item: str
    #: The setting, or the file, by which they do.
    by: str
    #: The servers that can, in the form of `settings.py`.
    who: str
    #: What the others do with the part.
    otherwise: str
    hint: str
    source: str

    def holds(self, flavour: str, version: Version) -> bool:
        """Whether a server of this flavour and version can."""
        return any(span.holds(flavour, version) for span in read_spans(self.who))


#: By the names of the fields of `database.placement`.
MEANS: dict[str, Means] = {
    means.item: means
    for means in (
        Means(
            "redo_log",
            "innodb_log_group_home_dir",
            "mysql 5.5..; percona 5.1..; mariadb 5.5..",
            "",
            "",
            "MySQL 5.1 to 8.4 Reference Manuals and MariaDB's InnoDB System Variables: innodb_log_group_home_dir",
        ),
        Means(
            "undo_logs",
            "innodb_undo_directory",
            "mysql 5.6.3..; percona 5.6.3..; mariadb 10.0..",
            "its undo logs are in the system tablespace",
            "place system_tablespace, which takes them along",
            "MySQL 5.6 Reference Manual, 14.6.3.3 Undo Tablespaces (since 5.6.3); MariaDB: innodb_undo_directory, 10.0",
        ),
        Means(
            "doublewrite",
            "innodb_doublewrite_dir, innodb_doublewrite_file, innodb_parallel_doublewrite_path",
            "mysql 8.0.20..; percona 5.1..5.6 5.7.11..; mariadb 5.5..10.0",
            "its doublewrite buffer is in the system tablespace",
            "place system_tablespace, which takes it along",
            "MySQL 8.0 Reference Manual, 17.6.4 Doublewrite Buffer (files since 8.0.20); Percona Server 5.1 and 5.5: "
            "innodb_doublewrite_file; Percona Server 5.7.11 to 8.0.19, XtraDB Performance Improvements: "
            "innodb_parallel_doublewrite_path (single pages stay in the system tablespace); MariaDB's InnoDB "
            "Doublewrite Buffer: in the system tablespace",
        ),
        Means(
            "binary_log",
            "log_bin",
            "mysql 5.5..; percona 5.1..; mariadb 5.5..",
            "",
            "",
            "MySQL 5.1 to 8.4 Reference Manuals, Binary Logging Options: log_bin takes a path; MariaDB: log_bin",
        ),
        Means(
            "temporary_files",
            "tmpdir, innodb_temp_data_file_path, innodb_temp_tablespaces_dir",
            "mysql 5.5..; percona 5.1..; mariadb 5.5..",
            "",
            "",
            "MySQL Reference Manuals: tmpdir; innodb_temp_data_file_path (5.7.1, MariaDB 10.2); "
            "innodb_temp_tablespaces_dir (8.0.13)",
        ),
        Means(
            "system_tablespace",
            "innodb_data_home_dir",
            "mysql 5.5..; percona 5.1..; mariadb 5.5..",
            "",
            "",
            "MySQL 5.1 to 8.4 Reference Manuals and MariaDB's InnoDB System Variables: innodb_data_home_dir",
        ),
        Means(
            TABLES,
            "DATA DIRECTORY (.isl files; innodb_directories since MySQL 8.0)",
            "mysql 5.6.6..; percona 5.6.6..; mariadb 10.0..",
            "it ignores DATA DIRECTORY for tables of InnoDB",
            "a newer server, or storage.path on the faster storage and the logs placed on the other",
            "MySQL 5.6 Reference Manual, Creating Tables Externally (DATA DIRECTORY and .isl files, 5.6.6); MySQL 8.0: "
            "Moving Tablespace Files While the Server is Offline (innodb_directories); MariaDB: DATA DIRECTORY, 10.0",
        ),
    )
}


def why_not(item: str, flavour: str, version: Version) -> tuple[str, str] | None:
    """Why a server of this flavour and version cannot place the item, and a hint; None if it can."""
    means = MEANS[item]
    if means.holds(flavour, version):
        return None
    title = f"{FLAVOURS[flavour].title} {'.'.join(map(str, version))}"
    able = ", ".join(map(str, read_spans(means.who)))
    return f"{title} cannot place it: {means.otherwise} ({able} can)", means.hint
