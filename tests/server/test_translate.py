from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.server import Binary, split, translate
from flatwater.server.lines import Server, Value
from flatwater.server.settings import names_of
from flatwater.server.translate import translate_for

SERVERS = {
    "mysql 5.5": ("mysql", (5, 5, 8)),
    "mysql 5.6": ("mysql", (5, 6, 40)),
    "mysql 5.7": ("mysql", (5, 7, 40)),
    "mysql 8.0": ("mysql", (8, 0, 36)),
    "mysql 8.0.15": ("mysql", (8, 0, 15)),
    "percona 5.1": ("percona", (5, 1, 65)),
    "percona 5.5": ("percona", (5, 5, 27)),
    "percona 5.6": ("percona", (5, 6, 40)),
    "mariadb 5.5": ("mariadb", (5, 5, 60)),
    "mariadb 10.1": ("mariadb", (10, 1, 40)),
    "mariadb 10.5": ("mariadb", (10, 5, 20)),
    "mariadb 10.11": ("mariadb", (10, 11, 6)),
    "mariadb 11.4": ("mariadb", (11, 4, 2)),
}


def _server(name: str) -> Server:
    flavour, version = SERVERS[name]
    return Server(flavour, version, names_of(flavour, version))


@pytest.mark.parametrize(
    ("name", "settings", "lines"),
    [
        # The redo log.
        ("mysql 5.5", {"innodb_log_file_size": "1900M", "innodb_log_files_in_group": 2}, None),
        ("mysql 8.0", {"innodb_log_file_size": "4G", "innodb_log_files_in_group": 3}, "innodb_redo_log_capacity=12G"),
        ("mysql 8.0", {"innodb_log_file_size": "4G"}, "innodb_redo_log_capacity=8G"),
        ("mysql 8.0", {"innodb_redo_log_capacity": "8G"}, None),
        ("mariadb 10.11", {"innodb_log_file_size": "19M", "innodb_log_files_in_group": 2}, "innodb_log_file_size=38M"),
        ("mariadb 10.5", {"innodb_log_file_size": "19M", "innodb_log_files_in_group": 2}, "innodb_log_file_size=38M"),
        ("mariadb 10.11", {"innodb_log_files_in_group": 1}, ""),
        ("mariadb 10.11", {"innodb_redo_log_capacity": "12GiB"}, "innodb_log_file_size=12G"),
        ("percona 5.5", {"innodb_log_file_size": "4G", "innodb_log_files_in_group": 2}, None),
        # Neighbours.
        ("mysql 5.6", {"innodb_flush_neighbor_pages": "area"}, "innodb_flush_neighbors=2"),
        ("mysql 8.0", {"innodb_flush_neighbor_pages": "none"}, "innodb_flush_neighbors=0"),
        ("percona 5.6", {"innodb_flush_neighbor_pages": "cont"}, "innodb_flush_neighbors=1"),
        ("percona 5.5", {"innodb_flush_neighbors": 0}, "innodb_flush_neighbor_pages=none"),
        ("percona 5.5", {"innodb_flush_neighbors": 2}, "innodb_flush_neighbor_pages=area"),
        ("mariadb 5.5", {"innodb_flush_neighbors": 1}, "innodb_flush_neighbor_pages=cont"),
        ("mysql 5.5", {"innodb_flush_neighbors": 2}, ""),
        ("mysql 5.5", {"innodb_flush_neighbor_pages": "area"}, ""),
        ("mariadb 10.11", {"innodb_flush_neighbors": False}, "innodb_flush_neighbors=0"),
        # The log's unit.
        ("percona 5.5", {"innodb_log_block_size": 4096}, None),
        ("mysql 5.7", {"innodb_log_block_size": 4096}, "innodb_log_write_ahead_size=4096"),
        ("percona 5.5", {"innodb_log_write_ahead_size": 4096}, "innodb_log_block_size=4096"),
        ("mysql 5.5", {"innodb_log_block_size": 512}, ""),
        # Policies of XtraDB.
        ("percona 5.5", {"innodb_adaptive_checkpoint": "keep_average"}, "innodb_adaptive_flushing_method=keep_average"),
        ("mysql 5.5", {"innodb_adaptive_flushing_method": "native"}, ""),
        # Percona Server 5.1, whose own names these are.
        *(("percona 5.1", {"innodb_adaptive_checkpoint": method}, None)
          for method in ("none", "reflex", "estimate", "keep_average")),
        ("percona 5.1", {"innodb_adaptive_flushing_method": "keep_average"}, "innodb_adaptive_checkpoint=keep_average"),
        ("percona 5.1", {"innodb_adaptive_flushing_method": "native"}, "innodb_adaptive_checkpoint=none"),
        # The numbers of 5.5 are others than those of 5.1.
        ("percona 5.1", {"innodb_adaptive_flushing_method": 2}, "innodb_adaptive_checkpoint=keep_average"),
        ("percona 5.5", {"innodb_adaptive_checkpoint": 2}, "innodb_adaptive_flushing_method=estimate"),
        ("percona 5.1", {"innodb_flush_neighbor_pages": "none"}, "innodb_flush_neighbor_pages=0"),
        ("percona 5.1", {"innodb_flush_neighbor_pages": "area"}, "innodb_flush_neighbor_pages=1"),
        ("percona 5.1", {"innodb_flush_neighbor_pages": 0}, None),
        ("percona 5.1", {"innodb_flush_neighbors": 2}, "innodb_flush_neighbor_pages=1"),
        ("percona 5.1", {"innodb_log_block_size": 4096}, None),
        ("percona 5.1", {"innodb_log_write_ahead_size": 4096}, "innodb_log_block_size=4096"),
        ("percona 5.1", {"innodb_doublewrite_file": "ib_doublewrite"}, None),
        ("mysql 5.7", {"innodb_adaptive_hash_index_partitions": 8}, "innodb_adaptive_hash_index_parts=8"),
        # Checksums.
        ("mysql 5.5", {"innodb_checksum_algorithm": "none"}, "innodb_checksums=0"),
        ("mysql 5.7", {"innodb_checksums": False}, "innodb_checksum_algorithm=none"),
        ("mysql 5.7", {"innodb_checksums": True}, ""),
        ("mariadb 10.11", {"innodb_checksum_algorithm": "full_crc32"}, None),
        # What a server does anyway is no setting of it.
        ("mariadb 10.5", {"innodb_buffer_pool_instances": 1, "innodb_page_cleaners": 1}, ""),
        ("mysql 5.6", {"innodb_page_cleaners": 1}, ""),
        ("mysql 8.0", {"query_cache_size": 0, "query_cache_type": False}, ""),
        ("mariadb 11.4", {"innodb_change_buffering": "none", "innodb_thread_concurrency": 0}, ""),
        # The binary log.
        ("mariadb 10.11", {"log_bin": True}, "log_bin=binlog"),
        ("mariadb 10.11", {"log_bin": False}, ""),
        ("mysql 8.0", {"log_bin": False}, "skip_log_bin="),
        ("mysql 5.5", {"log-bin": "mine"}, "log_bin=mine"),
        # Values.
        ("mysql 8.0", {"innodb_doublewrite": "DETECT_ONLY"}, None),
        ("mariadb 11.4", {"innodb_doublewrite": "fast"}, None),
        ("mariadb 10.11", {"innodb_doublewrite": False}, "innodb_doublewrite=OFF"),
        ("mysql 5.5", {"innodb_doublewrite": False, "innodb_adaptive_flushing": "on"},
         "innodb_doublewrite=0 innodb_adaptive_flushing=1"),
        ("percona 5.5", {"innodb_flush_method": "ALL_O_DIRECT"}, None),
        ("mysql 5.5", {"innodb_max_dirty_pages_pct": 60.0, "innodb_buffer_pool_size": "1T"},
         "innodb_max_dirty_pages_pct=60 innodb_buffer_pool_size=1024G"),
        ("mysql 8.0", {"innodb_max_dirty_pages_pct": 7.5}, "innodb_max_dirty_pages_pct=7.5"),
    ],
)  # fmt: skip
def test_settings_are_called_as_the_server_calls_them(name: str, settings: dict[str, Value], lines: str | None) -> None:
    expected = (
        dict(line.split("=", 1) for line in lines.split())
        if lines is not None
        else {n: str(v) for n, v in settings.items()}
    )
    assert translate_for(settings, _server(name)) == expected


