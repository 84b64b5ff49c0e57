from __future__ import annotations

from cases import cache, case, experiment, finding

from flatwater.advise.rules.cache_size import CacheSize

CACHED = """
[workload]
kind = "fileio"
mode = "rndrw"
[cache]
kind = "flash"
size = "{size}"
[cache.storage]
kind = "ssd"
device = "fusion-io-iodrive-160-slc"
[storage]
kind = "raid"
device = "raid10-8"
"""
MISSES = finding("cache misses", 0.7, "40 % of the reads missed the cache")


def test_twice_the_cache_where_its_card_has_room() -> None:
    full = cache(read_hit_ratio=0.6, used_pct=100)
    told = CacheSize().advise(case(MISSES, cache=full, experiment=experiment(CACHED.format(size="40GiB"))))
    assert told is not None
    assert told.change.overrides == (f"cache.size={80 << 30}",)
    told = CacheSize().advise(case(MISSES, cache=full, experiment=experiment(CACHED.format(size="100GiB"))))
    assert told is not None
    assert told.change.overrides == ()


def test_a_larger_one_or_none_where_it_hardly_hits() -> None:
    told = CacheSize().advise(case(MISSES, cache=cache(read_hit_ratio=0.05, used_pct=100)))
    assert told is not None
    assert "take it out" in told.change.text
    assert told.confidence == "medium"


def test_silent_while_it_warms_up_and_where_it_is_not_the_bound() -> None:
    assert CacheSize().advise(case(MISSES, cache=cache(read_hit_ratio=0.6, used_pct=50))) is None
    assert CacheSize().advise(case(finding("CPU"), cache=cache(read_hit_ratio=0.6, used_pct=100))) is None
    assert CacheSize().advise(case(MISSES)) is None
