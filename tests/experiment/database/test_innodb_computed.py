"""Defaults that servers compute from their machine and from other settings: cases worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.innodb_computed import Host
from flatwater.experiment.database.innodb_settings import server_settings
from flatwater.experiment.database.lineage import GENERATIONS
from flatwater.experiment.database.machine import machine_files
from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer

MIB, GIB = 1 << 20, 1 << 30
NEW = ("mysql-8.4", "mysql-9", "percona-8.4")


def told(generation: str, processors: int = 16, memory_gib: float | None = None, **written: Any) -> dict[str, Any]:
    memory = None if memory_gib is None else int(memory_gib * GIB)
    return server_settings(generation, written, Host(processors, memory))


@pytest.mark.parametrize("generation", NEW)
@pytest.mark.parametrize(
    ("pool", "chunk", "processors", "instances"),
    [
        ("1G", "128M", 80, 1),  # up to a GiB, whatever there is
        ("1025M", "128M", 80, 4),  # 1025 / 128 / 2 = 4
        ("50G", "128M", 80, 20),  # 80 / 4, where the pool would give 200
        ("2G", "128M", 80, 8),  # 2048 / 128 / 2
        ("2G", "512M", 80, 2),
        ("2G", "2G", 80, 1),  # a half chunk is still one
        ("64G", "128M", 3, 1),  # no quarter of a processor
        ("500G", "128M", 400, 64),
    ],
)
def test_instances_by_pool_and_processors(
    generation: str, pool: str, chunk: str, processors: int, instances: int
) -> None:
    found = told(generation, processors, innodb_buffer_pool_size=pool, innodb_buffer_pool_chunk_size=chunk)
    assert found["innodb_buffer_pool_instances"] == instances
    assert found["innodb_page_cleaners"] == instances, "a cleaner for each instance"


def test_older_servers_have_eight_instances_from_a_gib_on() -> None:
    for generation in ("mysql-5.6", "mysql-5.7", "mysql-8.0"):
        sizes = [
            told(generation, 80, innodb_buffer_pool_size=size)["innodb_buffer_pool_instances"]
            for size in ("1023M", "1G", "50G")
        ]
        assert sizes == [1, 8, 8]
    assert told("mysql-8.0", innodb_buffer_pool_size="2G")["innodb_doublewrite_files"] == 16


def test_cleaners_follow_written_instances() -> None:
    assert told("mysql-8.4", innodb_buffer_pool_instances=5)["innodb_page_cleaners"] == 5
    assert told("mysql-8.4", innodb_buffer_pool_instances=5, innodb_page_cleaners=2)["innodb_page_cleaners"] == 2
    assert told("mysql-8.0", innodb_buffer_pool_instances=5)["innodb_page_cleaners"] == 4


@pytest.mark.parametrize(
    ("processors", "read_threads", "purge_threads", "log_writers", "without_binlog"),
    [
        (2, 4, 1, False, False),
        (4, 4, 1, False, False),
        (5, 4, 1, False, True),
        (16, 8, 1, False, True),
        (17, 8, 4, False, True),
        (31, 15, 4, False, True),
        (32, 16, 4, True, True),
        (200, 64, 4, True, True),
    ],
)
def test_threads_by_processors(
    processors: int, read_threads: int, purge_threads: int, log_writers: bool, without_binlog: bool
) -> None:
    for generation in NEW:
        found = told(generation, processors)
        assert found["innodb_read_io_threads"] == read_threads
        assert found["innodb_purge_threads"] == purge_threads
        assert found["innodb_log_writer_threads"] is log_writers, "with a binary log, which is on by itself"
        off = told(generation, processors, log_bin=False)["innodb_log_writer_threads"]
        assert off is (without_binlog if generation == "mysql-9" else log_writers)
    assert told("mysql-8.0", processors)["innodb_read_io_threads"] == 4


@pytest.mark.parametrize(
    ("memory_gib", "pool", "redo_8_0"),
    [
        (0.5, 128 * MIB, 100 * MIB),
        (1, GIB // 2, 100 * MIB),
        (3, 3 * GIB // 2, GIB),
        (4, 2 * GIB, 3 * GIB // 2),  # round(0.75 x 4) x 0.5
        (8, 6 * GIB, 3 * GIB),  # round(0.75 x 8) x 0.5
        (64, 48 * GIB, 36 * GIB),  # round(0.5625 x 64)
        (188, 141 * GIB, 128 * GIB),
    ],
)
def test_a_dedicated_server_takes_its_memory(memory_gib: float, pool: int, redo_8_0: int) -> None:
    older = told("mysql-8.0", memory_gib=memory_gib, innodb_dedicated_server=True)
    assert (older["innodb_buffer_pool_size"], older["innodb_redo_log_capacity"]) == (pool, redo_8_0)
    for generation in NEW:
        newer = told(generation, 8, memory_gib, innodb_dedicated_server=True)
        assert (newer["innodb_buffer_pool_size"], newer["innodb_redo_log_capacity"]) == (pool, 4 * GIB)
    assert told("mysql-8.4", 80, memory_gib, innodb_dedicated_server=True)["innodb_redo_log_capacity"] == 16 * GIB


def test_what_is_written_is_not_computed() -> None:
    found = told("mysql-8.4", 8, 64, innodb_dedicated_server=1, innodb_buffer_pool_size="9G")
    assert (found["innodb_buffer_pool_size"], found["innodb_redo_log_capacity"]) == (9 * GIB, 4 * GIB)
    written = told("mysql-8.0", 8, 3, innodb_dedicated_server=1, innodb_buffer_pool_size="1G")
    assert written["innodb_redo_log_capacity"] == GIB, "round(0.5 x 3) x 0.5"


@pytest.mark.parametrize("generation", GENERATIONS)
def test_without_dedicated_server_memory_changes_nothing(generation: str) -> None:
    assert told(generation) == told(generation, memory_gib=188)


def test_a_modelled_server_finds_its_machine() -> None:
    model = InnodbModel.model_validate(
        {
            "kind": "innodb-model",
            "generation": "mysql-8.4",
            "machine": "cisco-ucs-c250",
            "memory": "384G",
            "settings": {"innodb_dedicated_server": True},
        }
    )
    assert model.host == Host(24, 384 * GIB)
    assert model.resolved.innodb_buffer_pool_size == 288 * GIB
    assert model.resolved.innodb_buffer_pool_instances == 6, "24 threads / 4"
    assert model.resolved.innodb_redo_log_capacity == 12 * GIB
    assert model.server_settings["innodb_read_io_threads"] == 12
    fewer = model.model_copy(update={"cores": 4})
    assert fewer.resolved.innodb_redo_log_capacity == 2 * GIB


@pytest.mark.parametrize(
    ("own", "what"),
    [({}, "the machine's memory, which is not told"), ({"memory": "64G", "servers": 2}, "is for one server")],
)
def test_a_dedicated_server_needs_its_memory_to_be_told(own: dict[str, Any], what: str) -> None:
    model = {"kind": "innodb-model", "generation": "mysql-8.4", "settings": {"innodb_dedicated_server": "ON"}} | own
    (problem,) = read_layer("database", model, ANY).problems
    assert problem.field == "database.settings.innodb_dedicated_server" and what in problem.what


@pytest.mark.parametrize("machine", machine_files())
def test_the_memory_of_a_machine_is_its_servers(machine: str) -> None:
    model = InnodbModel.model_validate({"kind": "innodb-model", "machine": machine})
    assert model.host.memory_bytes == model.hardware.memory
    assert (model.page_cache_bytes is None) == (model.hardware.memory is None)