#: What is refused: server, settings, the setting that is named, and the message after it.
REFUSED: list[tuple[str, dict[str, Value], str, str]] = [
    (
        "percona 5.1",
        {"innodb_flush_neighbor_pages": "cont"},
        "innodb_flush_neighbor_pages",
        ("Percona Server 5.1.65 writes all neighbours or none, and not only contiguous ones (hint: none or area)"),
    ),
    *(
        (
            "percona 5.1",
            {"innodb_doublewrite_file": name},
            "innodb_doublewrite_file",
            (f"{name} is no name of a new file in the data directory (hint: such as ib_doublewrite, without a path)"),
        )
        for name in ("ibdata1", "ib_logfile0", ".hidden")
    ),
    *(
        (
            "percona 5.1",
            {"innodb_doublewrite_file": place},
            "innodb_doublewrite_file",
            (
                f"may name a place outside the server's folder, '{place}': flatwater puts the server's files under "
                "storage.path (hint: give a name without a slash; [database.storages] puts parts of a server on other "
                "storages)"
            ),
        )
        for place in ("/mnt/log/dw", "../dw")
    ),
    (
        "percona 5.5",
        {"innodb_adaptive_checkpoint": "reflex"},
        "innodb_adaptive_checkpoint",
        "no server since 5.5 has reflex (hint: estimate or keep_average)",
    ),
    (
        "mariadb 10.11",
        {"innodb_buffer_pool_instances": 16},
        "innodb_buffer_pool_instances",
        (
            "MariaDB 10.11.6 does not have it: it is a setting of MySQL since 5.5.4, MariaDB before 10.5.1, Percona "
            "Server since 5.5.4 (hint: it has one buffer pool: leave the setting out)"
        ),
    ),
    (
        "mariadb 10.11",
        {"innodb_adaptive_flushing_method": "keep_average"},
        "innodb_adaptive_flushing_method",
        (
            "MariaDB 10.11.6 does not have it: it is a setting of Percona Server since 5.5 and before 5.6, MariaDB "
            "before 10.0"
        ),
    ),
    (
        "mysql 5.5",
        {"innodb_flush_neighbors": 0},
        "innodb_flush_neighbors",
        (
            "MySQL 5.5.8 does not have it: it is a setting of MySQL since 5.6.3, MariaDB since 10.0, Percona Server "
            "since 5.6.3"
        ),
    ),
    (
        "mysql 5.5",
        {"innodb_log_file_size": "4G", "innodb_log_files_in_group": 2},
        "innodb_log_file_size",
        (
            "a redo log of 8 GiB is more than MySQL 5.5.8 can have, which is just under 4 GiB in all (hint: Percona "
            "Server 5.5 and MySQL 5.6 can have more)"
        ),
    ),
    (
        "mariadb 10.11",
        {"innodb_io_capacitu": 200},
        "innodb_io_capacitu",
        "MariaDB 10.11.6 does not have a setting of this name (hint: did you mean innodb_io_capacity?)",
    ),
    (
        "mariadb 10.11",
        {"innodb_doublewrite": "DETECT_ONLY"},
        "innodb_doublewrite",
        "MariaDB 10.11.6 has no DETECT_ONLY: MySQL does, since 8.0.30 (hint: true or false)",
    ),
    (
        "mysql 8.0.15",
        {"innodb_redo_log_capacity": "3G"},
        "innodb_redo_log_capacity",
        (
            "MySQL 8.0.15 does not have it: its redo log is several files of a size (hint: innodb_log_file_size = "
            "1536M and innodb_log_files_in_group = 2 are as much)"
        ),
    ),
    (
        "mysql 8.0",
        {"innodb_redo_log_capacity": "4G", "innodb_log_file_size": "2G"},
        "innodb_redo_log_capacity",
        (
            "the redo log's size is given twice (hint: either innodb_redo_log_capacity or innodb_log_file_size x "
            "innodb_log_files_in_group)"
        ),
    ),
    (
        "mariadb 10.11",
        {"datadir": "/elsewhere"},
        "datadir",
        ("is not the experiment's to set: flatwater puts the server's files under storage.path (hint: take it out)"),
    ),
]


