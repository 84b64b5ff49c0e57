from __future__ import annotations

from cases import case, database, finding

from flatwater.advise.rules.commit_durability import CommitDurability

SYNC = finding("fsync path", 0.5, "a sync takes 1.2 ms")


def test_the_price_of_durability_is_told_with_its_risk() -> None:
    told = CommitDurability().advise(case(SYNC, database=database(settings={"innodb_flush_log_at_trx_commit": "1"})))
    assert told is not None
    assert told.change.lines == ("innodb_flush_log_at_trx_commit = 2",)
    assert told.risk.startswith("DURABILITY")


def test_silent_where_commits_are_not_synced_or_do_not_wait() -> None:
    relaxed = database(settings={"innodb_flush_log_at_trx_commit": "2"})
    assert CommitDurability().advise(case(SYNC, database=relaxed)) is None
    durable = database(settings={"innodb_flush_log_at_trx_commit": "1"})
    assert CommitDurability().advise(case(finding("CPU"), database=durable)) is None
