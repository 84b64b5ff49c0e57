"""Settings of the modelled InnoDB."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.innodb_settings import DEFAULTS, resolve


def test_defaults_are_the_generations() -> None:
    told = {name: resolve(name, {}) for name in DEFAULTS}
    assert [told[name]["innodb_io_capacity"] for name in told] == [100, 200, 200]
    assert [told[name]["innodb_max_dirty_pages_pct"] for name in told] == [90, 75, 75]
    assert [told[name]["innodb_adaptive_flushing"] for name in told] == [False, True, True]
    assert [told[name]["innodb_adaptive_flushing_method"] for name in told] == ["native", "native", "estimate"]
    assert all(one["innodb_flush_neighbors"] is True for one in told.values())
    assert len({frozenset(one) for one in told.values()}) == 1, "the engine gets the same settings of all"


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
    ],
)
def test_values_are_read_as_servers_read_them(name: str, written: Any, read: Any) -> None:
    assert resolve("percona-5.5", {name: written})[name] == read


def test_neighbours_have_perconas_name() -> None:
    assert resolve("percona-5.5", {"innodb_flush_neighbor_pages": "none"})["innodb_flush_neighbors"] is False
    assert resolve("percona-5.5", {"innodb-flush-neighbor-pages".replace("-", "_"): 1})["innodb_flush_neighbors"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("innodb_io_capacty", 200, "is not modelled"),
        ("innodb_io_capacity", 10, "100 to"),
        ("innodb_io_capacity", True, "whole number"),
        ("innodb_max_dirty_pages_pct", 101, "0 to 100"),
        ("innodb_log_file_size", "much", "not a size"),
        ("innodb_doublewrite", 2, "one of"),
        ("datadir", "/tmp", "not the experiment's"),
    ],
)
def test_what_cannot_be_is_named(name: str, value: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        InnodbModel.model_validate({"kind": "innodb-model", "settings": {name: value}})
