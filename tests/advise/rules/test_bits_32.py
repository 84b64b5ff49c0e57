from __future__ import annotations

import pytest
from cases import case, database, machine

from flatwater.advise.rules.bits_32 import Bits32


@pytest.mark.parametrize(("machine_word", "server_word"), [("i686", "i686"), ("armv7l", ""), ("x86_64", "i386")])
def test_a_narrow_machine_or_server(machine_word: str, server_word: str) -> None:
    server = database(settings={"version_compile_machine": server_word}, cpu_user_pct=1)
    told = Bits32().advise(case(database=server, machine=machine(facts={"architecture": machine_word})))
    assert told is not None
    assert (server_word or machine_word) in told.evidence[0]


@pytest.mark.parametrize("word", ["x86_64", "aarch64", "ppc64le", "s390x", "arm64", ""])
def test_silent_of_64_bits(word: str) -> None:
    server = database(settings={"version_compile_machine": word}, cpu_user_pct=1)
    assert Bits32().advise(case(database=server, machine=machine(facts={"architecture": word}))) is None
