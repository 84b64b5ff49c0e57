from __future__ import annotations

from cases import case, database, finding, machine, served

from flatwater.advise.rules.noisy_neighbour import NoisyNeighbour

OTHERS = finding("neighbour", 0.3, "other processes used 1.2 cores")


def test_others_on_the_machine() -> None:
    told = NoisyNeighbour().advise(case(OTHERS, database=database(cpu_user_pct=300), machine=machine(others_pct=600)))
    assert told is not None
    assert told.change.kind == "measurement"
    assert "pidstat" in told.change.text


def test_other_machines_on_the_host() -> None:
    stolen = machine(others_pct=300, cpu_steal_pct=20)
    told = NoisyNeighbour().advise(case(OTHERS, database=database(cpu_user_pct=300), machine=stolen))
    assert told is not None
    assert "dedicated" in told.change.text


def test_silent_where_nobody_disturbs() -> None:
    assert NoisyNeighbour().advise(case(finding("CPU"), database=database())) is None
    assert NoisyNeighbour().advise(served(case(OTHERS, database=database()))) is None
