from __future__ import annotations

from typing import Any

import pytest
from cases import case, database, device, experiment, finding, on_storage

from flatwater.advise.rule import Case
from flatwater.advise.rules.log_of_its_own import LogOfItsOwn
from flatwater.analysis.bound.evidence import Layers

COMMITS = finding("fsync path", 0.6)
WRITES = {"redo_bytes_per_s": 20e6, "pages_flushed_per_s": 2000, "doublewrite_pages_per_s": 0}
MODEL = """
[workload]
kind = "tpcc"
[database]
kind = "innodb-model"
{more}
[storage]
kind = "ssd"
device = "intel-x25-m"
"""
VIRTUAL = Layers("modelled", "modelled", "none", "modelled", "card")


def beside(server: str = "mariadb 10.11.6", busy: float = 80, **more: Any) -> Case:
    """A server with everything in its data folder, on a busy drive."""
    settings = {
        "innodb_log_group_home_dir": "./",
        "datadir": "/data/mysql/",
        "log_bin": "ON",
        **more.pop("settings", {}),
    }
    return case(
        more.pop("bound", COMMITS),
        database=database(server, settings, **{**WRITES, **more}),
        device=device(busy_pct=busy),
        machine=on_storage(),
    )


def test_logs_that_wait_behind_pages() -> None:
    told = LogOfItsOwn().advise(beside())
    assert told is not None
    # 20 MB of 20 MB + 2000 pages of 16 KiB.
    assert told.evidence[0] == "38 % of what the server wrote were redo log and doublewrite buffer"
    assert told.change.lines == ("innodb_log_group_home_dir = /OTHER/STORAGE", "log_bin = /OTHER/STORAGE/binlog")
    assert (told.change.kind, told.change.overrides, told.share) == ("hardware", (), 0.6)


def test_the_doublewrite_files_move_where_the_server_can_move_them() -> None:
    told = LogOfItsOwn().advise(beside("mysql 8.0.36", doublewrite_pages_per_s=2000, settings={"log_bin": "OFF"}))
    assert told is not None
    assert told.change.lines == (
        "innodb_log_group_home_dir = /OTHER/STORAGE",
        "innodb_doublewrite_dir = /OTHER/STORAGE",
    )


def test_a_model_can_try_it() -> None:
    told = LogOfItsOwn().advise(
        case(
            COMMITS,
            database=database(**WRITES),
            device=device("ssd", busy_pct=80),
            experiment=experiment(MODEL.format(more="")),
            layers=VIRTUAL,
        )
    )
    assert told is not None
    assert 'database.log_device="raid10-8"' in told.change.overrides
    apart = experiment(MODEL.format(more='log_device = "raid10-8"'))
    already = case(
        COMMITS, database=database(**WRITES), device=device("ssd", busy_pct=80), experiment=apart, layers=VIRTUAL
    )
    assert LogOfItsOwn().advise(already) is None


@pytest.mark.parametrize(
    "other",
    [
        {"busy": 40},
        {"bound": finding("CPU")},
        {"redo_bytes_per_s": 1e6},
        {"redo_bytes_per_s": None},
        {"settings": {"innodb_log_group_home_dir": "/log"}},
    ],
    ids=["idle device", "other bound", "little log", "unknown log", "elsewhere"],
)
def test_silent_where_the_log_is_not_in_the_way(other: dict[str, Any]) -> None:
    assert LogOfItsOwn().advise(beside(**other)) is None


def test_a_folder_below_the_data_is_beside_them() -> None:
    assert LogOfItsOwn().advise(beside(settings={"innodb_log_group_home_dir": "/data/mysql/redo"})) is not None
