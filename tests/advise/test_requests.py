from __future__ import annotations

from cases import cache, case, database, device, load

from flatwater.advise.requests import requests_per_s, syncs_logs, writes_pages


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


def test_whether_pages_are_written() -> None:
    assert writes_pages(case(database=database(pages_flushed_per_s=20, pages_read_per_s=100)).evidence)
    assert writes_pages(case(database=database(pages_flushed_per_s=20)).evidence), "its reads are unknown"
    assert not writes_pages(case(database=database(pages_flushed_per_s=10, pages_read_per_s=100)).evidence)
    assert not writes_pages(case(database=database(pages_flushed_per_s=0)).evidence)
    assert not writes_pages(case().evidence)


def test_whether_logs_are_synced() -> None:
    durable = {"innodb_flush_log_at_trx_commit": "1"}
    synced = {"log_writes_per_s": 200, "pages_flushed_per_s": 15, "pages_read_per_s": 5}
    asked = case(database=database(settings=durable, **synced)).evidence
    assert syncs_logs(asked)
    assert not writes_pages(asked)
    lazy = case(database=database(settings={"innodb_flush_log_at_trx_commit": "2"}, **synced)).evidence
    assert not syncs_logs(lazy)
    assert writes_pages(lazy)
    assert not syncs_logs(case().evidence)
