from __future__ import annotations

import pytest
from cases import case, database, finding, load, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.change_buffering import ChangeBuffering


def run(
    server: str = "mysql 8.0.36", value: str = "all", waiting: float = 30, bound: str = "", rotational: bool = False
) -> Case:
    return case(
        *([finding(bound)] if bound else []),
        database=database(server, {"innodb_change_buffering": value}, sessions_waiting=waiting, cpu_user_pct=100),
        load=load(concurrency=64),
        machine=machine(facts={"storage": {"device": "/dev/nvme0n1", "rotational": rotational}}),
    )


@pytest.mark.parametrize("server", ["mysql 5.5.62", "mysql 8.0.36", "mariadb 10.4.34"])
def test_none(server: str) -> None:
    told = ChangeBuffering().advise(run(server))
    assert told is not None
    assert told.change.lines == ("innodb_change_buffering = none",)
    assert told.evidence[-1] == "innodb_change_buffering = all"


def test_silent_where_it_saves_reads_or_nobody_waits() -> None:
    rule = ChangeBuffering()
    assert rule.advise(run(value="none")) is None
    assert rule.advise(run(waiting=10)) is None
    assert rule.advise(run(bound="cache misses")) is None
    assert rule.advise(run(rotational=True)) is None
    assert rule.advise(run("mariadb 11.4.5")) is None, "it has no change buffer"
