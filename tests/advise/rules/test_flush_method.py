from __future__ import annotations

import pytest
from cases import GIB, case, database, finding, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.flush_method import FlushMethod
from flatwater.analysis.bound.evidence import Layers

MISSES = finding("cache misses", 0.6, "sessions wait for pages")


def run(
    server: str,
    settings: dict[str, str],
    pool: int = 48 * GIB,
    file_system: str = "xfs",
    bound: str = "",
    database_is: str = "real",
    cpu: float | None = 100,
) -> Case:
    return case(
        finding(bound) if bound else MISSES,
        database=database(server, {"innodb_buffer_pool_size": str(pool)} | settings, cpu_user_pct=cpu),
        machine=machine(facts={"memory_bytes": 64 * GIB, "storage": {"file_system": file_system}}),
        layers=Layers("real", database_is, "none", "real"),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("server", "settings", "line"),
    [
        ("mysql 5.7.44", {"innodb_flush_method": ""}, "innodb_flush_method = O_DIRECT"),
        ("mysql 8.0.36", {"innodb_flush_method": "fsync"}, "innodb_flush_method = O_DIRECT"),
        ("mariadb 10.3.39", {"innodb_flush_method": "fsync"}, "innodb_flush_method = O_DIRECT"),
        ("mariadb 11.4.5", {"innodb_data_file_buffering": "ON"}, "innodb_data_file_buffering = OFF"),
    ],
)
def test_past_the_kernels_cache(server: str, settings: dict[str, str], line: str) -> None:
    told = FlushMethod().advise(run(server, settings))
    assert told is not None
    assert told.change.lines == (line,)
    assert "48 GiB" in told.evidence[1]


BUFFERED = {"innodb_flush_method": "fsync"}


def test_silent_where_files_are_direct_or_that_is_unknown() -> None:
    rule = FlushMethod()
    assert rule.advise(run("mysql 8.0.36", {"innodb_flush_method": "O_DIRECT"})) is None
    assert rule.advise(run("mysql 8.0.36", {"innodb_flush_method": "O_DIRECT_NO_FSYNC"})) is None
    assert rule.advise(run("mysql 8.0.36", {})) is None
    assert rule.advise(run("mariadb 11.4.5", {"innodb_data_file_buffering": "OFF"})) is None
    assert rule.advise(run("mariadb 11.4.5", BUFFERED)) is None, "another setting says it there"


def test_silent_where_the_kernels_cache_may_be_of_use() -> None:
    rule = FlushMethod()
    assert rule.advise(run("mysql 8.0.36", BUFFERED, pool=8 * GIB)) is None, "the pool comes first"
    assert rule.advise(run("mysql 8.0.36", BUFFERED, file_system="tmpfs")) is None
    assert rule.advise(run("mysql 8.0.36", BUFFERED, bound="CPU")) is None
    assert rule.advise(run("mysql 8.0.36", BUFFERED, cpu=None)) is None, "the server is on another machine"
    assert rule.advise(run("mysql 8.0.36", BUFFERED, database_is="modelled")) is None
