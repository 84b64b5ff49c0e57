"""The settings that differ between servers: which servers have them, and which of them shape the bytes on disk.

The server itself decides which settings it has (`Binary.options`). This registry has the names that tuning advice and
published experiments use, so that a message can name the servers that have a setting which this one lacks. Sources: the
reference manuals of MySQL 5.5 to 8.4, "InnoDB System Variables" of MariaDB, and Percona Server's documentation of 5.5
to 8.0, and of 5.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flatwater.server.flavours import FLAVOURS, Version

#: Versions are written `since..before`. Percona Server has the settings of its MySQL, unless it is listed itself. Its
#: 5.1 has those that MySQL 5.5 has.
_HAVE = {
    # The redo log
    "innodb_log_file_size": "mysql 5.5..; mariadb 5.5..",
    "innodb_log_files_in_group": "mysql 5.5..; mariadb 5.5..10.5.2",
    "innodb_redo_log_capacity": "mysql 8.0.30..",
    "innodb_log_buffer_size": "mysql 5.5..; mariadb 5.5..",
    "innodb_log_block_size": "percona 5.1..5.7; mariadb 5.5..10.2.6",
    "innodb_log_write_ahead_size": "mysql 5.7.4..; mariadb 10.2.2..10.8 10.11.9..",
    "innodb_log_compressed_pages": "mysql 5.6.11..; mariadb 10.0..10.5.3",
    "innodb_log_file_buffering": "mariadb 10.8.4..",
    "innodb_flush_log_at_trx_commit": "mysql 5.5..; mariadb 5.5..",
    "innodb_flush_log_at_timeout": "mysql 5.6.6..; mariadb 10.0..",
    # Flushing
    "innodb_io_capacity": "mysql 5.5..; mariadb 5.5..",
    "innodb_io_capacity_max": "mysql 5.6.6..; mariadb 10.0..",
    "innodb_adaptive_flushing": "mysql 5.5..; mariadb 5.5..",
    "innodb_adaptive_flushing_lwm": "mysql 5.6.6..; mariadb 10.0..",
    "innodb_adaptive_flushing_method": "percona 5.5..5.6; mariadb 5.5..10.0",
    "innodb_adaptive_checkpoint": "percona 5.1..5.5",
    "innodb_checkpoint_age_target": "percona 5.1..5.6; mariadb 5.5..10.0",
    "innodb_flushing_avg_loops": "mysql 5.6.6..; mariadb 10.0..",
    "innodb_flush_sync": "mysql 5.7.8..; mariadb 10.2.2..",
    "innodb_flush_neighbors": "mysql 5.6.3..; mariadb 10.0..",
    "innodb_flush_neighbor_pages": "percona 5.1..5.6; mariadb 5.5..10.0",
    "innodb_max_dirty_pages_pct": "mysql 5.5..; mariadb 5.5..",
    "innodb_max_dirty_pages_pct_lwm": "mysql 5.6.6..; mariadb 10.0..",
    "innodb_idle_flush_pct": "mysql 8.0.18..; mariadb 10.1.2..10.5.9",
    "innodb_lru_scan_depth": "mysql 5.6.3..; mariadb 10.0..",
    "innodb_lru_flush_size": "mariadb 10.5.7..10.6.20 10.7..10.11.10 11.0..11.2.6 11.3..11.4.4",
    "innodb_page_cleaners": "mysql 5.7.4..; mariadb 10.2.2..10.5.1",
    "innodb_cleaner_lsn_age_factor": "percona 5.6..8.0; mariadb 10.0..10.2.6",
    "innodb_empty_free_list_algorithm": "percona 5.6..; mariadb 10.0..10.2.6",
    "innodb_foreground_preflush": "percona 5.6..5.7; mariadb 10.0..10.2.6",
    "innodb_doublewrite": "mysql 5.5..; mariadb 5.5..",
    "innodb_doublewrite_file": "percona 5.1..5.6; mariadb 5.5..10.0",
    "innodb_doublewrite_files": "mysql 8.0.20..",
    "innodb_doublewrite_pages": "mysql 8.0.20..",
    "innodb_flush_method": "mysql 5.5..; mariadb 5.5..",
    "innodb_data_file_buffering": "mariadb 11.0..",
    "innodb_data_file_write_through": "mariadb 11.0..",
    "innodb_use_fdatasync": "mysql 8.0.26..",
    # The buffer pool
    "innodb_buffer_pool_size": "mysql 5.5..; mariadb 5.5..",
    "innodb_buffer_pool_instances": "mysql 5.5.4..; mariadb 5.5..10.5.1",
    "innodb_buffer_pool_chunk_size": "mysql 5.7.5..; mariadb 10.2.2..",
    "innodb_adaptive_hash_index": "mysql 5.5..; mariadb 5.5..",
    "innodb_adaptive_hash_index_parts": "mysql 5.7.8..; mariadb 10.2.2..",
    "innodb_adaptive_hash_index_partitions": "percona 5.5..5.7; mariadb 5.5..10.2.2",
    "innodb_change_buffering": "mysql 5.5..; mariadb 5.5..11.0",
    "innodb_read_ahead": "percona 5.1..5.6; mariadb 5.5..10.0",
    "innodb_read_ahead_threshold": "mysql 5.5..; mariadb 5.5..",
    "innodb_random_read_ahead": "mysql 5.5.16..; percona 5.1..; mariadb 10.0..",
    "innodb_old_blocks_time": "mysql 5.5..; mariadb 5.5..",
    # Threads
    "innodb_read_io_threads": "mysql 5.5..; mariadb 5.5..",
    "innodb_write_io_threads": "mysql 5.5..; mariadb 5.5..",
    "innodb_purge_threads": "mysql 5.5..; percona 5.5..; mariadb 5.5..",
    "innodb_thread_concurrency": "mysql 5.5..; mariadb 5.5..10.5.5",
    "innodb_commit_concurrency": "mysql 5.5..; mariadb 5.5..10.5.5",
    "innodb_concurrency_tickets": "mysql 5.5..; mariadb 5.5..10.5.5",
    "innodb_use_native_aio": "mysql 5.5..; percona 5.5..; mariadb 5.5..",
    "innodb_dedicated_server": "mysql 8.0.3..",
    "thread_handling": "mysql 5.5..; mariadb 5.5..",
    "thread_pool_size": "percona 5.5.30..; mariadb 5.5..",
    # What is on disk
    "innodb_page_size": "mysql 5.6.4..; percona 5.1..; mariadb 5.5..",
    "innodb_file_per_table": "mysql 5.5..; mariadb 5.5..",
    "innodb_file_format": "mysql 5.5..8.0; mariadb 5.5..10.3.1",
    "innodb_checksums": "mysql 5.5..8.0; mariadb 5.5..10.6",
    "innodb_checksum_algorithm": "mysql 5.6.3..; percona 5.5.30..; mariadb 10.0..",
    "innodb_fast_checksum": "percona 5.1..5.6; mariadb 5.5..10.0",
    "innodb_log_checksums": "mysql 5.7.9..; mariadb 10.2.2..10.5",
    "innodb_log_checksum_algorithm": "percona 5.6..5.7; mariadb 10.0..10.2.6",
    "innodb_default_row_format": "mysql 5.7.9..; mariadb 10.2.2..",
    "innodb_compression_algorithm": "mariadb 10.1..",
    "innodb_compression_default": "mariadb 10.1..",
    "innodb_undo_tablespaces": "mysql 5.6.3..; mariadb 10.0..",
    "innodb_data_file_path": "mysql 5.5..; mariadb 5.5..",
    # The server
    "query_cache_size": "mysql 5.5..8.0.3; mariadb 5.5..",
    "query_cache_type": "mysql 5.5..8.0.3; mariadb 5.5..",
    "sync_binlog": "mysql 5.5..; mariadb 5.5..",
    "log_bin": "mysql 5.5..; mariadb 5.5..",
    "max_connections": "mysql 5.5..; mariadb 5.5..",
    "table_open_cache": "mysql 5.5..; mariadb 5.5..",
    "performance_schema": "mysql 5.5..; percona 5.5..; mariadb 5.5..",
}

#: Settings that these flavours still accept in some versions in which they have no effect. Their manuals say
#: "deprecated and ignored" of each. All other settings have an effect if the server lists them.
_IGNORED = {
    "mariadb": {
        "innodb_adaptive_hash_index_partitions",
        "innodb_buffer_pool_instances",
        "innodb_cleaner_lsn_age_factor",
        "innodb_commit_concurrency",
        "innodb_concurrency_tickets",
        "innodb_empty_free_list_algorithm",
        "innodb_file_format",
        "innodb_foreground_preflush",
        "innodb_idle_flush_pct",
        "innodb_log_block_size",
        "innodb_log_checksum_algorithm",
        "innodb_log_checksums",
        "innodb_log_compressed_pages",
        "innodb_log_files_in_group",
        "innodb_lru_flush_size",
        "innodb_page_cleaners",
        "innodb_thread_concurrency",
    }
}

#: The hint for a setting that a server lacks and that cannot be translated.
INSTEAD = {
    ("innodb_buffer_pool_instances", "mariadb"): "it has one buffer pool: leave the setting out",
    ("innodb_page_cleaners", "mariadb"): "it has one page cleaner: leave the setting out",
    ("innodb_thread_concurrency", "mariadb"): "it has thread_handling = 'pool-of-threads' and thread_pool_size",
    ("innodb_dedicated_server", "mariadb"): "say innodb_buffer_pool_size and innodb_log_file_size",
    ("innodb_doublewrite_files", "mariadb"): "its doublewrite buffer is part of the system tablespace",
    ("innodb_doublewrite_pages", "mariadb"): "its doublewrite buffer has a fixed size",
    ("thread_pool_size", "mysql"): "only MySQL's Enterprise edition has a pool of threads",
}

#: Settings that change the bytes on disk: a snapshot with other values of them is another snapshot.
SHAPING = frozenset(
    {
        "character_set_server",
        "collation_server",
        "default_table_encryption",
        "innodb_checksum_algorithm",
        "innodb_checksums",
        "innodb_compression_algorithm",
        "innodb_compression_default",
        "innodb_compression_level",
        "innodb_data_file_path",
        "innodb_default_encryption_key_id",
        "innodb_default_row_format",
        "innodb_encrypt_tables",
        "innodb_extra_undoslots",
        "innodb_fast_checksum",
        "innodb_file_format",
        "innodb_file_per_table",
        "innodb_fill_factor",
        "innodb_page_size",
        "innodb_undo_tablespaces",
        "lower_case_table_names",
    }
)

#: What MySQL had in the oldest version that flatwater knows, Percona Server had in its own oldest.
_OLDEST_MYSQL, _OLDEST_PERCONA = FLAVOURS["mysql"].oldest, FLAVOURS["percona"].oldest


@dataclass(frozen=True)
class Span:
    """Versions of a flavour: from `since` until `before`, which is not included (None: no end)."""

    flavour: str
    since: Version
    before: Version | None

    def holds(self, flavour: str, version: Version) -> bool:
        """Whether a server of this flavour and version is in it."""
        return self.flavour == flavour and self.since <= version and (self.before is None or version < self.before)

    def __str__(self) -> str:
        text = FLAVOURS[self.flavour].title
        if self.since > FLAVOURS[self.flavour].oldest:
            text += f" since {_short(self.since)}"
        return (
            text if self.before is None else f"{text}{' and' if 'since' in text else ''} before {_short(self.before)}"
        )


def spans(name: str) -> list[Span]:
    """The servers that have a setting; empty for one that is not in the registry."""
    found = read_spans(_HAVE.get(name, ""))
    if not any(span.flavour == "percona" for span in found):
        found += [
            Span("percona", _OLDEST_PERCONA if span.since == _OLDEST_MYSQL else span.since, span.before)
            for span in found
            if span.flavour == "mysql"
        ]
    return found


def read_spans(text: str) -> list[Span]:
    """The versions in a text like `mysql 5.5..8.0; mariadb 10.0..`."""
    found = []
    for part in filter(None, text.split("; ")):
        flavour, *ranges = part.split(" ")
        found += [
            Span(flavour, _version(first), _version(last) if last else None) for first, last in map(_ends, ranges)
        ]
    return found


def names_of(flavour: str, version: Version) -> frozenset[str]:
    """The names in the registry that a server of this flavour and version has."""
    return frozenset(name for name in _HAVE if any(span.holds(flavour, version) for span in spans(name)))


def is_ignored(name: str, flavour: str, version: Version) -> bool:
    """Whether such a server accepts the setting but ignores it."""
    return name in _IGNORED.get(flavour, ()) and not any(span.holds(flavour, version) for span in spans(name))


def who_has(name: str) -> str:
    """`MySQL since 8.0.30, Percona Server since 8.0.30`; empty for a setting that is not in the registry."""
    return ", ".join(str(span) for span in spans(name))


def shaping(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that change the bytes on disk, in the order of their names."""
    return {name: settings[name] for name in sorted(SHAPING & settings.keys())}


def _ends(text: str) -> tuple[str, str]:
    first, _, last = text.partition("..")
    return first, last


def _version(text: str) -> Version:
    major, minor, patch, *_ = [*map(int, text.split(".")), 0, 0]
    return major, minor, patch


def _short(version: Version) -> str:
    return ".".join(map(str, version if version[2] else version[:2]))
