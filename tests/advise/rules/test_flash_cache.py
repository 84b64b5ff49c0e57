from __future__ import annotations

from cases import cache, case, database, finding, on_storage

from flatwater.advise.rules.flash_cache import FlashCache

MISSES = finding("cache misses", 0.7, "30 % of the page requests missed")
READS = database(pages_read_per_s=400, cpu_user_pct=20)
DISKS = on_storage(rotational=True)


def test_disks_that_are_read_for_want_of_memory() -> None:
    told = FlashCache().advise(case(MISSES, database=READS, machine=DISKS))
    assert told is not None
    assert (told.change.kind, told.confidence, told.share) == ("hardware", "medium", 0.7)
    assert "power failure" in told.risk


def test_silent_of_flash_of_a_cache_and_of_other_bounds() -> None:
    assert FlashCache().advise(case(MISSES, database=READS, machine=on_storage())) is None
    assert FlashCache().advise(case(MISSES, database=READS, machine=DISKS, cache=cache())) is None
    assert FlashCache().advise(case(finding("log limit"), database=READS, machine=DISKS)) is None
    # A virtual disk may call itself rotational whatever it is.
    virtual = on_storage({"hypervisor": True}, rotational=True)
    assert FlashCache().advise(case(MISSES, database=READS, machine=virtual)) is None
