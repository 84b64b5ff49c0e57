"""A kernel that likes to swap, beside a large buffer pool."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import machine_facts
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.words import size

#: Red Hat's value for databases is 10; MariaDB's documentation has 1.
_HIGH = 10
#: A pool under half of the memory leaves the kernel enough to give away (our choice).
_POOL_MIN_SHARE = 0.5


class Swappiness(Rule):
    """`vm.swappiness` is high, there is swap, and the pool takes most of the memory."""

    name = "swappiness"
    about = "a high vm.swappiness beside a buffer pool that takes most of the memory"
    source = (
        "MariaDB documentation, Configuring Linux for MariaDB: swappiness 1; Red Hat Enterprise Linux 6 Performance "
        "Tuning Guide, 5.5: low for databases"
    )
    elsewhere = "it keeps the pool from being swapped out; a run that did not swap gains nothing"

    def advise(self, case: Case) -> Advice | None:
        """A low one."""
        facts = machine_facts(case)
        pool = case.server.number("innodb_buffer_pool_size") if case.server is not None else None
        memory, swap, now = facts.get("memory_bytes"), facts.get("swap_bytes"), facts.get("swappiness")
        if not pool or not memory or not swap or now is None or case.is_served:
            return None
        servers = case.evidence.database.servers if case.evidence.database is not None else 1
        if now <= _HIGH or pool * servers < _POOL_MIN_SHARE * memory:
            return None
        return self.advice(
            "The kernel may swap the buffer pool out for its own page cache.",
            Change("host", "Let vm.swappiness be 1.", ("sysctl -w vm.swappiness=1",)),
            f"vm.swappiness is {now}, there are {size(swap)} of swap, and the pool takes {size(pool * servers)} of "
            f"{size(memory)}",
            confidence="medium",
        )
