from __future__ import annotations

from typing import Any

import pytest
from cases import GIB, case, database, finding, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.flushing_policy import FlushingPolicy
from flatwater.analysis.bound.redo import RedoLimits
from flatwater.results.schema import Dip

DIPS = tuple(Dip(start_s=start, length_s=3, depth=0.4) for start in (5, 25, 45))
LIMITS = RedoLimits(7 * GIB, 7.5 * GIB, 8 * GIB)


def run(
    server: str = "percona 5.5.61",
    method: str = "estimate",
    age: Any = (7.4 * GIB, 5 * GIB),
    dips: tuple[Dip, ...] = DIPS,
    rotational: bool = False,
) -> Case:
    data = database(
        server,
        {"innodb_adaptive_flushing_method": method},
        checkpoint_age_bytes=list(age),
        redo=LIMITS,
        cpu_user_pct=100,
    )
    storage = {"device": "/dev/sdb", "rotational": rotational}
    return case(finding("log limit"), database=data, dips=dips, machine=machine(facts={"storage": storage}))


@pytest.mark.parametrize("server", ["percona 5.5.61", "mariadb 5.5.68"])
@pytest.mark.parametrize("method", ["estimate", "native"])
def test_at_the_average_of_what_is_changed(server: str, method: str) -> None:
    told = FlushingPolicy().advise(run(server, method))
    assert told is not None
    assert told.change.lines == ("innodb_adaptive_flushing_method = keep_average",)
    assert "there were 3 dips" in told.evidence


def test_silent_where_the_line_is_flat_or_the_policy_is_so() -> None:
    rule = FlushingPolicy()
    assert rule.advise(run(method="keep_average")) is None
    assert rule.advise(run(dips=DIPS[:2])) is None
    assert rule.advise(run(age=(7.4 * GIB, 7.0 * GIB))) is None, "the age stays where it is"
    assert rule.advise(run(rotational=True)) is None, "it is for flash"
    assert rule.advise(run("mysql 5.5.62")) is None, "it has no such setting"
    assert rule.advise(run("percona 5.7.44")) is None, "it has no such setting any more"
