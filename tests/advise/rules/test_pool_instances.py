from __future__ import annotations

import pytest
from cases import GIB, case, database, finding, load

from flatwater.advise.rule import Case
from flatwater.advise.rules.pool_instances import PoolInstances


def run(
    server: str = "mysql 5.6.51", pool: int = 16 * GIB, instances: str = "1", waiting: float = 30, bound: str = ""
) -> Case:
    settings = {"innodb_buffer_pool_size": str(pool), "innodb_buffer_pool_instances": instances}
    return case(
        *([finding(bound)] if bound else []),
        database=database(server, settings, sessions_waiting=waiting),
        load=load(concurrency=64),
    )


@pytest.mark.parametrize("server", ["mysql 5.5.62", "percona 5.7.44", "mysql 8.0.36", "mariadb 10.3.39"])
def test_several_instances(server: str) -> None:
    told = PoolInstances().advise(run(server))
    assert told is not None
    assert told.change.lines == ("innodb_buffer_pool_instances = 8",)
    assert told.evidence[0].startswith("30 of 64 sessions waited for other threads")
    assert told.share == pytest.approx(30 / 64)
    assert bool(told.risk) == server.startswith("mysql 5.5")


def test_no_more_than_a_gigabyte_for_each() -> None:
    told = PoolInstances().advise(run(pool=3 * GIB))
    assert told is not None
    assert told.change.lines == ("innodb_buffer_pool_instances = 3",)


def test_silent_where_nobody_waits_or_the_pool_is_divided() -> None:
    rule = PoolInstances()
    assert rule.advise(run(waiting=5)) is None
    assert rule.advise(run(instances="8")) is None
    assert rule.advise(run(pool=GIB)) is None
    assert rule.advise(run("mariadb 10.11.6")) is None, "it has one pool and no such setting"
    for other in ("log limit", "free pages", "fsync path", "CPU"):
        assert rule.advise(run(bound=other)) is None, "sessions wait for something else"
