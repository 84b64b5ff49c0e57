from __future__ import annotations

from cases import case, database, finding, machine

from flatwater.advise.rules.cpu_governor import CpuGovernor

SERVER = database(cpu_user_pct=700)


def test_processors_that_save_power_while_they_are_waited_for() -> None:
    told = CpuGovernor().advise(
        case(finding("CPU"), database=SERVER, machine=machine(facts={"cpu_governor": "powersave"}))
    )
    assert told is not None
    assert (told.confidence, told.share) == ("medium", 0)


def test_silent_of_performance_of_the_unknown_and_of_long_waits() -> None:
    for governor in ("performance", "schedutil", ""):
        facts = {"cpu_governor": governor}
        assert CpuGovernor().advise(case(finding("CPU"), database=SERVER, machine=machine(facts=facts))) is None
    saving = machine(facts={"cpu_governor": "powersave"})
    assert CpuGovernor().advise(case(finding("log limit"), database=SERVER, machine=saving)) is None
