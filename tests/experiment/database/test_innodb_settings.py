"""Settings of the modelled InnoDB."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment import make_experiment
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.innodb_settings import GENERATIONS, contradictions, resolve
from flatwater.experiment.problem import ProblemsError


def test_defaults_are_the_generations() -> None:
    told = {name: resolve(name, {}) for name in GENERATIONS}
    assert [told[name].innodb_io_capacity for name in told] == [100, *[200] * 6]
    assert [told[name].innodb_max_dirty_pages_pct for name in told] == [90, 75, 75, 75, 75, 90, 90]
    assert [told[name].innodb_max_dirty_pages_pct_lwm for name in told] == [0, 0, 0, 0, 0, 10, 0]
    assert [told[name].innodb_adaptive_flushing for name in told] == [False, *[True] * 6]
    assert [told[name].innodb_adaptive_flushing_method for name in told][:3] == ["native", "native", "estimate"]
    assert [told[name].innodb_flush_neighbors for name in told] == [2, 2, 2, 1, 1, 0, 1]
    assert [told[name].innodb_log_buffer_size >> 20 for name in told] == [1, 8, 8, 8, 16, 16, 16]
    assert [told[name].innodb_log_write_ahead_size for name in told] == [0, 0, 0, 0, 8192, 8192, 512]
    assert [told[name].log_bin for name in told] == [*[False] * 5, True, False]
    assert [told[name].innodb_old_blocks_time for name in told] == [0, 0, 0, *[1000] * 4]
    assert [told[name].sync_binlog for name in told] == [0, 0, 0, 0, 1, 1, 0]
    assert [told[name].innodb_change_buffering for name in told] == ["inserts", *["all"] * 5, "none"]
    assert [told[name].innodb_change_buffer_max_size for name in told] == [50, 50, 50, *[25] * 4]
    assert [told[name].innodb_read_ahead_threshold for name in told] == [24, *[56] * 6]
    assert [told[name].innodb_random_read_ahead for name in told] == [True, *[False] * 6]


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
