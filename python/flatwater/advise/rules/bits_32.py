"""A 32-bit system or server."""

from __future__ import annotations

import re

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import machine_facts
from flatwater.advise.rule import Case, Rule

#: As uname(2) and the server's version_compile_machine call them.
_NARROW = re.compile(r"i[3-6]86|x86|armv[5-7]\w*|arm|ppc|mips(el)?|sparc", re.ASCII)


class Bits32(Rule):
    """No process can use more than 4 GB."""

    name = "bits-32"
    about = "a 32-bit system or server"
    source = "MySQL manual, innodb_buffer_pool_size: at most 2^32 - 1 on 32-bit systems; published advice: 64-bit only"
    elsewhere = "it lifts a limit, and what is beyond the limit was not measured"

    def advise(self, case: Case) -> Advice | None:
        """A system and a server of 64 bits."""
        machine = machine_facts(case).get("architecture", "")
        server = case.server.word("version_compile_machine") if case.server is not None else ""
        narrow = next((word for word in (server, machine) if _NARROW.fullmatch(word)), None)
        if narrow is None or case.evidence.database is None:
            return None
        return self.advice(
            "The server has 32 bits: its pool and connections share at most 4 GB.",
            Change("host", "Install a 64-bit system and a 64-bit server."),
            f"{'the server was compiled for' if narrow == server else 'the machine is'} {narrow}",
            confidence="high",
        )
