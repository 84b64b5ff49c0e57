from __future__ import annotations

from cases import case, finding, on_storage, served

from flatwater.advise.rules.write_barriers import WriteBarriers

OFF = on_storage(mount_options="rw,relatime,nobarrier")


def test_a_volatile_cache_that_is_never_flushed() -> None:
    for told in (WriteBarriers().advise(case(machine=OFF)), WriteBarriers().advise(served(case(machine=OFF)))):
        assert told is not None
        assert told.finding.startswith("DURABILITY")
        assert told.share == 0


def test_silent_with_barriers_and_above_a_safe_cache() -> None:
    assert WriteBarriers().advise(case(finding("fsync path"), machine=on_storage())) is None
    safe = on_storage(mount_options="rw,barrier=0", write_cache="write through")
    assert WriteBarriers().advise(case(machine=safe)) is None
