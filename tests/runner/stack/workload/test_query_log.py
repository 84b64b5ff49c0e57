"""A query log that a real server wrote is replayed on another one."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from serverlab import Foreign, ServerLab

SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(30));\nINSERT INTO t VALUES (1, 'one'), (2, 'two');\n"
#: The second of each statement, its connection, and its text.
STATEMENTS = [
    (0, 7, "SELECT a FROM t WHERE id = 1"),
    (0, 8, "SELECT a,\n  id /* two\nlines */ FROM t"),
    (1, 7, "UPDATE t SET a = 'x' WHERE id = 1"),
    (1, 8, "SELECT nothing FROM t"),
    (2, 9, "INSERT INTO t VALUES (3, 'it''s; \\' three')"),
    (2, 7, "SELECT COUNT(*) FROM t"),
]


def general(tmp_path: Path, statements: list[tuple[int, int, str]] = STATEMENTS) -> Path:
    """A general log as MySQL 8 writes it."""
    path = tmp_path / "general.log"
    lines = [f"2026-11-23T10:00:{second:02}.000000Z\t{session:5} Query\t{sql}\n" for second, session, sql in statements]
    path.write_text("".join(lines))
    return path


def replay(log: Path, **changes: Any) -> dict[str, Any]:
    own = {"kind": "query-log", "log": str(log), "connections": 4, "duration_s": 60, "errors_max_pct": 50}
    return own | changes


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "schema.sql"
    path.write_text(SCHEMA)
    return str(path)


def test_writes_are_replayed_only_when_allowed(
    servers: ServerLab, foreign: Foreign, tmp_path: Path, schema: str
) -> None:
    name = foreign.schema("replayed")
    foreign.instance.query(f"CREATE TABLE {name}.t (id INT PRIMARY KEY, a VARCHAR(30))")
    foreign.instance.query(f"INSERT INTO {name}.t VALUES (1, 'one'), (2, 'two')")
    log = general(tmp_path)
    ran = servers.go(replay(log, speed="asap"), {"url": foreign.url(name)})
    assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
    assert ran.summary.counters["writes_skipped"] == 2
    assert ran.summary.counters["error_1054"] == ran.summary.errors == 1
    assert ran.summary.latency_by_kind_us["select"].count == 3
    assert foreign.instance.query(f"SELECT a FROM {name}.t ORDER BY id") == [("one",), ("two",)]
    again = servers.go(replay(log, speed="asap", allow_writes=True), {"url": foreign.url(name)})
    assert again.code == 0, again.stderr
    assert again.summary.counters["writes_skipped"] == 0 and again.summary.errors == 1
    assert foreign.instance.query(f"SELECT a FROM {name}.t ORDER BY id") == [("x",), ("two",), ("it's; ' three",)]


def test_the_recorded_times_are_kept(servers: ServerLab, tmp_path: Path, schema: str) -> None:
    log = general(tmp_path)
    ran = servers.go(replay(log, setup_file=schema, allow_writes=True))
    assert ran.code == 0, ran.stderr
    # The log is two seconds long, and so is what it took.
    measured = [phase for phase in ran.summary.phases if phase.name == "measure"]
    assert sum(phase.end_s - phase.start_s for phase in measured) >= 1.9
    faster = servers.go(replay(log, setup_file=schema, allow_writes=True, speed=100))
    assert ran.summary.health is None or not any("each transaction" in text for text in ran.summary.health.text)
    assert faster.code == 0 and faster.summary.operations == ran.summary.operations == 5


def test_statements_that_cannot_keep_up_are_told(servers: ServerLab, tmp_path: Path, schema: str) -> None:
    slow = [(0, 7, "SELECT SLEEP(0.5)"), *[(0, 7, "SELECT a FROM t")] * 5]
    ran = servers.go(replay(general(tmp_path, slow), setup_file=schema))
    assert ran.code == 0, ran.stderr
    assert ran.summary.counters["late"] == 5 and ran.summary.counters["lag_ms"] >= 5 * 400
    assert any("5 statements" in warning and "began late" in warning for warning in ran.summary.warnings)


def test_the_slow_log_of_a_real_server(servers: ServerLab, foreign: Foreign, tmp_path: Path, schema: str) -> None:
    """What MariaDB itself writes is read, and does the same again."""
    name = foreign.schema("logged")
    path = tmp_path / "slow.log"
    tmp_path.chmod(0o777)
    query = foreign.instance.query
    query(f"CREATE TABLE {name}.t (id INT PRIMARY KEY, a VARCHAR(30))")
    query(f"SET GLOBAL slow_query_log_file = '{path}'")
    query("SET GLOBAL long_query_time = 0")
    query("SET GLOBAL slow_query_log = 1")
    try:
        for number in range(1, 6):
            query(f"INSERT INTO {name}.t VALUES ({number},\n 'line {number}')")
        query(f"SELECT * FROM {name}.t WHERE a LIKE 'line%'")
    finally:
        query("SET GLOBAL slow_query_log = 0")
        query("SET GLOBAL long_query_time = 10")
    query(f"DELETE FROM {name}.t")
    ran = servers.go(replay(path, speed="asap", allow_writes=True, connections=1), {"url": foreign.url(name)})
    assert ran.code == 0, ran.stderr
    assert ran.summary.latency_by_kind_us["insert"].count == 5
    assert query(f"SELECT COUNT(*), MAX(a) FROM {name}.t") == [("5", "line 5")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "there is no statement in it"),
        (b"hello\n" * 10, "it is no slow query log and no general query log"),
        (bytes(range(256)) * 4096, "it is no slow query log and no general query log"),
        (b"2026-11-23T10:00:00.000000Z\t 7 Quit\t\n", "there is no statement in it"),
        (b"# Time: 2026-11-23T10:00:00.000000Z\n", "there is no statement in it"),
    ],
    ids=["empty", "text", "binary", "no-statement", "only-a-head"],
)
def test_what_is_no_log_is_refused_before_anything_runs(
    servers: ServerLab, tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / "some.log"
    path.write_bytes(content)
    ran = servers.go(replay(path))
    assert ran.code == 2 and "workload.log" in ran.error and told in ran.error, ran.stderr


def test_damaged_parts_and_a_statement_of_any_length_are_survived(
    servers: ServerLab, tmp_path: Path, schema: str
) -> None:
    first, last = (0, 7, "SELECT a FROM t"), (1, 7, "SELECT 2")
    huge = (0, 8, "SELECT '" + "x" * 100_000_000 + "'")
    path = general(tmp_path, [first, huge, last])
    with path.open("ab") as log:
        log.write(b"\0\xff\x1b[31m no entry\n2026-99-99T10:00:00.000000Z\t 7 Query\tSELECT 3\n")
    ran = servers.go(replay(path, speed="asap", setup_file=schema, errors_max_pct=100))
    assert ran.code == 0, ran.stderr
    # 1153 is the server's number for what is longer than a packet; what was added to the last statement is no SQL.
    assert ran.summary.counters["error_1153"] == 1 and ran.summary.errors == 2, ran.summary.counters
    assert ran.summary.latency_by_kind_us["select"].count == 1


def test_a_long_pause_of_the_log_keeps_nobody_waiting(servers: ServerLab, tmp_path: Path, schema: str) -> None:
    path = tmp_path / "general.log"
    path.write_text("2026-11-23T10:00:00.0Z\t 7 Query\tSELECT 1\n2026-11-24T10:00:00.0Z\t 7 Query\tSELECT 1\n")
    run = servers.start(servers.write(replay(path, setup_file=schema, duration_s=86400)))
    run.until_recorded(2)
    ended = run.send(signal.SIGINT)
    assert ended.code == 130 and ended.at_once, ended.stderr


def test_other_verbs_say_what_they_cannot_tell(servers: ServerLab, tmp_path: Path, schema: str) -> None:
    ran = servers.go(replay(general(tmp_path), setup_file=schema, allow_writes=True))
    refused = servers.lab.flatwater("what-if", ran.out)
    assert refused.code == 2 and "its workload is query-log" in refused.error
    for verb in ("advise", "report"):
        told = servers.lab.flatwater(verb, ran.out)
        assert told.code == 0, told.stderr
