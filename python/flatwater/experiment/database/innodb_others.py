"""Settings that servers have and published runs name, and that change nothing in the model; one line each.

They have their defaults too, so that an experiment can say what a server of a generation has. Sources are those of
`lineage.py`.
"""

from __future__ import annotations

from flatwater.experiment.database import innodb_computed as computed
from flatwater.experiment.database.innodb_definition import Definition
from flatwater.experiment.database.innodb_values import number, switch, word
from flatwater.experiment.database.lineage import engine_generation

#: Settings of a part of the server that the model of MariaDB has and that of MySQL has not: of purge.
_OF_MARIADB = ("innodb_purge_threads", "innodb_purge_batch_size")
#: Name -> definition.
WITHOUT_EFFECT: dict[str, Definition] = {
    "innodb_read_io_threads": Definition(number(1, 64), {"mysql-5.1": 4, "mysql-8.4": computed.read_io_threads}),
    "innodb_write_io_threads": Definition(number(1, 64), {"mysql-5.1": 4}),
    "innodb_log_writer_threads": Definition(
        switch,
        {
            "mysql-8.0": True,
            "mysql-8.4": computed.log_writer_threads,
            "mysql-9": computed.log_writer_threads_without_binlog,
        },
    ),
    "innodb_doublewrite_files": Definition(number(1, 256), {"mysql-8.0": computed.doublewrite_files, "mysql-8.4": 2}),
    "innodb_undo_tablespaces": Definition(number(0, 127), {"mysql-5.6": 0, "mysql-8.0.11": 2, "mariadb-11": 3}),
    "innodb_empty_free_list_algorithm": Definition(
        word({name: name for name in ("legacy", "backoff")}), {"percona-8.4": "legacy"}
    ),
    "innodb_data_file_buffering": Definition(switch, {"mariadb-11": False}),
    "innodb_data_file_write_through": Definition(switch, {"mariadb-11": False}),
    "innodb_log_file_write_through": Definition(switch, {"mariadb-11": False}),
    "innodb_snapshot_isolation": Definition(switch, {"mariadb-11": False, "mariadb-12": True}),
}


def has_no_effect(generation: str, name: str) -> bool:
    """Whether a setting that a generation's servers have changes nothing in the model."""
    return name in WITHOUT_EFFECT or (name in _OF_MARIADB and engine_generation(generation) != "mariadb-10.11")
