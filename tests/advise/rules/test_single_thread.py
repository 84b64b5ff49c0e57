from __future__ import annotations

from cases import case, database, finding, load, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.single_thread import SingleThread


def working(connections: int, server: float, idle: float, waits: float = 0) -> Case:
    """A real server that is bound by its processors; percent of one core, and of the machine for `idle`."""
    database_ = database(cpu_user_pct=server, cpu_wait_pct=waits)
    where = machine(cpu_idle_pct=idle, others_pct=server, children_pct=server)
    return case(
        finding("CPU", 0.9, "used a core"), database=database_, machine=where, load=load(concurrency=connections)
    )


def test_one_session_beside_idle_cores() -> None:
    told = SingleThread().advise(working(1, 95, 85))
    assert told is not None
    assert told.change.kind == "workload"
    assert told.evidence[0] == "6.8 of 8 cores were idle, and 1 session worked"
    two = SingleThread().advise(working(2, 95, 85))
    assert two is not None
    assert two.evidence[0].endswith("2 sessions worked")


def test_silent_where_all_cores_work_or_sessions_wait_for_one() -> None:
    assert SingleThread().advise(working(64, 780, 1, 5000)) is None
    assert SingleThread().advise(working(4, 400, 50, 200)) is None
    assert SingleThread().advise(working(64, 400, 50)) is None
