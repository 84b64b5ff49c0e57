from __future__ import annotations

import pytest
from cases import case, database, finding, load

from flatwater.advise.rule import Case
from flatwater.advise.rules.adaptive_hash import AdaptiveHash


def run(server: str = "mysql 8.0.36", value: str = "ON", waiting: float = 30, bound: str = "") -> Case:
    return case(
        *([finding(bound)] if bound else []),
        database=database(server, {"innodb_adaptive_hash_index": value}, sessions_waiting=waiting),
        load=load(concurrency=64),
    )


@pytest.mark.parametrize(
    ("server", "value"), [("mysql 5.5.62", "0"), ("mysql 8.0.36", "OFF"), ("mariadb 10.4.34", "OFF")]
)
def test_off(server: str, value: str) -> None:
    told = AdaptiveHash().advise(run(server))
    assert told is not None
    assert told.change.lines == (f"innodb_adaptive_hash_index = {value}",)
    assert told.confidence == "low"


def test_silent_where_it_is_off_or_nobody_waits() -> None:
    rule = AdaptiveHash()
    assert rule.advise(run(value="OFF")) is None
    assert rule.advise(run(waiting=10)) is None
    assert rule.advise(run(bound="log limit")) is None
    assert rule.advise(run(bound="CPU")) is None
