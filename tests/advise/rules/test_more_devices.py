from __future__ import annotations

from cases import cache, case, database, device, finding, on_storage

from flatwater.advise.rules.more_devices import MoreDevices

FULL = finding("device throughput", 0.9, "the device was busy for 99 % of the time")


def test_more_of_what_is_full() -> None:
    for where, word in ((on_storage(rotational=True), "flash"), (on_storage(), "Stripe")):
        told = MoreDevices().advise(case(FULL, device=device(), machine=where))
        assert told is not None
        assert word in told.change.text


def test_silent_where_the_device_is_not_full_or_its_credits_are_spent() -> None:
    assert MoreDevices().advise(case(finding("device latency"), device=device())) is None
    assert MoreDevices().advise(case(FULL, device=device("volume", credits=0))) is None


def test_silent_where_memory_would_save_the_requests() -> None:
    missed = finding("cache misses", 0.7)
    assert MoreDevices().advise(case(FULL, missed, device=device(), cache=cache())) is None, "a flash cache would"
    assert MoreDevices().advise(case(FULL, missed, device=device(), database=database())) is None
    assert (
        MoreDevices().advise(case(FULL, finding("cache misses", 0.2), device=device(), database=database())) is not None
    )


def test_silent_where_syncs_of_the_log_fill_it() -> None:
    durable, synced = {"innodb_flush_log_at_trx_commit": "1"}, finding("fsync path", 0.7)
    data = database(settings=durable, log_writes_per_s=200, pages_flushed_per_s=15)
    assert MoreDevices().advise(case(FULL, synced, device=device(), database=data)) is None
    assert MoreDevices().advise(case(FULL, device=device(), database=data)) is not None
    pages = database(settings=durable, log_writes_per_s=200, pages_flushed_per_s=1500)
    assert MoreDevices().advise(case(FULL, synced, device=device(), database=pages)) is not None
