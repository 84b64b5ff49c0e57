from __future__ import annotations

import pytest
from cases import case, database, device, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.io_capacity_low import IoCapacityLow

LIMIT = finding("log limit", 0.8, "the age was at the limit")


def behind(server: str, settings: dict[str, str], flushed: float = 1950, busy: float = 20) -> Case:
    return case(LIMIT, database=database(server, settings, pages_flushed_per_s=flushed), device=device(busy_pct=busy))


@pytest.mark.parametrize(
    ("server", "settings", "lines"),
    [
        (
            "mysql 8.0.36",
            {"innodb_io_capacity": "200", "innodb_io_capacity_max": "2000"},
            ("innodb_io_capacity = 2000", "innodb_io_capacity_max = 4000"),
        ),
        (
            "mariadb 10.11.6",
            {"innodb_io_capacity": "1500", "innodb_io_capacity_max": "2000"},
            ("innodb_io_capacity = 2000", "innodb_io_capacity_max = 4000"),
        ),
        ("mysql 5.5.62", {"innodb_io_capacity": "1000"}, ("innodb_io_capacity = 4000",)),
        (
            "percona 5.5.61",
            {"innodb_io_capacity": "1000", "innodb_adaptive_flushing_method": "native"},
            ("innodb_io_capacity = 4000",),
        ),
    ],
)
def test_twice_what_was_flushed(server: str, settings: dict[str, str], lines: tuple[str, ...]) -> None:
    told = IoCapacityLow().advise(behind(server, settings))
    assert told is not None
    assert told.change.lines == lines
    assert told.share == 0.8
    assert any("20 %" in line for line in told.evidence)


OLD = {"innodb_io_capacity": "200", "innodb_io_capacity_max": "2000"}


def test_no_more_than_the_manual_says() -> None:
    told = IoCapacityLow().advise(behind("mysql 8.0.36", OLD, flushed=50_000))
    assert told is not None
    assert told.change.lines == ("innodb_io_capacity = 20000", "innodb_io_capacity_max = 40000")
    largest = {"innodb_io_capacity": "20000", "innodb_io_capacity_max": "40000"}
    assert IoCapacityLow().advise(behind("mysql 8.0.36", largest, flushed=50_000)) is None


def test_silent_where_the_limit_is_not_what_holds_flushing_back() -> None:
    rule = IoCapacityLow()
    assert rule.advise(behind("mysql 8.0.36", OLD, flushed=1000)) is None, "flushing is below its limit"
    assert rule.advise(behind("mysql 8.0.36", OLD, busy=90)) is None, "the device is busy"
    assert rule.advise(behind("mysql 8.0.36", {})) is None, "the limit is unknown"
    estimate = {"innodb_io_capacity": "1000", "innodb_adaptive_flushing_method": "estimate"}
    assert rule.advise(behind("percona 5.5.61", estimate)) is None, "XtraDB's own policies have no such limit"
    calm = case(
        finding("CPU"), database=database("mysql 8.0.36", OLD, pages_flushed_per_s=1950), device=device(busy_pct=20)
    )
    assert rule.advise(calm) is None, "flushing is not behind"


def test_silent_of_a_card_whose_collector_keeps_writes_waiting() -> None:
    data = database("mysql 8.0.36", OLD, pages_flushed_per_s=1950)
    assert IoCapacityLow().advise(case(LIMIT, database=data, device=device(busy_pct=20, gc_share_pct=10))) is not None
    assert IoCapacityLow().advise(case(LIMIT, database=data, device=device(busy_pct=20, gc_share_pct=70))) is None
