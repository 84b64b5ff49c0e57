from __future__ import annotations

import pytest
from cases import case, database, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.binlog_sync import BinlogSync

SYNC = finding("fsync path", 0.5, "a sync takes 1.2 ms")


def run(server: str = "mysql 8.0.36", bound: str = "", **settings: str) -> Case:
    told = {"log_bin": "ON", "sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"} | settings
    return case(finding(bound) if bound else SYNC, database=database(server, told, binlog_fsyncs_per_s=800))


@pytest.mark.parametrize("server", ["mysql 5.5.62", "mysql 8.4.3", "percona 5.7.44", "mariadb 11.4.5"])
def test_fewer_syncs_told_with_their_risk(server: str) -> None:
    told = BinlogSync().advise(run(server))
    assert told is not None
    assert told.change.lines == ("sync_binlog = 1000",)
    assert told.risk.startswith("DURABILITY")
    assert told.confidence == "medium"
    assert "800 syncs of the binary log a second" in told.evidence


def test_surer_where_the_redo_log_may_lose_the_commits_anyway() -> None:
    told = BinlogSync().advise(run(innodb_flush_log_at_trx_commit="2"))
    assert told is not None
    assert told.confidence == "high"
    assert "innodb_flush_log_at_trx_commit = 2" in told.change.text


def test_silent_where_the_binary_log_is_not_synced_or_nobody_waits() -> None:
    rule = BinlogSync()
    assert rule.advise(run(sync_binlog="0")) is None
    assert rule.advise(run(sync_binlog="100")) is None
    assert rule.advise(run(log_bin="OFF")) is None
    assert rule.advise(run(bound="CPU")) is None
    assert rule.advise(case(SYNC, database=database())) is None
