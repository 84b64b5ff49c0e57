"""Settings of the modelled InnoDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment import make_experiment
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.innodb_computed import Host
from flatwater.experiment.database.innodb_settings import (
    _SETTINGS,
    contradictions,
    defaults,
    has,
    is_done_anyway,
    own_name,
    resolve,
    server_settings,
)
from flatwater.experiment.database.lineage import GENERATIONS
from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer
from flatwater.experiment.problem import Problem, ProblemsError

#: Setting -> its default in each generation, in their order, as the engine takes it.
DEFAULTS: dict[str, list[Any]] = {
    "innodb_io_capacity": [100, *[200] * 6, *[10_000] * 3, *[200] * 3],
    "innodb_io_capacity_max": [*[2000] * 7, *[20_000] * 3, *[2000] * 3],
    "innodb_max_dirty_pages_pct": [90, 75, 75, 75, 75, *[90] * 8],
    "innodb_max_dirty_pages_pct_lwm": [*[0] * 5, *[10] * 5, *[0] * 3],
    "innodb_adaptive_flushing": [False, *[True] * 12],
    "innodb_adaptive_flushing_lwm": [10] * 13,
    "innodb_adaptive_flushing_method": ["native", "native", "estimate", *["native"] * 10],
    "innodb_cleaner_lsn_age_factor": [*["legacy"] * 9, "high_checkpoint", *["legacy"] * 3],
    "innodb_flushing_avg_loops": [30] * 13,
    "innodb_flush_neighbors": [2, 2, 2, 1, 1, *[0] * 5, *[1] * 3],
    "innodb_lru_scan_depth": [*[1024] * 10, *[1536] * 3],
    "innodb_log_buffer_size": [1 << 20, *[8 << 20] * 3, *[16 << 20] * 3, *[64 << 20] * 3, *[16 << 20] * 3],
    "innodb_log_write_ahead_size": [0, 0, 0, 0, *[8192] * 6, *[512] * 3],
    "innodb_redo_log_capacity": [*[0] * 6, *[100 << 20] * 4, 0, 0, 0],
    "log_bin": [*[False] * 5, *[True] * 5, *[False] * 3],
    "sync_binlog": [0, 0, 0, 0, *[1] * 6, *[0] * 3],
    "innodb_old_blocks_time": [0, 0, 0, *[1000] * 10],
    "innodb_change_buffering": ["inserts", *["all"] * 6, *["none"] * 6],
    "innodb_change_buffer_max_size": [50, 50, 50, *[25] * 8, 50, 50],
    "innodb_doublewrite_pages": [*[0] * 6, 4, *[128] * 3, *[0] * 3],
    "innodb_read_ahead_threshold": [24, *[56] * 12],
    "innodb_random_read_ahead": [True, *[False] * 12],
    "innodb_adaptive_hash_index": [*[True] * 7, *[False] * 6],
    # Of a pool of 128 MiB.
    "innodb_buffer_pool_instances": [1] * 13,
    "innodb_page_cleaners": [1, 1, 1, 1, 4, 4, 4, *[1] * 6],
    "innodb_purge_batch_size": [20, 20, 20, *[300] * 7, *[127] * 3],
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_the_generations(name: str) -> None:
    pool = {"innodb_buffer_pool_size": "128M"}
    assert [getattr(resolve(one, pool), name) for one in GENERATIONS] == DEFAULTS[name]


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("name", _SETTINGS)
def test_every_setting_of_a_generation_may_be_written_as_the_server_has_it(generation: str, name: str) -> None:
    """What a server says of itself is taken again, and changes nothing; what it lacks is refused with who has it."""
    host, pool = Host(processors=48, memory_bytes=64 << 30), {"innodb_buffer_pool_size": "20G"}
    having = generation if has(generation, name) else next(one for one in GENERATIONS if has(one, name))
    value = defaults(having)[name]
    value = server_settings(having, pool, host)[name] if value is None else value
    if value is None:
        assert name == "innodb_adaptive_checkpoint", "the old name of a setting that has a default"
        return
    told: dict[str, Any] = {name: value}
    problems = [problem.what for problem in problems_of(generation, told)]
    refused = f"is no setting of {generation}" in problems
    # Whoever writes what a server without the setting does anyway is not refused.
    known = has(generation, own_name(generation, name))
    assert refused is not (known or is_done_anyway(generation, name, value)), problems
    # Files of a size say the capacity where it is not written, so they change it.
    says_capacity = name in ("innodb_log_file_size", "innodb_log_files_in_group")
    if has(generation, name) and not (says_capacity and has(generation, "innodb_redo_log_capacity")):
        assert resolve(generation, told | pool, host) == resolve(generation, pool, host)


def problems_of(generation: str, settings: dict[str, Any]) -> Sequence[Problem]:
    model = {"kind": "innodb-model", "generation": generation, "memory": "64G", "settings": settings}
    return read_layer("database", model, ANY).problems


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("innodb_buffer_pool_size", "26G", 26 << 30),
        ("innodb_log_file_size", 1 << 20, 1 << 20),
        ("innodb_checkpoint_age_target", 0, 0),
        ("innodb_doublewrite", 0, False),
        ("innodb_doublewrite", "ON", True),
        ("innodb_doublewrite", True, True),
        ("innodb_adaptive_flushing_method", 2, "keep_average"),
        ("innodb_max_dirty_pages_pct", 60, 60.0),
        ("innodb_flush_neighbors", "OFF", 0),
        ("innodb_flush_neighbors", 2, 2),
        ("innodb_flush_neighbors", True, 1),
        ("log_bin", "mysql-bin", True),
        ("log_bin", 0, False),
        ("innodb_log_block_size", 4096, 4096),
        ("innodb_change_buffering", "CHANGES", "changes"),
        ("innodb_read_ahead_threshold", 0, 0),
        ("innodb_flush_method", "O_DIRECT", "O_DIRECT"),
        ("innodb_flush_method", "ALL_O_DIRECT", "ALL_O_DIRECT"),
    ],
)
def test_values_are_read_as_servers_read_them(name: str, written: Any, read: Any) -> None:
    assert getattr(resolve("percona-5.5", {name: written}), name) == read


def test_neighbours_have_perconas_name() -> None:
    assert resolve("percona-5.5", {"innodb_flush_neighbor_pages": "none"}).innodb_flush_neighbors == 0
    for written, read in ((1, 2), ("area", 2), ("cont", 1), (2, 1)):
        assert resolve("percona-5.5", {"innodb_flush_neighbor_pages": written}).innodb_flush_neighbors == read


def test_the_method_has_the_name_and_the_numbers_of_percona_5_1() -> None:
    for written, method in (
        ("none", "native"),
        ("reflex", "reflex"),
        (2, "estimate"),
        ("keep_average", "keep_average"),
    ):
        assert resolve("percona-5.5", {"innodb_adaptive_checkpoint": written}).innodb_adaptive_flushing_method == method
    both = {"innodb_adaptive_checkpoint": "reflex", "innodb_adaptive_flushing_method": "estimate"}
    (problem,) = contradictions(resolve("percona-5.5", both), both)
    assert "says the same thing" in problem.what


@pytest.mark.parametrize(
    ("checkpoint", "switch", "flushes", "method"),
    [
        ("none", None, False, "native"),
        ("none", False, False, "native"),
        ("none", True, True, "native"),
        ("estimate", None, True, "estimate"),
        ("estimate", False, True, "estimate"),
        ("estimate", True, True, "native"),
    ],
)
def test_percona_5_1_flushes_adaptively_if_told_by_one_of_two_settings(
    checkpoint: str, switch: bool | None, flushes: bool, method: str
) -> None:
    written: dict[str, Any] = {"innodb_adaptive_checkpoint": checkpoint}
    if switch is not None:
        written["innodb_adaptive_flushing"] = switch
    resolved = resolve("percona-5.5", written)
    assert (resolved.innodb_adaptive_flushing, resolved.innodb_adaptive_flushing_method) == (flushes, method)


def test_the_file_of_the_doublewrite_buffer_is_a_device_in_the_model() -> None:
    with pytest.raises(ProblemsError) as refused:
        make_experiment(
            {"database": {"kind": "innodb-model", "settings": {"innodb_doublewrite_file": "ib_doublewrite"}}}
        )
    hints = [problem.hint or "" for problem in refused.value.problems]
    assert any(hint.startswith("database.doublewrite_device puts the buffer") for hint in hints)


def test_the_most_is_twice_the_capacity_and_2000_at_least() -> None:
    most = [resolve("mysql-5.6", {"innodb_io_capacity": one}).innodb_io_capacity_max for one in (200, 1000, 5000)]
    assert most == [2000, 2000, 10_000]
    assert resolve("mysql-5.6", {"innodb_io_capacity_max": 300}).innodb_io_capacity_max == 300


def test_mysql_8_has_a_capacity_of_its_log_which_files_may_say() -> None:
    def log(**written: Any) -> tuple[int, ...]:
        told = resolve("mysql-8.0", written)
        names = ("innodb_redo_log_capacity", "innodb_log_files_in_group", "innodb_log_file_size")
        return tuple(getattr(told, name) for name in names)

    assert log() == (100 << 20, 32, (100 << 20) // 32)
    assert log(innodb_log_file_size="1G", innodb_log_files_in_group=3) == (3 << 30, 32, 96 << 20)
    assert log(innodb_log_file_size="1G", innodb_redo_log_capacity="8G")[0] == 8 << 30
    assert resolve("mysql-5.7", {}).innodb_redo_log_capacity == 0
    assert resolve("mysql-9", {"innodb_redo_log_capacity": "4G"}).innodb_log_file_size == 128 << 20


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("innodb_io_capacty", 200, "is not modelled"),
        ("innodb_io_capacity", 10, "100 to"),
        ("innodb_io_capacity", True, "whole number"),
        ("innodb_max_dirty_pages_pct", 101, "0 to 100"),
        ("innodb_log_file_size", "much", "not a size"),
        ("innodb_doublewrite", 2, "one of"),
        ("innodb_flush_neighbors", 3, "one of"),
        ("innodb_flushing_avg_loops", 0, "1 to 1000"),
        ("innodb_adaptive_flushing_lwm", 71, "0 to 70"),
        ("datadir", "/tmp", "not the experiment's"),
    ],
)
def test_what_cannot_be_is_named(name: str, value: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        InnodbModel.model_validate({"kind": "innodb-model", "settings": {name: value}})
