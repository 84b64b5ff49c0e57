"""A replay gives each statement the session that it had when it was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab import Ran
from serverlab import Foreign, ServerLab

#: As MySQL 5.6 and later write it.
SLOW = (
    "# Time: 2026-11-30T01:02:3{second}.000000Z\n# User@Host: a[a] @ localhost []  Id: {session:5}\n"
    "# Query_time: 0.000092  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n{use}"
    "SET timestamp=179600055{second};\n{sql};\n"
)


def replayed(servers: ServerLab, foreign: Foreign, schema: str, log: Path, text: str, **changes: Any) -> Ran:
    log.write_text(text)
    work = {"kind": "query-log", "log": str(log), "connections": 4, "speed": "asap", "allow_writes": True}
    ran = servers.go(work | changes, {"url": foreign.url(schema)})
    assert ran.code == 0, ran.stderr
    return ran


def general(*entries: tuple[int, str, str], second: int = 0) -> str:
    return "".join(
        f"2026-11-30T01:02:5{second}.000000Z\t{session:5} {command}\t{argument}\n"
        for session, command, argument in entries
    )


def table(foreign: Foreign, name: str) -> str:
    schema = foreign.schema(name)
    foreign.instance.query(f"CREATE TABLE {schema}.t (a VARCHAR(30)) ENGINE=InnoDB")
    return schema


def rows(foreign: Foreign, schema: str) -> list[str | None]:
    return [row[0] for row in foreign.instance.query(f"SELECT a FROM {schema}.t ORDER BY a")]


def test_a_reset_rolls_back_what_was_open(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    schema = table(foreign, "was_reset")
    statements = [
        "BEGIN",
        "INSERT INTO t VALUES ('rolled back')",
        "# administrator command: Reset Connection",
        "INSERT INTO t VALUES ('kept')",
        "COMMIT",
    ]
    text = "".join(
        SLOW.format(second=second, session=7, use="" if second else f"use {schema};\n", sql=sql)
        for second, sql in enumerate(statements)
    )
    ran = replayed(servers, foreign, schema, tmp_path / "slow.log", text)
    assert rows(foreign, schema) == ["kept"] and ran.summary.counters["resets"] == 1


def test_a_schema_that_is_made_again_is_opened_again(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    schema = foreign.schema("made_again")
    made = (7, "Query", f"CREATE DATABASE {schema}"), (7, "Init DB", schema), (7, "Query", "CREATE TABLE t (a INT)")
    again = (7, "Query", f"DROP DATABASE {schema}"), *made, (7, "Query", "INSERT INTO t VALUES (1)")
    text = general((7, "Connect", f"app@localhost on {schema} using Socket"), *again, *again)
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text)
    assert ran.summary.errors == 0 and rows(foreign, schema) == ["1"], ran.summary.warnings


def test_what_names_the_recorded_server_is_not_sent(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    """A KILL ends the recorded connection, and none of the server; a server is not shut down."""
    schema = table(foreign, "killed_then")
    (number,) = foreign.instance.query("SELECT CONNECTION_ID()")[0]
    text = general(
        (8, "Connect", f"app@localhost on {schema} using Socket"),
        (8, "Query", "BEGIN"),
        (8, "Query", "INSERT INTO t VALUES ('rolled back')"),
        (9, "Query", "KILL 8"),
        (9, "Query", f"KILL {number}"),
        (9, "Query", "SHUTDOWN"),
        (9, "Query", "INSERT INTO t VALUES ('kept')"),
        (8, "Query", "INSERT INTO t VALUES ('another connection')"),
    )
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text)
    assert rows(foreign, schema) == ["another connection", "kept"] and ran.summary.errors == 0
    assert "general.log:6: it stops the server" in " ".join(ran.summary.warnings)


def test_a_use_that_fails_takes_no_transaction_with_it(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    """Nor where no schema is open: the server of the replay is asked for none."""
    schema = table(foreign, "use_failed")
    sql = [
        "BEGIN",
        f"INSERT INTO {schema}.t VALUES ('rolled back')",
        "USE not_there",
        f"INSERT INTO {schema}.t VALUES ('rolled back, too')",
        "ROLLBACK",
    ]
    connects = (7, "Connect", "app@localhost on  using Socket"), (8, "Connect", f"app@localhost on {schema} using TCP")
    log = tmp_path / "general.log"
    log.write_text(general(*connects, (8, "Query", "DO 1"), *((7, "Query", one) for one in sql)))
    work = {"kind": "query-log", "log": str(log), "connections": 4, "speed": "asap", "allow_writes": True}
    ran = servers.go(work, {"url": foreign.url("").replace("&schema=", "")})
    assert ran.code == 0, ran.stderr
    assert rows(foreign, schema) == [] and ran.summary.errors == 1, ran.summary.warnings


def test_a_file_that_is_not_given_takes_no_transaction_with_it(
    servers: ServerLab, foreign: Foreign, tmp_path: Path
) -> None:
    schema = table(foreign, "no_file")
    sql = [
        "BEGIN",
        "INSERT INTO t VALUES ('a')",
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
        "DELETE FROM t",
        "ROLLBACK",
    ]
    foreign.instance.query(f"INSERT INTO {schema}.t VALUES ('kept')")
    connect = (7, "Connect", f"app@localhost on {schema} using Socket")
    text = general(connect, *((7, "Query", one) for one in sql))
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text)
    assert rows(foreign, schema) == ["kept"] and ran.summary.errors == 1, ran.summary.warnings
    assert f"{tmp_path / 'general.log'}:4: other of recorded connection 7" in " ".join(ran.summary.warnings)


def test_what_a_deadlock_has_left_of_a_transaction_can_be_rolled_back(
    servers: ServerLab, foreign: Foreign, tmp_path: Path
) -> None:
    """In the log nobody met the other: both transactions were rolled back."""
    schema = table(foreign, "deadlocked")
    foreign.instance.query(f"ALTER TABLE {schema}.t ADD id INT PRIMARY KEY")
    foreign.instance.query(f"INSERT INTO {schema}.t VALUES ('one', 1), ('two', 2)")
    connects = [(session, "Connect", f"app@localhost on {schema} using Socket") for session in (1, 2)]
    steps = [
        [(1, "BEGIN"), (2, "BEGIN")],
        [(1, "UPDATE t SET a = 'x' WHERE id = 1"), (2, "UPDATE t SET a = 'x' WHERE id = 2")],
        [(1, "UPDATE t SET a = 'x' WHERE id = 2"), (2, "UPDATE t SET a = 'x' WHERE id = 1")],
        [(1, "INSERT INTO t VALUES ('rolled back', 3)"), (2, "INSERT INTO t VALUES ('rolled back', 4)")],
        [(1, "ROLLBACK"), (2, "ROLLBACK")],
    ]
    text = general(*connects) + "".join(
        general(*((session, "Query", sql) for session, sql in step), second=second)
        for second, step in enumerate(steps, 1)
    )
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text, speed=2)
    assert ran.summary.counters["error_1213"] == 1 and rows(foreign, schema) == ["one", "two"]


def test_what_a_lock_wait_timeout_has_left_of_a_transaction_can_be_rolled_back(
    servers: ServerLab, foreign: Foreign, tmp_path: Path
) -> None:
    """This server rolls back the whole transaction with it (innodb_rollback_on_timeout)."""
    schema = table(foreign, "waited")
    foreign.instance.query(f"ALTER TABLE {schema}.t ADD id INT PRIMARY KEY")
    foreign.instance.query(f"INSERT INTO {schema}.t VALUES ('one', 1)")
    connects = [(session, "Connect", f"app@localhost on {schema} using Socket") for session in (1, 2)]
    steps = [
        [(1, "BEGIN"), (1, "UPDATE t SET a = 'x' WHERE id = 1"), (2, "SET innodb_lock_wait_timeout = 1")],
        [(2, "BEGIN"), (2, "UPDATE t SET a = 'y' WHERE id = 1"), (2, "INSERT INTO t VALUES ('rolled back', 2)")],
        [(2, "ROLLBACK")],
        [(1, "ROLLBACK")],
    ]
    text = general(*connects) + "".join(
        general(*((session, "Query", sql) for session, sql in step), second=second)
        for second, step in zip((1, 2, 3, 8), steps, strict=True)
    )
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text, speed=2)
    assert ran.summary.counters["error_1205"] == 1 and rows(foreign, schema) == ["one"], ran.summary.warnings


def test_a_lost_connection_is_made_anew_with_its_settings(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    """Without autocommit = 0, what follows would be committed; a recorded connection after it has none of them."""
    schema = table(foreign, "set_again")
    foreign.instance.query(f"CREATE PROCEDURE {schema}.killed() KILL CONNECTION CONNECTION_ID()")
    sql = ["SET autocommit = 0", "SET @a = 'kept'", "CALL killed()", "DO 1", "INSERT INTO t VALUES (@a)", "COMMIT"]
    sql += ["INSERT INTO t VALUES ('rolled back')", "ROLLBACK"]
    text = general(
        (7, "Connect", f"app@localhost on {schema} using Socket"),
        *((7, "Query", one) for one in sql),
        (7, "Quit", ""),
        (8, "Connect", f"app@localhost on {schema} using Socket"),
        (8, "Query", "INSERT INTO t VALUES (CONCAT('committed', COALESCE(@a, '')))"),
        (8, "Quit", ""),
    )
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text, connections=1)
    assert ran.summary.counters["reconnects"] == 1, ran.summary.counters
    assert rows(foreign, schema) == ["committed", "kept"], ran.summary.warnings


#: A server closes a connection that was idle for so long; the next statement does not know.
IDLE = (7, "Query", "SET wait_timeout = 1")


@pytest.mark.parametrize(
    ("lost", "kept"),
    [
        ("COMMIT", ["autocommit", "first", "third"]),
        ("ROLLBACK", ["autocommit", "first", "third"]),
        ("CREATE TABLE other (a INT)", ["autocommit", "first", "third"]),
        ("INSERT INTO t VALUES ('lost')", ["third"]),
    ],
)
def test_behind_a_lost_end_of_a_transaction_nothing_is_left_of_it(
    servers: ServerLab, foreign: Foreign, tmp_path: Path, lost: str, kept: list[str]
) -> None:
    """What follows is committed as it was. What is left of a transaction ends with its own end."""
    schema = table(foreign, "lost_end")
    text = general(
        (7, "Connect", f"app@localhost on {schema} using Socket"),
        IDLE,
        (7, "Query", "BEGIN"),
        (7, "Query", "INSERT INTO t VALUES ('gone')"),
    )
    text += general((7, "Query", lost), (7, "Query", "INSERT INTO t VALUES ('first')"), second=5)
    text += general((7, "Query", "INSERT INTO t VALUES ('autocommit')"), (7, "Query", "ROLLBACK"), second=6)
    text += general((7, "Query", "INSERT INTO t VALUES ('third')"), (7, "Quit", ""), second=7)
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text, speed=2)
    assert ran.summary.errors == 1 and rows(foreign, schema) == kept, ran.summary.warnings


def test_a_distributed_transaction_that_was_lost_ends_where_it_ended(
    servers: ServerLab, foreign: Foreign, tmp_path: Path
) -> None:
    schema = table(foreign, "lost_xa")
    first = (7, "Query", "XA START 'a'"), (7, "Query", "INSERT INTO t VALUES ('gone')")
    rest = [
        *("INSERT INTO t VALUES ('committed')", "XA END 'a'", "XA PREPARE 'a'", "XA COMMIT 'a'"),
        *("INSERT INTO t VALUES ('autocommit')", "XA START 'b'", "INSERT INTO t VALUES ('gone')"),
        *("XA END 'b'", "XA ROLLBACK 'b'"),
    ]
    text = general((7, "Connect", f"app@localhost on {schema} using Socket"), IDLE, *first)
    text += general((7, "Query", "INSERT INTO t VALUES ('lost')"), *((7, "Query", one) for one in rest), second=5)
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text, speed=2)
    assert ran.summary.errors == 1 and rows(foreign, schema) == ["autocommit", "committed"], ran.summary.warnings


#: The connection is lost: the statement behind it is not run.
LOST = "CALL killed()"
INSERT = "INSERT INTO t VALUES ('{}')"
KEPT, BAD, GONE = (INSERT.format(word) for word in ("kept", "bad", "gone"))


@pytest.mark.parametrize(
    "sql",
    [
        [LOST, "BEGIN", BAD, "ROLLBACK", KEPT],
        [LOST, "XA START 'x'", BAD, "XA END 'x'", "XA ROLLBACK 'x'", KEPT],
        ["SET autocommit = 0", GONE, LOST, "SET SESSION autocommit = 1", KEPT],
        ["SET autocommit = 0", GONE, LOST, "SET sql_mode = '', `autocommit` = 1", KEPT],
        ["BEGIN", GONE, LOST, "ANALYZE TABLE t", KEPT],
        ["BEGIN", GONE, "SAVEPOINT a", LOST, "DO 1", BAD, "ROLLBACK TO a", KEPT, "COMMIT"],
        ["XA START 'x'", GONE, "XA END 'x'", LOST, "XA COMMIT 'x' ONE PHASE", KEPT],
        ["BEGIN", GONE, LOST, "DO 1", BAD, LOST, "DO 1", BAD, "ROLLBACK", KEPT],
        ["BEGIN", GONE, LOST, "DO 1", "CALL missing()", KEPT, "COMMIT"],
        ["BEGIN", GONE, LOST, "DO 1", "ROLLBACK", "BEGIN", KEPT, "ROLLBACK TO nowhere", "COMMIT"],
        ["BEGIN", KEPT, "CREATE TABLE t (a INT)", LOST, "DO 1", "DO 2"],
        ["BEGIN", KEPT, "CREATE TABLE t (a INT)", "ROLLBACK"],
        ["BEGIN", "SAVEPOINT a", LOST, "DO 1", KEPT, "RELEASE SAVEPOINT a", "COMMIT"],
        ["BEGIN", GONE, "CALL fails()", LOST, "DO 1", KEPT],
        ["BEGIN", KEPT, "CREATE TABEL t (a INT)", "COMMIT"],
        ["SET autocommit = 0", GONE, LOST, "SET @@autocommit = 'ON'", KEPT],
        ["SET @old = @@autocommit, autocommit = 0", GONE, LOST, "SET autocommit = @old", KEPT],
        ["BEGIN", GONE, LOST, "SET @autocommit = 1", BAD, "ROLLBACK", KEPT],
        ["BEGIN", GONE, LOST, "CREATE OR REPLACE TEMPORARY TABLE x (a INT)", BAD, "ROLLBACK", KEPT],
        ["BEGIN", GONE, LOST, "SET autocommit = 1", BAD, "ROLLBACK", KEPT],
        ["BEGIN", GONE, LOST, "SET GLOBAL autocommit = 1", BAD, "ROLLBACK", KEPT],
        ["START TRANSACTION READ ONLY", LOST, "DO 1", BAD, "COMMIT", KEPT],
    ],
    ids=lambda sql: " ".join(sql),
)
def test_where_a_connection_is_lost_all_is_committed_that_was_and_nothing_else(
    servers: ServerLab, foreign: Foreign, tmp_path: Path, sql: list[str]
) -> None:
    schema = table(foreign, "lost_anywhere")
    foreign.instance.query(f"CREATE PROCEDURE {schema}.killed() KILL CONNECTION CONNECTION_ID()")
    foreign.instance.query(f"CREATE PROCEDURE {schema}.fails() BEGIN ROLLBACK; SIGNAL SQLSTATE '45000'; END")
    text = general((7, "Connect", f"app@localhost on {schema} using Socket"), *((7, "Query", one) for one in sql))
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text)
    assert rows(foreign, schema) == ["kept"], ran.summary.warnings


def test_what_was_prepared_outlives_its_connection(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    schema = table(foreign, "prepared")
    prepared = "XA START 'x'", KEPT, "XA END 'x'", "XA PREPARE 'x'"
    connect = (7, "Connect", f"app@localhost on {schema} using Socket")
    text = general(connect, IDLE, *((7, "Query", one) for one in prepared))
    rest = "SELECT 1", "XA COMMIT 'x'", INSERT.format("kept, too")
    text += general(*((7, "Query", one) for one in rest), second=5)
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text, speed=2)
    assert rows(foreign, schema) == ["kept", "kept, too"] and ran.summary.errors == 1, ran.summary.warnings


def test_what_a_trigger_did_is_told_where_it_may_be_done_twice(
    servers: ServerLab, foreign: Foreign, tmp_path: Path
) -> None:
    """A general log has it as a statement of its own. With a program's variables in it, it is surely a program's."""
    schema = table(foreign, "triggered")
    foreign.instance.query(f"CREATE TABLE {schema}.b (a VARCHAR(30))")
    foreign.instance.query(
        f"CREATE TRIGGER {schema}.g AFTER INSERT ON {schema}.b FOR EACH ROW "
        f"BEGIN DECLARE x VARCHAR(30) DEFAULT NEW.a; INSERT INTO {schema}.t VALUES (x); END"
    )
    by_trigger = f"INSERT INTO {schema}.t VALUES ( NAME_CONST('x',_utf8mb4'once' COLLATE 'utf8mb4_bin'))"
    connect = (7, "Connect", f"app@localhost on {schema} using Socket")
    text = general(connect, (7, "Query", "INSERT INTO b VALUES ('once')"), (7, "Query", by_trigger))
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text)
    told = " ".join(ran.summary.warnings)
    assert rows(foreign, schema) == ["once"] and ran.summary.errors == 0, told
    assert "general.log:3: it is of a trigger or a function, which runs it again" in told
    assert "what triggers, functions and events did as statements of their own, and the server has" in told, told


def test_what_a_lost_connection_had_set_is_not_the_next_ones(
    servers: ServerLab, foreign: Foreign, tmp_path: Path
) -> None:
    schema = table(foreign, "set_by_another")
    foreign.instance.query(f"CREATE PROCEDURE {schema}.killed() KILL CONNECTION CONNECTION_ID()")
    text = general(
        (7, "Connect", f"app@localhost on {schema} using Socket"),
        *((7, "Query", one) for one in ("SET autocommit = 0", "SET @a = 'of another'", LOST, "DO 1")),
        (7, "Quit", ""),
        (8, "Connect", f"app@localhost on {schema} using Socket"),
        (8, "Query", "INSERT INTO t VALUES (COALESCE(@a, 'kept'))"),
        (8, "Quit", ""),
    )
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text, connections=1)
    assert rows(foreign, schema) == ["kept"], ran.summary.warnings


def test_what_was_computed_is_not_computed_again(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    """Nor written by a replay that only reads: with autocommit = 0, a setting that is a query begins a transaction."""
    schema = table(foreign, "computed")
    foreign.instance.query(
        f"CREATE FUNCTION {schema}.next_id() RETURNS INT MODIFIES SQL DATA BEGIN "
        f"INSERT INTO {schema}.t VALUES ('next'); RETURN 5; END"
    )
    text = general(
        (7, "Connect", f"app@localhost on {schema} using Socket"),
        *((7, "Query", one) for one in ("SET autocommit = 0", "SET @a = next_id()", "COMMIT", IDLE[2])),
    )
    text += general((7, "Query", "SELECT 1"), (7, "Query", "SELECT next_id()"), (7, "Query", "COMMIT"), second=5)
    for allow_writes, left in ((False, []), (True, ["next", "next"])):
        ran = replayed(servers, foreign, schema, tmp_path / "general.log", text, speed=2, allow_writes=allow_writes)
        assert rows(foreign, schema) == left, ran.summary.warnings


def test_a_transaction_that_begins_in_a_schema_that_is_not_there_is_one(
    servers: ServerLab, foreign: Foreign, tmp_path: Path
) -> None:
    schema = table(foreign, "begun_elsewhere")
    text = general(
        (7, "Connect", "app@localhost on not_there using Socket"),
        (7, "Query", "BEGIN"),
        (7, "Init DB", schema),
        (7, "Query", "INSERT INTO t VALUES ('rolled back')"),
        (7, "Query", "ROLLBACK"),
        (7, "Query", "INSERT INTO t VALUES ('kept')"),
    )
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", text)
    assert rows(foreign, schema) == ["kept"] and ran.summary.errors == 0, ran.summary.warnings


def test_a_connection_that_was_lost_and_reset_has_no_transaction(
    servers: ServerLab, foreign: Foreign, tmp_path: Path
) -> None:
    """What its client before the reset had begun is no concern of the next one."""
    schema = table(foreign, "lost_and_reset")
    foreign.instance.query(f"CREATE PROCEDURE {schema}.killed() KILL CONNECTION CONNECTION_ID()")
    connect = (7, "Connect", f"app@localhost on {schema} using Socket")
    lost = [(7, "Query", one) for one in ("BEGIN", GONE, LOST, "DO 1")]
    for again in ((7, "Change user", f"app@localhost on {schema}"), (7, "Reset Connection", ""), connect):
        text = general(connect, *lost, again, (7, "Query", KEPT), (7, "Quit", ""))
        ran = replayed(servers, foreign, schema, tmp_path / "general.log", text)
        assert rows(foreign, schema) == ["kept"], (again, ran.summary.warnings)
        foreign.instance.query(f"DELETE FROM {schema}.t")


def test_a_procedure_that_returns_rows_is_called(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    """Each of its results is read, and the statements behind it have their own."""
    schema = table(foreign, "several_results")
    foreign.instance.query(
        f"CREATE PROCEDURE {schema}.several() BEGIN INSERT INTO {schema}.t VALUES ('kept'); SELECT 1 UNION SELECT 2; "
        f"SELECT REPEAT('x', 100000); END"
    )
    connect = (7, "Connect", f"app@localhost on {schema} using Socket")
    calls = [(7, "Query", one) for one in ("CALL several()", "SELECT 1", "BEGIN", "CALL several()", "ROLLBACK")]
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", general(connect, *calls))
    assert ran.summary.errors == 0 and rows(foreign, schema) == ["kept"], ran.summary.warnings


def test_what_was_logged_in_one_second_keeps_its_order(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    """MariaDB's logs tell whole seconds: short connections one after another are not sent side by side."""
    schema = table(foreign, "one_second")
    texts = ["261130 01:02:50\t    1 Connect\tapp@localhost on using Socket\n"]
    for number in range(10, 40, 2):
        for session, sql in (
            (number, f"INSERT INTO t VALUES ('{number}')"),
            (number + 1, f"DELETE FROM t WHERE a = {number}"),
        ):
            connect = f"\t\t{session:5} Connect\tapp@localhost on {schema} using Socket\n"
            texts.append(f"{connect}\t\t{session:5} Query\t{sql}\n\t\t{session:5} Quit\t\n")
    # The more time there is, the less a busy machine can mix them.
    ran = replayed(servers, foreign, schema, tmp_path / "general.log", "".join(texts), speed=0.1, connections=16)
    assert ran.summary.errors == 0 and rows(foreign, schema) == [], ran.summary.warnings


def test_a_clock_that_was_set_back_goes_on(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    """At the end of summer time; and a slow log that was opened again may be of a server that was restarted."""
    schema = table(foreign, "set_back")
    header = (
        "mysqld, Version: 8.0.15 (Source). started with:\nTcp port: 0  Unix socket: /s\nTime Id Command    Argument\n"
    )
    summer = SLOW.format(second=1, session=7, use=f"use {schema};\n", sql=INSERT.format("summer")).replace(
        "T01:", "T02:"
    )
    winter = SLOW.format(second=2, session=7, use="", sql=INSERT.format("winter"))
    log = tmp_path / "slow.log"
    ran = replayed(servers, foreign, schema, log, header + summer + header + winter, speed=1)
    told = " ".join(ran.summary.warnings)
    assert rows(foreign, schema) == ["summer", "winter"]
    # An hour too late is what is looked for; a busy machine may be late by some milliseconds.
    assert ran.summary.counters["lag_ms"] < 3_600_000 / 2, told
    assert f"{log}:13: its times go back" in told and f"{log}:10: the log was opened again here" in told, told
