from __future__ import annotations

from typing import Any

import pytest
from cases import GIB, case, database, device, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.io_capacity_high import IoCapacityHigh
from flatwater.analysis.bound.redo import RedoLimits

FULL = finding("device throughput", 0.9)
LIMITS = RedoLimits(8 * GIB, 9 * GIB, 10 * GIB)
HIGH = {"innodb_io_capacity": "20000", "innodb_io_capacity_max": "40000"}


def early(*findings: Any, server: str = "mysql 8.0.36", settings: dict[str, str] = HIGH, **told: Any) -> Case:
    quantities = {"pages_flushed_per_s": 4100, "checkpoint_age_bytes": 1.0 * GIB, "redo": LIMITS} | told
    return case(*(findings or (FULL,)), database=database(server, settings, **quantities), device=device(busy_pct=99))


@pytest.mark.parametrize("server", ["mysql 8.0.36", "mariadb 10.11.6", "percona 5.7.44"])
def test_about_what_is_flushed(server: str) -> None:
    told = IoCapacityHigh().advise(early(server=server))
    assert told is not None
    assert told.change.lines == ("innodb_io_capacity = 5000", "innodb_io_capacity_max = 10000")
    assert told.confidence == "low"
    assert "8 GiB" in told.evidence[1]


def test_silent_where_flushing_is_needed_or_the_capacity_is_used() -> None:
    rule = IoCapacityHigh()
    assert rule.advise(early(checkpoint_age_bytes=5.0 * GIB)) is None, "the log was more than half full"
    assert rule.advise(early(redo=None)) is None, "the server's limit is unknown"
    assert rule.advise(early(pages_flushed_per_s=15_000)) is None, "the capacity is used"
    assert rule.advise(early(pages_flushed_per_s=0)) is None, "nothing is flushed"
    assert rule.advise(early(pages_read_per_s=80_000)) is None, "reads fill the device"
    assert rule.advise(early(FULL, finding("dirty limit", 0.5))) is None, "the dirty share makes it flush"
    assert rule.advise(early(finding("CPU"))) is None, "the device does not bind"
    assert rule.advise(early(server="mysql 5.5.62")) is None, "it does not flush in proportion"
    assert rule.advise(early(settings={})) is None
    default = {"innodb_io_capacity": "10000", "innodb_io_capacity_max": "20000"}
    assert rule.advise(early(server="mysql 8.4.3", settings=default)) is None, "the default of 8.4"
