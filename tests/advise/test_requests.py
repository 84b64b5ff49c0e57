from __future__ import annotations

from cases import cache, case, database, device, load

from flatwater.advise.requests import requests_per_s


def test_of_the_device_where_it_counts() -> None:
    counted = device(read_ops_per_s=10, write_ops_per_s=20)
    assert requests_per_s(case(device=counted, database=database(pages_flushed_per_s=7)).evidence) == (10, 20)


def test_of_the_server_else_of_the_load() -> None:
    server = database(pages_read_per_s=100, pages_flushed_per_s=50, log_writes_per_s=5)
    assert requests_per_s(case(device=device("raid"), database=server).evidence) == (100, 55)
    asked = load(read_ops_per_s=100, write_ops_per_s=50)
    assert requests_per_s(case(device=device("raid"), load=asked).evidence) == (100, 50)
    hit = cache(read_hit_ratio=0.75)
    assert requests_per_s(case(device=device("raid"), load=asked, cache=hit).evidence) == (25, 50)


def test_none_where_nothing_tells() -> None:
    assert requests_per_s(case(device=device("raid")).evidence) is None
    assert requests_per_s(case(device=device("raid"), database=database()).evidence) is None
