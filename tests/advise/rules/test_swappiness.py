from __future__ import annotations

import pytest
from cases import GIB, case, database, finding, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.swappiness import Swappiness


def told_of(pool: int, swappiness: int, swap: int) -> Case:
    facts = {"swappiness": swappiness, "swap_bytes": swap, "memory_bytes": 64 * GIB}
    server = database(settings={"innodb_buffer_pool_size": str(pool)}, cpu_user_pct=100)
    return case(finding("CPU"), database=server, machine=machine(facts=facts))


def test_a_kernel_that_may_swap_a_large_pool() -> None:
    told = Swappiness().advise(told_of(48 * GIB, 60, 8 * GIB))
    assert told is not None
    assert told.change.lines == ("sysctl -w vm.swappiness=1",)
    assert (told.change.kind, told.share) == ("host", 0)


@pytest.mark.parametrize(
    ("pool", "swappiness", "swap"),
    [(8 * GIB, 60, 8 * GIB), (48 * GIB, 1, 8 * GIB), (48 * GIB, 60, 0)],
    ids=["small pool", "as advised", "no swap"],
)
def test_silent_where_it_cannot_hurt(pool: int, swappiness: int, swap: int) -> None:
    assert Swappiness().advise(told_of(pool, swappiness, swap)) is None
