from __future__ import annotations

from cases import case, database, finding, load, machine, served

from flatwater.advise.rule import Case
from flatwater.advise.rules.processor_bound import ProcessorBound


def working(connections: int, server: float, idle: float, others: float = 0) -> Case:
    """A real server that is bound by its processors; percent of one core, and of the machine for `idle`."""
    where = machine(cpu_idle_pct=idle, others_pct=server + others, children_pct=server)
    server_ = database(cpu_user_pct=server, cpu_wait_pct=1000)
    return case(
        finding("CPU", 0.9, "used 7.5 cores"), database=server_, machine=where, load=load(concurrency=connections)
    )


def test_a_server_that_uses_all_processors() -> None:
    told = ProcessorBound().advise(working(32, 750, 2))
    assert told is not None
    assert "fewer connections" not in told.change.text
    told = ProcessorBound().advise(working(400, 750, 2))
    assert told is not None
    assert "400 compete for 8 cores" in told.change.text


def test_silent_where_cores_are_idle_or_others_have_them() -> None:
    assert ProcessorBound().advise(working(4, 300, 60)) is None
    assert ProcessorBound().advise(working(32, 300, 1, others=450)) is None
    assert ProcessorBound().advise(served(working(32, 750, 2))) is None
