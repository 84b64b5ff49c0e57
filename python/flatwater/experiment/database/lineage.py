"""Generations of modelled servers: what each began with, and as which of them the engine runs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, cast, get_args

#: Generations that work in their own way: the engine's `Generation`.
EngineGeneration = Literal[
    "mysql-5.1", "mysql-5.5", "percona-5.5", "mysql-5.6", "mysql-5.7", "mysql-8.0.11", "mysql-8.0", "mariadb-10.11"
]
#: These, and generations that differ from one of them in their settings and defaults only.
Generation = Literal[EngineGeneration, "mysql-8.4", "mysql-9", "percona-8.4", "mariadb-11", "mariadb-12"]

#: Every generation of servers, and the one whose settings it began with. Defaults are from:
#: - mysql-5.1, the built-in InnoDB: manual 5.1, "InnoDB Startup Options".
#: - mysql-5.5: manual 5.5, with the plugin's new settings.
#: - percona-5.5: the manual of Percona Server 5.5, "Improved InnoDB I/O Scalability".
#: - mysql-5.6: manual 5.6, "InnoDB Startup Options and System Variables", with those of the page cleaner.
#: - mysql-5.7: manual 5.7.
#: - mysql-8.0.11, which is 8.0.11 to 8.0.19: manual 8.0, and the release notes of what came after. Its doublewrite
#:   buffer is in the system tablespace, and its redo log is a group of files.
#: - mysql-8.0, which is 8.0.20 and later: manual 8.0. Its redo log is that of 8.0.30.
#: - mysql-8.4: manual 8.4, and "What Is New in MySQL 8.4 since MySQL 8.0".
#: - mysql-9: manual 9, and the release notes of 9.5 (log writer threads) and 9.6 (innodb_log_file_size is gone).
#: - percona-8.4: the manual of Percona Server 8.4, "XtraDB performance improvements for I/O-bound workloads".
#: - mariadb-10.11: its documentation, "InnoDB System Variables". It has one log file.
#: - mariadb-11: the same, and the release notes of 11.0.1 (no change buffer, three undo tablespaces).
#: - mariadb-12: the same, and the release notes of 12.1.
GENERATIONS: dict[Generation, Generation | None] = {
    "mysql-5.1": None,
    "mysql-5.5": "mysql-5.1",
    "percona-5.5": "mysql-5.5",
    "mysql-5.6": "mysql-5.5",
    "mysql-5.7": "mysql-5.6",
    "mysql-8.0.11": "mysql-5.7",
    "mysql-8.0": "mysql-8.0.11",
    "mysql-8.4": "mysql-8.0",
    "mysql-9": "mysql-8.4",
    "percona-8.4": "mysql-8.4",
    "mariadb-10.11": "mysql-5.7",
    "mariadb-11": "mariadb-10.11",
    "mariadb-12": "mariadb-11",
}


def lineage(generation: str) -> Iterator[Generation]:
    """A generation, the one whose settings it began with, and so on; nothing of servers that are not modelled."""
    found = next((one for one in GENERATIONS if one == generation), None)
    while found is not None:
        yield found
        found = GENERATIONS[found]


def engine_generation(generation: str) -> EngineGeneration:
    """As which generation the engine runs a server of this one. Raises ValueError for one that is not modelled."""
    own = get_args(EngineGeneration)
    for one in lineage(generation):
        if one in own:
            return cast(EngineGeneration, one)
    raise ValueError(f"{generation} is not modelled")
