from __future__ import annotations

from cases import cache, case, device, finding

from flatwater.advise.rules.cache_mode import CacheMode

FULL = finding("device throughput", 0.8, "the slow device was busy")
WRITES = device("raid", write_ops_per_s=700, read_ops_per_s=300)


def test_write_back_where_writes_keep_the_disks_busy() -> None:
    told = CacheMode().advise(case(FULL, cache=cache("write-through"), device=WRITES))
    assert told is not None
    assert told.change.overrides == ('cache.mode="write-back"',)
    assert told.risk.startswith("DURABILITY")


def test_silent_of_write_back_and_of_reads() -> None:
    assert CacheMode().advise(case(FULL, cache=cache("write-back"), device=WRITES)) is None
    reads = device("raid", write_ops_per_s=100, read_ops_per_s=900)
    assert CacheMode().advise(case(FULL, cache=cache("write-through"), device=reads)) is None
    assert CacheMode().advise(case(FULL, device=WRITES)) is None
