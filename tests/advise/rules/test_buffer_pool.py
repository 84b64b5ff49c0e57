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


def pools(*sizes: int) -> list[dict[str, str]]:
    return [{"innodb_buffer_pool_size": str(size)} for size in sizes]


def test_each_of_several_servers_gets_twice_its_own_pool() -> None:
    alike = database(settings=POOL, servers=2, each=pools(8 * GIB, 8 * GIB))
    told = BufferPool().advise(case(MISSES, database=alike))
    assert told is not None
    assert told.change.text == "Make the buffer pool of each of the 2 servers 16 GiB."
    assert told.change.lines == ("innodb_buffer_pool_size = 16G",)
    # The setting of an experiment is the memory of all servers.
    assert told.change.overrides == (f"database.settings.innodb_buffer_pool_size={32 * GIB}",)
    other = BufferPool().advise(case(MISSES, database=database(settings=POOL, servers=2, each=pools(8 * GIB, 4 * GIB))))
    assert other is not None
    assert other.change.lines == (
        "innodb_buffer_pool_size = 16G  # server 0",
        "innodb_buffer_pool_size = 8G  # server 1",
    )
    assert other.evidence[-1] == "the pools have 8 GiB (server 0), 4 GiB (server 1)"


def test_the_memory_must_hold_the_pools_of_all_servers() -> None:
    four = database(settings=POOL, servers=4, each=pools(*[8 * GIB] * 4))
    told = BufferPool().advise(case(MISSES, database=four))
    assert told is not None
    assert told.change.kind == "hardware"
    assert "4 pools with 64 GiB" in told.change.text


def test_silent_if_one_pool_is_unknown() -> None:
    some = database(settings=POOL, servers=2, each=[*pools(8 * GIB), {}])
    assert BufferPool().advise(case(MISSES, database=some)) is None
    assert BufferPool().advise(case(MISSES, database=database(settings=POOL, servers=2))) is None
