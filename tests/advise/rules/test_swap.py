from __future__ import annotations

from cases import GIB, case, database, finding, machine, served

from flatwater.advise.rules.swap import Swap

POOL = {"innodb_buffer_pool_size": str(60 * GIB)}
FACTS = {"swappiness": 60, "swap_bytes": 8 * GIB}
SWAPS = case(
    finding("cache misses"),
    database=database(settings=POOL, cpu_user_pct=100),
    machine=machine(facts=FACTS, swap_read_bytes_per_s=[0, 4 << 20]),
)


def test_a_machine_that_swaps_while_it_is_measured() -> None:
    told = Swap().advise(SWAPS)
    assert told is not None
    assert told.share == 0.5
    assert "60 GiB of the machine's 64 GiB" in told.evidence[1]


def test_silent_where_nothing_is_read_back() -> None:
    calm = machine(facts=FACTS, swap_read_bytes_per_s=0)
    assert Swap().advise(case(database=database(settings=POOL, cpu_user_pct=100), machine=calm)) is None
    assert Swap().advise(served(SWAPS)) is None


def test_silent_of_a_server_on_another_machine() -> None:
    swaps = machine(facts=FACTS, swap_read_bytes_per_s=4 << 20)
    assert Swap().advise(case(database=database(settings=POOL), machine=swaps)) is None
