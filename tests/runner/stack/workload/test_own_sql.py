"""The user's own statements on a real server: what they do there, what is counted, what is refused."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
from serverlab import Foreign, ServerLab

from flatwater.experiment.workload.sql.parameter import KINDS

SETUP: list[Any] = [
    "CREATE TABLE account (id INT PRIMARY KEY, owner VARCHAR(30), balance DECIMAL(12,2) NOT NULL, since DATETIME)",
    "CREATE TABLE payment (id BIGINT PRIMARY KEY, account INT NOT NULL, amount DECIMAL(8,2) NOT NULL, note TEXT)",
    {"sql": "INSERT INTO account VALUES (:new, :owner, 100, '2026-01-02 03:04:05')", "times": 500},
]
PARAMETERS: dict[str, Any] = {
    "new": {"kind": "sequence"},
    "owner": {"kind": "string", "length": 12},
    "id": {"kind": "zipf", "max": 500, "scrambled": True},
    "payment": {"kind": "sequence", "start_from": "SELECT COALESCE(MAX(id), 0) + 1 FROM payment"},
    "amount": {"kind": "uniform", "min": 0.01, "max": 9.99, "decimals": 2},
    "note": {"kind": "choice", "values": ["it's \\ :id ?", 'a "quote"', ""]},
}
PAY: dict[str, Any] = {
    "statements": [
        "INSERT INTO payment VALUES (:payment, :id, :amount, :note)",
        "UPDATE account SET balance = balance - :amount WHERE id = :id",
    ]
}
LOOK: dict[str, Any] = {"statements": ["SELECT * FROM account WHERE id = :id"], "autocommit": True}
OWN: dict[str, Any] = {
    "kind": "sql",
    "connections": 4,
    "duration_s": 1.5,
    "setup": SETUP,
    "transactions": {"look": LOOK, "pay": PAY},
    "parameters": PARAMETERS,
}


def own(**changes: Any) -> dict[str, Any]:
    """The workload with other transactions, and the parameters that they and the setup use."""
    workload = OWN | changes
    texts = str([workload["transactions"], workload.get("setup", [])])
    used = {name: source for name, source in workload["parameters"].items() if f":{name}" in texts}
    return workload | {"parameters": used}


@pytest.mark.parametrize("prepared", [True, False])
def test_transactions_do_what_they_say(servers: ServerLab, foreign: Foreign, prepared: bool) -> None:
    schema = foreign.schema(f"own{prepared}".lower())
    workload = own(allow_writes=True, prepared=prepared)
    ran = servers.go(workload, {"url": foreign.url(schema), "load": True})
    assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
    summary = ran.summary
    assert {*summary.latency_by_kind_us} == {"all", "look", "pay"} and summary.errors == 0
    assert summary.counters["queries"] >= summary.operations

    def value(sql: str) -> str:
        (row,) = foreign.instance.query(sql.format(account=f"{schema}.account", payment=f"{schema}.payment"))
        return row[0] or ""

    # Each payment has a number of its own, and was taken from an account: the whole of both is as before.
    assert value("SELECT COUNT(*) FROM {account}") == "500"
    assert value("SELECT SUM(balance) + (SELECT SUM(amount) FROM {payment}) FROM {account}") == "50000.00"
    assert int(value("SELECT COUNT(*) FROM {payment}")) >= summary.latency_by_kind_us["pay"].count > 0
    notes = value("SELECT GROUP_CONCAT(DISTINCT HEX(note)) FROM {payment}").split(",")
    assert {*notes} == {str(note).encode().hex().upper() for note in PARAMETERS["note"]["values"]}


def test_a_value_is_taken_from_an_earlier_statement(servers: ServerLab) -> None:
    since = {"kind": "column", "statement": "found", "column": "since"}
    missing = {"kind": "column", "statement": "nothing", "column": "balance"}
    checks = (
        "SELECT 1 / (:since = '2026-01-02 03:04:05' AND :missing IS NULL AND CAST(:id AS SIGNED) = :id) INTO @one",
    )
    statements = [
        {"sql": "SELECT id, balance, since FROM account WHERE id = :id", "name": "found"},
        {"sql": "SELECT balance FROM account WHERE id = -1", "name": "nothing"},
        *checks,
        # A wrong value divides by 0, and is an error here.
        "INSERT INTO payment SELECT UUID_SHORT(), :id, @one, ''",
    ]
    workload = own(
        transactions={"copy": {"statements": statements}},
        parameters=PARAMETERS | {"since": since, "missing": missing},
        on_connect=["SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO'"],
    )
    ran = servers.go(workload)
    assert (ran.code, ran.summary.errors) == (0, 0), ran.stderr
    assert ran.summary.latency_by_kind_us["copy"].count > 10


@pytest.mark.slow
def test_a_huge_result_takes_no_memory_and_the_next_statement_works(servers: ServerLab) -> None:
    # 500 x 100 rows of 2000 bytes: 100 MB a statement, which is more than a reply may have that is kept (64 MiB).
    huge = "SELECT REPEAT('x', 2000) FROM account a JOIN account b WHERE b.id <= 100"
    transactions = {"huge": {"statements": [huge, "SELECT 1"], "autocommit": True}}
    # One takes a second and more on a machine with other work.
    ran = servers.go(own(transactions=transactions, connections=1, duration_s=6.0))
    assert (ran.code, ran.summary.errors) == (0, 0), ran.stderr
    assert ran.summary.operations > 0


def test_errors_are_counted_by_number_and_too_many_fail_the_run(servers: ServerLab) -> None:
    twice = {"statements": ["INSERT INTO payment VALUES (1, 1, 1, '')"]}
    few = own(transactions={"look": LOOK | {"weight": 200}, "twice": twice})
    ran = servers.go(few)
    assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
    assert ran.summary.counters["error_1062"] == ran.summary.errors > 0
    assert any(
        "error 1062" in warning and "statements[0]: Duplicate entry" in warning and ".toml:" in warning
        for warning in ran.summary.warnings
    )
    many = servers.go(own(transactions={"look": LOOK, "twice": twice}))
    assert (many.code, many.cell["status"]) == (1, "failed")
    assert "errors_max_pct" in many.cell["error"]
    stopped = servers.go(few | {"on_error": "stop"})
    assert stopped.code == 1 and "(error 1062)" in stopped.stderr


def test_deadlocks_are_tried_again(servers: ServerLab) -> None:
    statements = [
        "UPDATE account SET balance = balance + 1 WHERE id = :id",
        "UPDATE account SET balance = balance - 1 WHERE id = :other",
    ]
    parameters = PARAMETERS | {"id": {"kind": "uniform", "max": 4}, "other": {"kind": "uniform", "max": 4}}
    ran = servers.go(own(transactions={"move": {"statements": statements}}, parameters=parameters, connections=8))
    assert (ran.code, ran.summary.errors) == (0, 0), ran.stderr
    assert ran.summary.counters["deadlocks"] > 0 and ran.summary.operations > 0


NUMBER = {"transactions": {"look": {"statements": ["SELECT :id"]}}}
FOUND = {"sql": "SELECT 1 AS a", "name": "found"}


def start_from(sql: str) -> dict[str, Any]:
    return NUMBER | {"parameters": PARAMETERS | {"id": {"kind": "sequence", "start_from": sql}}}


@pytest.mark.parametrize(
    ("changes", "place", "told"),
    [
        (
            {"transactions": {"a": LOOK, "b": {"statements": ["SELECT 1", "SELEC 1"]}}},
            "transactions.b.statements[1]",
            "syntax",
        ),
        (
            {"transactions": {"a": {"statements": ["SELECT 1 FROM nowhere"]}}},
            "transactions.a.statements[0]",
            "doesn't exist",
        ),
        (
            {"transactions": {"a": {"statements": ["SELECT x FROM account"]}}},
            "transactions.a.statements[0]",
            "Unknown column",
        ),
        (
            {
                "transactions": {
                    "a": {"statements": [{"sql": "SELECT id FROM account", "name": "f"}, "SELECT :other"]}
                },
                "parameters": PARAMETERS | {"other": {"kind": "column", "statement": "f", "column": "nope"}},
            },
            "transactions.a.statements[0]",
            "its result has no column nope",
        ),
        ({"setup": [*SETUP, "SELEC 1"]}, "setup[3]", "syntax"),
        ({"setup": [*SETUP, {"sql": "INSERT INTO nowhere VALUES (:new)", "times": 2}]}, "setup[3]", "doesn't exist"),
        ({"on_connect": ["SET NAMES utf8", "SET nothing = 1"]}, "on_connect[1]", "Unknown system variable"),
        (start_from("SELECT nothing"), "parameters.id.start_from", "Unknown column"),
        (start_from("SELECT NULL"), "parameters.id.start_from", "COALESCE"),
        (start_from("SELECT 'abc'"), "parameters.id.start_from", "no whole number"),
        (start_from("SELECT 1.5"), "parameters.id.start_from", "no whole number"),
        (start_from("SELECT id FROM account WHERE id < 0"), "parameters.id.start_from", "no whole number"),
    ],
)
def test_a_wrong_statement_is_told_with_its_line_before_anything_runs(
    servers: ServerLab, changes: dict[str, Any], place: str, told: str
) -> None:
    file = servers.write(own(**changes))
    ran = servers.run(file)
    assert ran.code == 2 and ran.error.count("workload.") == 1, ran.stderr
    said = re.fullmatch(
        rf"error: {re.escape(str(file))}:(\d+): workload\.{re.escape(place)}: (.*) \(hint: .*\)", ran.error
    )
    assert said is not None and (told in said[2] or told in ran.error), ran.stderr
    line = file.read_text().splitlines()[int(said[1]) - 1]
    of_tables = ("start_from", "INSERT INTO nowhere", 'name = "f"')
    assert line.strip(' ",') in str(changes) or any(text in line for text in of_tables), line


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("CREATE TABLE t (a INT);\nCREATE TABLE u (\n a INTT);\n", r"schema\.sql:2: Unknown data type"),
        ("CREATE TABLE t (a INT);\n\nINSERT INTO t VALUES ('abc;\n", r"schema\.sql:3: "),
        (None, r"/proc/self/mem cannot be read: input/output error"),
    ],
)
def test_what_is_wrong_with_a_file_of_the_setup_is_told_with_both_lines(
    servers: ServerLab, tmp_path: Path, content: str | None, told: str
) -> None:
    script = Path("/proc/self/mem") if content is None else tmp_path / "schema.sql"
    if content is not None:
        script.write_text(content)
    transactions = {"read": {"statements": ["SELECT 1"]}}
    file = servers.write(own(setup_file=str(script), setup=[], transactions=transactions, parameters={}))
    ran = servers.run(file)
    assert ran.code == 2, ran.stderr
    said = re.fullmatch(rf"error: {re.escape(str(file))}:(\d+): workload\.setup_file: (.*) \(hint: .*\)", ran.error)
    assert said is not None and re.search(told, said[2]), ran.stderr
    assert file.read_text().splitlines()[int(said[1]) - 1].startswith("setup_file = ")


@pytest.mark.slow
def test_a_file_makes_the_schema(servers: ServerLab, tmp_path: Path) -> None:
    file = tmp_path / "schema.sql"
    file.write_text(
        "-- a; dump\n/*!40101 SET NAMES utf8 */;\nCREATE TABLE t (id INT PRIMARY KEY, a TEXT);\n"
        "INSERT INTO t VALUES (1, 'one;'),\n (2, 'it''s \\' two');\n"
        "DELIMITER //\nCREATE PROCEDURE grow() BEGIN INSERT INTO t VALUES (3, ''); SELECT 1 INTO @a; END //\n"
        "DELIMITER ;\nCALL grow();\n"
    )
    transactions = {
        "read": {"statements": ["SELECT 1 / (COUNT(*) = 3) INTO @a FROM t", "SELECT 1"], "autocommit": True}
    }
    changes: dict[str, Any] = {"setup_file": str(file), "setup": [], "transactions": transactions, "parameters": {}}
    ran = servers.go(own(**changes))
    assert (ran.code, ran.summary.errors) == (0, 0), ran.stderr
    file.write_text("CREATE TABLE t (id INT);\n\nINSERT INTO nowhere\nVALUES (1);\n")
    failed = servers.go(own(**changes))
    assert failed.code == 2 and f"{file}:3: " in failed.stderr and "nowhere" in failed.stderr, failed.stderr
    file.write_text("CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1), (2), (3);\n")
    mended = servers.go(own(**changes))
    assert mended.code == 0, mended.stderr


def test_nothing_is_written_to_the_server_of_somebody_else(servers: ServerLab, foreign: Foreign) -> None:
    schema = foreign.schema("guarded")
    foreign.instance.query(f"CREATE TABLE {schema}.t (id INT)")
    foreign.instance.query(
        f"CREATE FUNCTION {schema}.sneaky() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO t VALUES (1); RETURN 1; END"
    )
    transactions = {"call": {"statements": ["SELECT sneaky()"], "autocommit": True}}
    workload = {"kind": "sql", "connections": 2, "duration_s": 1, "transactions": transactions}
    # MariaDB refuses to prepare it; as text it is refused in each transaction.
    ran = servers.go(workload, {"url": foreign.url(schema)})
    assert ran.code == 2 and "error 1792" in ran.error and "workload.allow_writes" in ran.error, ran.stderr
    ran = servers.go(workload | {"prepared": False}, {"url": foreign.url(schema)})
    assert ran.code == 1 and ran.summary.counters["error_1792"] > 0, ran.stderr
    # What a sequence starts from is asked for in such a session, too.
    parameters = {"id": {"kind": "sequence", "start_from": "SELECT sneaky()"}}
    looking = {"look": {"statements": ["SELECT id FROM t WHERE id = :id"]}}
    ran = servers.go(workload | {"transactions": looking, "parameters": parameters}, {"url": foreign.url(schema)})
    assert ran.code != 0 and "start_from" in ran.error and "error 1792" in ran.error, ran.stderr
    for freeing in ("START TRANSACTION READ WRITE", "SET `tx_read_only` = 0"):
        for changes in ({"on_connect": [freeing]}, {"transactions": {"call": {"statements": [freeing, "SELECT 1"]}}}):
            ran = servers.go(workload | changes, {"url": foreign.url(schema)})
            assert ran.code == 2 and "allow_writes" in ran.error, ran.stderr
    assert foreign.instance.query(f"SELECT COUNT(*) FROM {schema}.t") == [("0",)]


def test_a_schema_of_somebody_else_is_not_set_up(servers: ServerLab, foreign: Foreign) -> None:
    schema = foreign.schema("taken")
    foreign.instance.query(f"CREATE TABLE {schema}.theirs (id INT)")
    ran = servers.go(own(allow_writes=True), {"url": foreign.url(schema), "load": True})
    assert ran.code == 1 and "flatwater did not load it" in ran.stderr


def test_think_times_and_a_rate_set_the_pace(servers: ServerLab) -> None:
    thinking = servers.go(own(transactions={"look": LOOK | {"think": "50ms"}}, connections=2))
    assert thinking.code == 0 and 0 < thinking.summary.operations <= 2 * (1.5 / 0.05 + 2)
    paced = servers.go(own(rate_per_s=40))
    assert paced.code == 0 and 0 < paced.summary.operations <= 1.5 * 40 + 8


@pytest.mark.slow
def test_a_statement_that_never_returns_keeps_nobody_waiting(servers: ServerLab) -> None:
    sleeping = own(transactions={"sleep": {"statements": ["SELECT SLEEP(100000)"], "autocommit": True}}, connections=2)
    run = servers.start(servers.write(sleeping | {"duration_s": 86400}))
    run.until_recorded(2)
    ended = run.send(signal.SIGINT)
    assert ended.code == 130, ended.stderr


#: One parameter of each kind, and what its values are in SQL.
EACH: dict[str, tuple[dict[str, Any], str]] = {
    "uniform": ({"min": -5, "max": 5}, "v BETWEEN -5 AND 5"),
    "zipf": ({"min": 0.5, "max": 2.5, "decimals": 1, "theta": 1.2}, "v BETWEEN 0.5 AND 2.5 AND v LIKE '_._'"),
    "exponential": ({"max": 100, "rate": 3}, "v BETWEEN 1 AND 100"),
    "normal": ({"max": 100, "stddev": 10}, "v BETWEEN 1 AND 100"),
    "latest": ({"sequence": "sequence"}, "v >= 1"),
    "sequence": ({"start": 1000, "step": 10}, "v >= 1000 AND v MOD 10 = 0"),
    "constant": ({"value": "it's"}, "v = 'it''s'"),
    "choice": ({"values": [True, 2, "three"], "weights": [1, 1, 2]}, "v IN ('1', '2', 'three')"),
    "string": ({"length": 9, "characters": "ä'\\?"}, "CHAR_LENGTH(v) = 9"),
    "text": ({"length": 20, "min_length": 10}, "CHAR_LENGTH(v) BETWEEN 10 AND 20"),
    "now": ({}, "v BETWEEN NOW() - INTERVAL 1 DAY AND NOW() + INTERVAL 1 DAY"),
    "column": ({"statement": "found", "column": "what"}, "v = 'x;1'"),
}


@pytest.mark.parametrize("prepared", [True, False])
def test_every_kind_of_parameter_reaches_the_server(servers: ServerLab, foreign: Foreign, prepared: bool) -> None:
    assert {*EACH} == {*KINDS}
    schema = foreign.schema(f"each{prepared}".lower())
    into = "INSERT INTO drawn (kind, v) VALUES " + ", ".join(f"('{kind}', :{kind})" for kind in EACH)
    workload = {
        "kind": "sql",
        "connections": 2,
        "duration_s": 1,
        "prepared": prepared,
        "allow_writes": True,
        "on_connect": "SET NAMES utf8mb4",
        "setup": ["CREATE TABLE drawn (kind VARCHAR(20), v VARCHAR(60)) DEFAULT CHARSET utf8mb4"],
        "transactions": {"draw": {"statements": [{"sql": "SELECT 'x;1' AS what", "name": "found"}, into]}},
        "parameters": {kind: {"kind": kind} | fields for kind, (fields, _) in EACH.items()},
    }
    ran = servers.go(workload, {"url": foreign.url(schema), "load": True})
    assert (ran.code, ran.summary.errors) == (0, 0), ran.stderr
    assert ran.summary.operations > 0
    for kind, (_, holds) in EACH.items():
        wrong = f"SELECT COUNT(*), MIN(v) FROM {schema}.drawn WHERE kind = '{kind}' AND NOT COALESCE({holds}, FALSE)"
        assert foreign.instance.query(wrong)[0] == ("0", None), kind


def test_connections_are_made_again(servers: ServerLab) -> None:
    ran = servers.go(own(reconnect_every=2))
    assert (ran.code, ran.summary.errors) == (0, 0), ran.stderr
    made = ran.summary.latency_by_kind_us["connect"].count
    assert 0 < made <= ran.summary.operations / 2 + 4
    assert {*ran.summary.latency_by_kind_us} == {"all", "connect", "look", "pay"}


def test_what_other_verbs_cannot_say_of_it_is_told(servers: ServerLab) -> None:
    ran = servers.go(own())
    assert ran.code == 0, ran.stderr
    for arguments in (["what-if", ran.out], ["fit", "workload", ran.out, "--out", ran.out.with_suffix(".fit.toml")]):
        refused = servers.lab.flatwater(*arguments)
        assert refused.code == 2 and "its workload is sql: models have the tables" in refused.error
    for verb in ("advise", "report", "cost", "compare"):
        told = servers.lab.flatwater(verb, ran.out, *([ran.out] if verb == "compare" else []))
        assert told.code == 0, told.stderr


@pytest.mark.parametrize("place", ["setup", "on_connect", "start_from"])
def test_a_statement_that_keeps_the_start_waiting_is_interrupted(
    servers: ServerLab, foreign: Foreign, place: str
) -> None:
    schema = foreign.schema(f"waits_{place}")
    sleep = f"SELECT SLEEP(100000) AS {schema}"
    workload = own(transactions={"look": LOOK}, allow_writes=True)
    if place == "setup":
        workload["setup"] = [*SETUP, sleep]
    elif place == "on_connect":
        workload["on_connect"] = [sleep]
    else:
        workload["transactions"] = {"look": {"statements": ["SELECT :waits"]}}
        workload["parameters"] = workload["parameters"] | {"waits": {"kind": "sequence", "start_from": sleep}}
        del workload["parameters"]["id"]
    run = servers.start(servers.write(workload, {"url": foreign.url(schema), "load": True}))
    asked = f"SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(%{schema}'"
    run.until(lambda: foreign.instance.query(asked))
    ended = run.send(signal.SIGINT)
    assert ended.code == 130 and ended.at_once, ended.stderr


@pytest.mark.slow
def test_a_sequence_that_would_begin_again_is_not_gone_on_with(servers: ServerLab) -> None:
    """Its numbers are there: each INSERT would meet one (error 1062)."""
    number = {"payment": {"kind": "sequence"}}
    pay = {"pay": {"statements": ["INSERT INTO payment VALUES (:payment, 1, 1, '')"]}}
    file = servers.write(own(transactions=pay, parameters=PARAMETERS | number))
    run = servers.start(file)
    run.until_recorded(5)
    run.send(signal.SIGKILL)
    servers.until_gone()
    ran = servers.run(file, "--resume")
    assert ran.code == 0 and ran.summary.errors == 0, ran.stderr
    assert "the sequence payment would begin again at its start" in ran.stderr and list(
        (ran.out / "set-aside").iterdir()
    )


def test_a_sequence_with_a_start_of_its_own_is_gone_on_with(servers: ServerLab) -> None:
    file = servers.write(own(transactions={"pay": PAY}))
    run = servers.start(file)
    run.until_recorded(5)
    run.send(signal.SIGKILL)
    servers.until_gone()
    ran = servers.run(file, "--resume")
    assert ran.code == 0 and ran.summary.errors == 0, ran.stderr
    assert not (ran.out / "set-aside").exists()
