from __future__ import annotations

from cases import case, database, finding, machine

from flatwater.advise.rules.transparent_huge_pages import TransparentHugePages

SERVER = database(cpu_user_pct=100)
ALWAYS = {"transparent_huge_pages": "always"}


def test_huge_pages_while_memory_is_short() -> None:
    short = machine(facts=ALWAYS, pressure_memory_pct=8)
    told = TransparentHugePages().advise(case(finding("CPU"), database=SERVER, machine=short))
    assert told is not None
    assert (told.confidence, told.share) == ("low", 0)


def test_silent_where_memory_is_not_short_or_only_those_who_ask_get_them() -> None:
    for facts, pressure in ((ALWAYS, 0), ({"transparent_huge_pages": "madvise"}, 8), ({}, 8)):
        calm = machine(facts=facts, pressure_memory_pct=pressure)
        assert TransparentHugePages().advise(case(finding("CPU"), database=SERVER, machine=calm)) is None
