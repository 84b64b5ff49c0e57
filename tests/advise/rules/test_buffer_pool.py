from __future__ import annotations

from cases import GIB, case, database, finding, machine

from flatwater.advise.rules.buffer_pool import BufferPool

MISSES = finding("cache misses", 0.7, "sessions wait for pages 70 % of their time")
POOL = {"innodb_buffer_pool_size": str(8 * GIB)}


def test_twice_the_pool_where_there_is_memory() -> None:
    told = BufferPool().advise(case(MISSES, database=database(settings=POOL)))
    assert told is not None
    assert (told.change.kind, told.change.lines) == ("setting", ("innodb_buffer_pool_size = 16G",))
    assert told.change.overrides == (f"database.settings.innodb_buffer_pool_size={16 * GIB}",)


def test_more_memory_where_there_is_none() -> None:
    told = BufferPool().advise(case(MISSES, database=database(settings=POOL), machine=machine(memory_bytes=12 * GIB)))
    assert told is not None
    assert (told.change.kind, told.change.lines) == ("hardware", ())
    assert "12 GiB" in told.change.text


def test_silent_where_pages_are_in_memory() -> None:
    assert BufferPool().advise(case(finding("log limit"), database=database(settings=POOL))) is None
    assert BufferPool().advise(case(MISSES, database=database())) is None
    assert BufferPool().advise(case(MISSES)) is None
