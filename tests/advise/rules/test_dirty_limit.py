from __future__ import annotations

from typing import Any

import pytest
from cases import GIB, case, database, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.dirty_limit import DirtyLimit
from flatwater.analysis.bound.redo import RedoLimits

AT_LIMIT = finding("dirty limit", 0.7, "75 % of the pages were dirty")
LIMITS = RedoLimits(7 * GIB, 7.5 * GIB, 8 * GIB)


def run(*findings: Any, server: str = "mysql 5.7.44", limit: str = "75", age: float = 3 * GIB, **told: Any) -> Case:
    quantities = {"checkpoint_age_bytes": float(age), "redo": LIMITS} | told
    settings = {"innodb_max_dirty_pages_pct": limit}
    return case(*(findings or (AT_LIMIT,)), database=database(server, settings, **quantities))


@pytest.mark.parametrize("server", ["mysql 5.5.62", "mysql 5.7.44", "percona 5.6.51", "mariadb 10.4.34"])
def test_the_default_of_present_servers(server: str) -> None:
    told = DirtyLimit().advise(run(server=server, limit="75.000000"))
    assert told is not None
    assert told.change.lines == ("innodb_max_dirty_pages_pct = 90",)
    assert told.share == 0.7
    assert "7 GiB" in told.evidence[-1]


def test_silent_where_it_is_so_or_something_else_makes_the_server_flush() -> None:
    rule = DirtyLimit()
    assert rule.advise(run(limit="90.000000")) is None
    assert rule.advise(run(limit="95")) is None
    assert rule.advise(run(age=7.2 * GIB)) is None, "the log is at its limit"
    assert rule.advise(run(AT_LIMIT, finding("free pages", 0.2))) is None, "clean pages are wanted"
    assert rule.advise(run(finding("CPU"))) is None
    assert rule.advise(run(redo=None)) is None
