"""One buffer pool, and one list of its pages, for all sessions."""

from __future__ import annotations

from flatwater.advise.advice import Advice
from flatwater.advise.inside import contention_inside
from flatwater.advise.rule import Case, Rule
from flatwater.experiment import print_size

_NAME, _POOL = "innodb_buffer_pool_instances", "innodb_buffer_pool_size"
#: The default of MySQL 5.6 to 8.0. Each instance should have a gigabyte (the same section of the manual).
_INSTANCES, _EACH_BYTES = 8, 1 << 30


class PoolInstances(Rule):
    """Sessions wait for each other, and the pool has one instance: several."""

    name = "pool-instances"
    about = "sessions that wait for each other at the only instance of a large buffer pool"
    source = "MySQL manual, Configuring Multiple Buffer Pool Instances: for pools of gigabytes, to reduce contention"
    elsewhere = "nobody is known to have published a gain; 5.5.8 had deeper dips with 8 and 16 instances"

    def advise(self, case: Case) -> Advice | None:
        """Up to eight instances, each of a gigabyte at least, where there is one."""
        found, server = contention_inside(case), case.server
        if found is None or server is None or not server.has(_NAME) or server.number(_NAME) != 1:
            return None
        pool = server.number(_POOL) or 0
        wanted = min(_INSTANCES, int(pool // _EACH_BYTES))
        if wanted <= 1:
            return None
        change = server.change(f"Divide the buffer pool into {wanted} instances.", {_NAME: wanted})
        if change is None:
            return None
        return self.advice(
            "Sessions wait for each other inside the server, and its buffer pool is in one piece.",
            change,
            *found.evidence,
            f"a pool of {print_size(pool)} has one instance",
            confidence="low",
            risk="MySQL 5.5 had deeper and longer dips with 8 and 16 instances (tpcc-mysql on a card, 2010)"
            if server.version < (5, 6, 0)
            else "",
            relieves=found,
        )
