from __future__ import annotations

from typing import Any

import pytest
from cases import case, database, device, finding, load, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.more_servers import MoreServers
from flatwater.experiment import Experiment
from flatwater.experiment.database import InnodbModel, Server


def run(*findings: Any, servers: int = 1, busy: float = 20, idle: float = 60, **parts: Any) -> Case:
    return case(
        *findings,
        database=database("mysql 8.0.36", {}, sessions_waiting=30, servers=servers),
        device=device(busy_pct=busy),
        machine=machine(cpu_idle_pct=idle),
        load=load(concurrency=64),
        **parts,
    )


@pytest.mark.parametrize(
    ("asked", "overrides"),
    [
        (InnodbModel(), ("database.servers=2",)),
        (Server(), ("database.instances=2",)),
        (Server(url="mysql://root@127.0.0.1:3306"), ()),
        (None, ()),
    ],
)
def test_two_servers_as_an_experiment_says_it(asked: Any, overrides: tuple[str, ...]) -> None:
    experiment = Experiment.model_construct(database=asked) if asked is not None else None
    told = MoreServers().advise(run(experiment=experiment))
    assert told is not None
    assert told.change.kind == "host"
    assert told.change.overrides == overrides
    assert any("cores were idle for 60 %" in line for line in told.evidence)


def test_silent_where_something_else_is_used_up() -> None:
    rule = MoreServers()
    assert rule.advise(run(servers=2)) is None
    assert rule.advise(run(busy=80)) is None
    assert rule.advise(run(idle=10)) is None
    assert rule.advise(run(finding("fsync path"))) is None
    assert rule.advise(case(finding("contention"), database=database())) is None, "row locks, and nothing was sampled"
