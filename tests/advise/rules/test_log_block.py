from __future__ import annotations

from typing import Any

import pytest
from cases import case, database, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.log_block import LogBlock


def run(server: str, settings: dict[str, str], **told: Any) -> Case:
    return case(finding("fsync path"), database=database(server, settings, **{"log_page_reads_per_s": 300} | told))


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("percona 5.5.61", "innodb_log_block_size"),
        ("mariadb 5.5.68", "innodb_log_block_size"),
        ("mysql 5.7.44", "innodb_log_write_ahead_size"),
        ("mysql 8.0.36", "innodb_log_write_ahead_size"),
        ("mariadb 10.6.20", "innodb_log_write_ahead_size"),
    ],
)
def test_whole_pages(server: str, name: str) -> None:
    told = LogBlock().advise(run(server, {name: "512"}))
    assert told is not None
    assert told.change.lines == (f"{name} = 4K",)
    assert told.change.overrides == (f"database.settings.{name}=4096",)
    assert bool(told.risk) == (name == "innodb_log_block_size")
    assert "300 pages of the log read a second" in told.evidence


def test_silent_where_nothing_is_read_or_blocks_are_whole() -> None:
    rule, small = LogBlock(), {"innodb_log_write_ahead_size": "512"}
    assert rule.advise(run("mysql 8.0.36", small, log_page_reads_per_s=0.2)) is None
    assert rule.advise(run("mysql 8.0.36", small, log_page_reads_per_s=None)) is None
    assert rule.advise(run("mysql 8.0.36", {"innodb_log_write_ahead_size": "8192"})) is None
    assert rule.advise(run("mysql 8.0.36", {})) is None
    assert rule.advise(run("mysql 5.6.51", small)) is None, "it has no such setting"
