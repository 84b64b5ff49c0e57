from __future__ import annotations

from typing import Any

import pytest
from cases import case, database, finding, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.thread_pool import ThreadPool

CPU = finding("CPU", 0.9, "the cores were busy")


def run(
    server: str = "mariadb 10.11.6",
    running: Any = 200,
    handling: str = "one-thread-per-connection",
    bound: str = "",
    waiting: float | None = None,
) -> Case:
    settings = {"thread_handling": handling}
    data = database(server, settings, threads_running=running, cpu_user_pct=700, cpu_wait_pct=waiting)
    return case(finding(bound) if bound else CPU, database=data, machine=machine(cores=8))


@pytest.mark.parametrize("server", ["mariadb 5.5.68", "mariadb 10.11.6", "percona 8.0.40"])
def test_the_servers_pool(server: str) -> None:
    told = ThreadPool().advise(run(server))
    assert told is not None
    assert told.change.lines == ("thread_handling = pool-of-threads",)
    assert told.evidence[0] == "200 sessions ran, or waited for one of 8 processors"


def test_the_applications_pool_where_the_server_has_none() -> None:
    told = ThreadPool().advise(run("mysql 8.0.36"))
    assert told is not None
    assert (told.change.kind, told.change.lines) == ("workload", ())
    assert "16" in told.change.text


def test_silent_with_few_sessions_or_with_a_pool() -> None:
    rule = ThreadPool()
    assert rule.advise(run(running=20)) is None
    assert rule.advise(run(running=None)) is None
    assert rule.advise(run(handling="pool-of-threads")) is None
    assert rule.advise(run(bound="log limit")) is None
    assert rule.advise(run(waiting=9000)) is not None
    assert rule.advise(run(waiting=900)) is None, "they wait for something else than processors"
