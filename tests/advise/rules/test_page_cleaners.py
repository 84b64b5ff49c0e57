from __future__ import annotations

import pytest
from cases import case, database, device, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.page_cleaners import PageCleaners

LIMIT = finding("log limit", 0.6, "the age was at the limit")


def run(
    server: str = "mysql 5.7.44", cleaners: str = "4", instances: str = "16", busy: float = 30, bound: str = ""
) -> Case:
    settings = {"innodb_page_cleaners": cleaners, "innodb_buffer_pool_instances": instances}
    data = database(server, settings)
    return case(finding(bound) if bound else LIMIT, database=data, device=device(busy_pct=busy))


@pytest.mark.parametrize("server", ["mysql 5.7.44", "mysql 8.0.36", "percona 5.7.44", "mariadb 10.3.39"])
def test_one_for_each_instance(server: str) -> None:
    told = PageCleaners().advise(run(server))
    assert told is not None
    assert told.change.lines == ("innodb_page_cleaners = 16",)
    assert told.evidence[0] == "4 page cleaners work for 16 instances"


def test_silent_where_there_are_enough_or_flushing_is_not_behind() -> None:
    rule = PageCleaners()
    assert rule.advise(run(cleaners="16")) is None
    assert rule.advise(run(busy=90)) is None, "the device is what flushing waits for"
    assert rule.advise(run(bound="CPU")) is None
    assert rule.advise(run("mysql 5.6.51")) is None, "it has one"
    assert rule.advise(run("mariadb 10.6.20")) is None, "it has one"
