from __future__ import annotations

from cases import cache, case, finding, served

from flatwater.advise.rules.cache_dirty_marks import CacheDirtyMarks

DESTAGES = finding("cache destaging", 0.9, "20.0 % of the cache was dirty")


def test_a_higher_mark() -> None:
    told = CacheDirtyMarks().advise(case(DESTAGES, cache=cache(dirty_high_pct=20)))
    assert told is not None
    assert told.change.overrides == ("cache.dirty_high_pct=80",)
    assert told.risk.startswith("DURABILITY")


def test_silent_of_a_high_mark_of_no_write_back_and_of_other_bounds() -> None:
    assert CacheDirtyMarks().advise(case(DESTAGES, cache=cache(dirty_high_pct=80))) is None
    assert CacheDirtyMarks().advise(case(DESTAGES, cache=cache("write-through", dirty_high_pct=20))) is None
    assert CacheDirtyMarks().advise(case(finding("CPU"), cache=cache(dirty_high_pct=20))) is None
    assert CacheDirtyMarks().advise(served(case(DESTAGES, cache=cache(dirty_high_pct=20)))) is None
