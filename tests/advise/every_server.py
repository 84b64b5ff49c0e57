"""Cases in which nearly everything is set badly, for each flavour and version."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

from cases import GIB, case, database, device, finding, load, machine

from flatwater.advise.dialect import Dialect
from flatwater.advise.rule import Case
from flatwater.analysis.bound.evidence import Variables
from flatwater.analysis.bound.finding import Name
from flatwater.analysis.bound.redo import RedoLimits
from flatwater.results.schema import Dip
from flatwater.server.settings import names_of
from flatwater.server.sizes import read_size

SERVERS = [
    "mysql 5.5.62",
    "mysql 5.6.51",
    "mysql 5.7.44",
    "mysql 8.0.19",
    "mysql 8.0.40",
    "mysql 8.4.3",
    "percona 5.5.61",
    "percona 5.6.51",
    "percona 5.7.44",
    "percona 8.0.40",
    "mariadb 5.5.68",
    "mariadb 10.0.38",
    "mariadb 10.3.39",
    "mariadb 10.4.34",
    "mariadb 10.6.20",
    "mariadb 10.11.11",
    "mariadb 11.0.6",
    "mariadb 11.4.5",
    "mariadb 11.8.2",
]

#: As a server reports them; each server gets those that it has.
_ILL = {
    "innodb_io_capacity": "200",
    "innodb_io_capacity_max": "2000",
    "innodb_flush_neighbors": "1",
    "innodb_flush_neighbor_pages": "area",
    "innodb_max_dirty_pages_pct": "50",
    "innodb_max_dirty_pages_pct_lwm": "10",
    "innodb_doublewrite": "ON",
    "innodb_log_write_ahead_size": "512",
    "innodb_log_block_size": "512",
    "innodb_buffer_pool_size": str(40 * GIB),
    "innodb_buffer_pool_instances": "1",
    "innodb_page_cleaners": "1",
    "innodb_flush_method": "fsync",
    "innodb_data_file_buffering": "ON",
    "innodb_lru_scan_depth": "100",
    "innodb_adaptive_flushing_method": "estimate",
    "innodb_adaptive_hash_index": "ON",
    "innodb_change_buffering": "all",
    "innodb_flush_log_at_trx_commit": "1",
    "log_bin": "ON",
    "sync_binlog": "1",
    "innodb_log_buffer_size": "1048576",
    "thread_handling": "one-thread-per-connection",
    "innodb_log_file_size": str(10 * GIB),
    "innodb_log_files_in_group": "2",
    "innodb_redo_log_capacity": str(20 * GIB),
}
#: What makes other rules speak than those do.
_OTHERWISE: list[dict[str, str]] = [
    {},
    {"innodb_io_capacity": "30000", "innodb_io_capacity_max": "60000"},
    {"innodb_flush_log_at_trx_commit": "2"},
    {"innodb_buffer_pool_instances": "8"},
    {"innodb_adaptive_flushing_method": "native"},
]
_BOUNDS: tuple[Name, ...] = Name.__args__  # type: ignore[attr-defined]
_FLASH = {"device": "/dev/nvme0n1", "rotational": False, "file_system": "ext4", "physical_block_bytes": 4096}


@cache
def ill_cases(server: str) -> tuple[Case, ...]:
    """Every bound, with an idle and with a busy device, with ill settings."""
    return tuple(_ill_cases(server))


def _ill_cases(server: str) -> Iterator[Case]:
    flavour, version = server.split()
    major, minor, patch = map(int, version.split("."))
    names = names_of(flavour, (major, minor, patch))
    for more in _OTHERWISE:
        settings = {name: value for name, value in {**_ILL, **more}.items() if name in names}
        for bound in _BOUNDS:
            for busy in (20, 99):
                yield _ill_case(server, settings, bound, busy)
        # Sessions that wait for each other wait for rows, or for what the server holds inside.
        yield _ill_case(server, settings, "contention", busy=20, row_lock_pct=15_000)


def _ill_case(server: str, settings: dict[str, str], bound: Name, busy: float, row_lock_pct: float = 0) -> Case:
    # An age that stays low, or swings at its limit.
    age = [15.0 * GIB, 10.0 * GIB] if bound == "log limit" else 0.1 * GIB
    return case(
        finding(bound, 0.7),
        database=database(
            server,
            settings,
            pages_flushed_per_s=2000,
            pages_read_per_s=3000,
            doublewrite_pages_per_s=2000,
            checkpoint_age_bytes=age,
            redo=RedoLimits(14 * GIB, 15 * GIB, 16 * GIB),
            redo_bytes_per_s=20e6,
            dirty_pct=20,
            log_buffer_waits_per_s=50,
            log_page_reads_per_s=200,
            log_writes_per_s=2000,
            log_fsyncs_per_s=1000,
            binlog_fsyncs_per_s=1000,
            threads_running=200,
            cpu_user_pct=200,
            cpu_system_pct=50,
            cpu_wait_pct=10_000,
            sessions_waiting=150,
            row_lock_pct=row_lock_pct,
        ),
        device=device(busy_pct=busy, queue_depth=4),
        load=load(concurrency=256, ops_per_s=1000),
        machine=machine(facts={"memory_bytes": 64 * GIB, "storage": _FLASH}, cpu_idle_pct=60),
        dips=tuple(Dip(start_s=start, length_s=2, depth=0.5) for start in (10, 25, 40)),
    )


def with_lines(ill: Case, lines: tuple[str, ...]) -> Case:
    """The same case after the lines were written into the option file and the server was started again."""
    assert ill.evidence.database is not None
    text = dict(ill.evidence.database.variables.text)
    for line in lines:
        name, _, value = line.partition(" = ")
        size = read_size(value)
        text[name] = str(size) if size is not None else value
    after = dataclasses.replace(ill.evidence.database, variables=Variables(text))
    evidence = dataclasses.replace(ill.evidence, database=after)
    return dataclasses.replace(ill, evidence=evidence, server=Dialect.of(after))