@pytest.mark.parametrize(("name", "settings", "field", "message"), REFUSED)
def test_a_setting_of_another_server_is_refused(
    name: str, settings: dict[str, Value], field: str, message: str
) -> None:
    with pytest.raises(UserError) as caught:
        translate_for(settings, _server(name))
    assert str(caught.value) == f"database.settings.{field}: {message}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"innodb_io_capacity": "1\n[mysqld]\nuser=root"}, "one line of text"),
        ({"innodb_io_capacity": ""}, "not empty"),
        ({"max\nconnections": 1}, "not the name of a setting"),
        ({"": 1}, "not the name of a setting"),
        ({"innodb-io-capacity": 1, "innodb_io_capacity": 2}, "is there twice"),
        ({"log_bin": "/tmp/elsewhere"}, "may name a place outside the server's folder"),
        ({"log_bin": "two words"}, "the first part of the files' names"),
        ({"innodb_log_file_size": "much", "innodb_log_files_in_group": 2}, "is not a size"),
        ({"innodb_log_file_size": "1G", "innodb_log_files_in_group": "two"}, "is not a number of files"),
        ({"innodb_log_files_in_group": 2}, "says nothing without innodb_log_file_size"),
        ({"innodb_checksum_algorithm": "innodb"}, "since 10.6"),
        ({"innodb_flush_method": "ALL_O_DIRECT"}, "XtraDB had"),
        ({"innodb_adaptive_checkpoint": "reflex"}, "has reflex"),
        ({"innodb_flush_method": "O_MAGIC"}, "no server has O_MAGIC"),
    ],
)
def test_values_that_no_option_file_can_hold_are_refused(settings: dict[str, Value], message: str) -> None:
    with pytest.raises(UserError, match=message):
        translate_for(settings, _server("mariadb 10.11"))


def test_the_servers_own_list_has_the_last_word(binary: Binary) -> None:
    assert translate({"sort_buffer_size": "2M", "low_priority_updates": True}, binary) == {
        "sort_buffer_size": "2M",
        "low_priority_updates": "ON",
    }
    with pytest.raises(UserError, match=r"did you mean sort_buffer_size\?"):
        translate({"sort_bufer_size": "2M"}, binary)


def test_several_servers_share_the_memory() -> None:
    settings = {"innodb_buffer_pool_size": "4G", "innodb_io_capacity": "200"}
    assert split(settings, 1) == settings
    assert split(settings, 3) == {"innodb_buffer_pool_size": "1365M", "innodb_io_capacity": "200"}
    assert split({"innodb_io_capacity": "200"}, 3) == {"innodb_io_capacity": "200"}
    with pytest.raises(UserError, match="leave each less than 5 MiB"):
        split({"innodb_buffer_pool_size": "64M"}, 16)
