from __future__ import annotations

from typing import Any

import pytest
from cases import GIB, case, database, device, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.dirty_low_water import DirtyLowWater
from flatwater.analysis.bound.redo import RedoLimits

FULL = finding("device throughput", 0.8)
LIMITS = RedoLimits(7 * GIB, 7.5 * GIB, 8 * GIB)


def run(*findings: Any, server: str = "mysql 8.0.36", mark: str = "10.000000", **told: Any) -> Case:
    quantities = {"checkpoint_age_bytes": 1.0 * GIB, "redo": LIMITS, "dirty_pct": 14, "pages_flushed_per_s": 900} | told
    data = database(server, {"innodb_max_dirty_pages_pct_lwm": mark}, **quantities)
    return case(*(findings or (FULL,)), database=data, device=device(busy_pct=99))


@pytest.mark.parametrize("server", ["mysql 8.0.36", "mysql 8.4.3", "mariadb 10.11.6", "percona 5.7.44"])
def test_no_mark(server: str) -> None:
    told = DirtyLowWater().advise(run(server=server))
    assert told is not None
    assert told.change.lines == ("innodb_max_dirty_pages_pct_lwm = 0",)
    assert told.confidence == "low"


def test_silent_where_the_mark_makes_nothing_be_written() -> None:
    rule = DirtyLowWater()
    assert rule.advise(run(mark="0.000000")) is None
    assert rule.advise(run(dirty_pct=6)) is None, "fewer pages are dirty"
    assert rule.advise(run(pages_read_per_s=20_000)) is None, "reads fill the device"
    assert rule.advise(run(checkpoint_age_bytes=4.0 * GIB)) is None, "the log makes it flush too"
    assert rule.advise(run(FULL, finding("free pages", 0.2))) is None
    assert rule.advise(run(finding("CPU"))) is None, "the device has time"
    assert rule.advise(run(server="mysql 5.5.62")) is None, "it has no such setting"
