"""A query log that a real server wrote is replayed on another one."""

from __future__ import annotations

import io
import signal
from pathlib import Path
from typing import Any

import pytest
from lab import Ran
from serverlab import Foreign, ServerLab

from flatwater._engine import Run
from flatwater.experiment import load
from flatwater.plan.server import RealDatabase
from flatwater.results import open_result
from flatwater.runner.progress import start_reporter
from flatwater.runner.stack.layers.running import Running
from flatwater.runner.stack.workload.real.transactions import TransactionsOnServers
from flatwater.runner.sweep import run_experiment

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
    """A general log as MySQL 8 writes it. `Connect: shop` stands for the command Connect, `Quit:` for Quit."""
    path, lines = tmp_path / "general.log", []
    for second, session, sql in statements:
        command, argument = "Query", sql
        if sql.startswith("Connect:"):
            command, argument = "Connect", f"app@localhost on {sql.partition(' ')[2]} using Socket"
        elif sql == "Quit:":
            command, argument = "Quit", ""
        lines.append(f"2026-11-23T10:00:{second:02}.000000Z\t{session:5} {command}\t{argument}\n")
    path.write_text("".join(lines))
    return path


def replay(log: Path, **changes: Any) -> dict[str, Any]:
    return {"kind": "query-log", "log": str(log), "connections": 4, "errors_max_pct": 50} | changes


def table(foreign: Foreign, name: str) -> str:
    """A schema of this name with the table `t` and its two rows."""
    schema = foreign.schema(name)
    foreign.instance.query(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, a VARCHAR(30))")
    foreign.instance.query(f"INSERT INTO {schema}.t VALUES (1, 'one'), (2, 'two')")
    return schema


def rows(foreign: Foreign, schema: str) -> list[tuple[str | None, ...]]:
    return foreign.instance.query(f"SELECT a FROM {schema}.t ORDER BY id")


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "schema.sql"
    path.write_text(SCHEMA)
    return str(path)


def test_writes_are_replayed_only_when_allowed(
    servers: ServerLab, foreign: Foreign, tmp_path: Path, schema: str
) -> None:
    name = table(foreign, "replayed")
    log = general(tmp_path)
    ran = servers.go(replay(log, speed="asap"), {"url": foreign.url(name)})
    assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
    assert ran.summary.counters["writes_skipped"] == 2
    assert ran.summary.counters["error_1054"] == ran.summary.errors == 1
    assert ran.summary.latency_by_kind_us["select"].count == 3
    assert rows(foreign, name) == [("one",), ("two",)]
    again = servers.go(replay(log, speed="asap", allow_writes=True), {"url": foreign.url(name)})
    assert again.code == 0, again.stderr
    assert again.summary.counters["writes_skipped"] == 0 and again.summary.errors == 1
    assert rows(foreign, name) == [("x",), ("two",), ("it's; ' three",)]


def test_nothing_in_a_log_takes_the_guard_away(servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
    """A function that writes is behind each of these ways; the files are on the server's machine."""
    name = table(foreign, "guarded")
    wr = f"CREATE FUNCTION {name}.wr() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO t VALUES (3, 'x'); RETURN 1; END"
    foreign.instance.query(wr)
    ways = [
        ["START TRANSACTION READ WRITE", "SELECT wr()", "COMMIT"],
        ["SET `tx_read_only` = 0", "SELECT wr()"],
        ["SET @@session.`tx_read_only` = 0", "SELECT wr()"],
        ["SET sql_mode = 'ANSI_QUOTES'", 'SET SESSION "tx_read_only" = 0', "SELECT wr()"],
        [f"SELECT 1 /*!99999 ' */ INTO OUTFILE '{tmp_path}/one'"],
        ["SET sql_mode = 'NO_BACKSLASH_ESCAPES'", f"SELECT '\\' FROM t INTO OUTFILE '{tmp_path}/two' -- '"],
    ]
    log = general(tmp_path, [(number, 20 + number, sql) for number, way in enumerate(ways) for sql in way])
    ran = servers.go(replay(log, speed="asap", errors_max_pct=100), {"url": foreign.url(name)})
    assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
    assert rows(foreign, name) == [("one",), ("two",)]
    assert not (tmp_path / "one").exists() and not (tmp_path / "two").exists()
    # The one with a quote in a comment that some servers run may have no end: it is left out, and told.
    assert ran.summary.counters["writes_skipped"] == 5
    assert "1 entry of the log left out" in " ".join(ran.summary.warnings), ran.summary.warnings
    # ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, once for each call.
    assert ran.summary.counters["error_1792"] == 4


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
    """What MariaDB itself writes is read, and does the same again: also plans, and a log that was opened again."""
    name = foreign.schema("logged")
    path = tmp_path / "slow.log"
    tmp_path.chmod(0o777)
    query = foreign.instance.query
    query(f"CREATE TABLE {name}.t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(30))")
    query(f"SET GLOBAL slow_query_log_file = '{path}'")
    query("SET GLOBAL long_query_time = 0")
    if foreign.instance.binary.flavour == "mariadb":
        query("SET GLOBAL log_slow_verbosity = 'query_plan,explain'")
    query("SET GLOBAL slow_query_log = 1")
    try:
        for number in range(1, 6):
            query(f"INSERT INTO {name}.t (a) VALUES (\n 'line {number}')")
            if number == 3:
                query("FLUSH SLOW LOGS")
        query(f"SELECT * FROM {name}.t WHERE a LIKE 'line%'")
    finally:
        query("SET GLOBAL slow_query_log = 0")
        query("SET GLOBAL long_query_time = 10")
        if foreign.instance.binary.flavour == "mariadb":
            query("SET GLOBAL log_slow_verbosity = ''")
    told = path.read_text()
    assert told.count("started with:") == 2, told
    assert foreign.instance.binary.flavour != "mariadb" or "\n#\n# explain: " in told
    query(f"TRUNCATE {name}.t")
    work = replay(path, allow_writes=True, connections=1, on_error="stop")
    ran = servers.go(work, {"url": foreign.url(name)})
    assert ran.code == 0, ran.stderr
    assert ran.summary.errors == 0 and ran.summary.latency_by_kind_us["insert"].count == 5
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
    # 1153 is the server's number for what is longer than a packet.
    assert ran.summary.counters["error_1153"] == 1 and ran.summary.errors == 1, ran.summary.counters
    assert ran.summary.operations == 2
    line = path.read_bytes().count(b"\n") - 1
    told = f"2 entries of the log left out; the first is {path}:{line}: zero bytes"
    assert told in ran.summary.warnings, ran.summary.warnings


@pytest.mark.slow
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


def test_it_ends_with_its_log_or_tells_how_much_was_left(servers: ServerLab, tmp_path: Path, schema: str) -> None:
    log = general(tmp_path)
    whole = servers.go(replay(log, setup_file=schema))
    assert whole.code == 0 and not any("not replayed" in warning for warning in whole.summary.warnings), whole.stderr
    cut = servers.go(replay(log, setup_file=schema, duration_s=0.5))
    assert cut.code == 0, cut.stderr
    (told,) = [warning for warning in cut.summary.warnings if "not replayed" in warning]
    # A busy machine ends it a moment later.
    assert "s of its 2 s were" in told and "the last 0 s" not in told and "workload.duration_s" in told


class EndsAtOnce:
    """A run whose last interval is over a moment after it began: a machine without time to spare gave it no more."""

    def __init__(self, run: Running) -> None:
        self._run = run

    def next_interval(self, timeout_s: float) -> Any:
        interval = self._run.next_interval(timeout_s)
        # The log's first statements are done at its start, the last ones at its end.
        if interval is not None and interval["start_s"] > 0 and any(done for done, *_ in interval["totals"].values()):
            return interval | {"start_s": interval["end_s"] - 0.01}
        return interval

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


def test_the_last_statements_count_in_however_short_an_interval(
    servers: ServerLab, tmp_path: Path, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: TransactionsOnServers, plan: RealDatabase, after: Run | None = None) -> EndsAtOnce:
        return EndsAtOnce(as_it_is(self, plan, after))

    as_it_is = TransactionsOnServers.start
    monkeypatch.setattr(TransactionsOnServers, "start", start)
    # Without the one that fails: an interval with a failure counts in any run.
    log = general(tmp_path, [entry for entry in STATEMENTS if "nothing" not in entry[2]])
    file = servers.write(replay(log, setup_file=schema, allow_writes=True), interval_s=0.5)
    outcome = run_experiment(load(file), tmp_path / "out", start_reporter(io.StringIO()), lambda *_: None)
    assert outcome.status == "complete"
    summary = open_result(tmp_path / "out").cells[0].summary
    assert summary is not None and summary.operations == 5


class TestSchemas:
    def test_an_own_server_has_the_schema_that_the_log_names(
        self, servers: ServerLab, tmp_path: Path, schema: str
    ) -> None:
        log = general(tmp_path, [(0, 7, "Connect: shop"), (0, 7, "SELECT a FROM t"), (0, 8, "SELECT a FROM shop.t")])
        ran = servers.go(replay(log, setup_file=schema, speed="asap"))
        assert ran.code == 0 and ran.summary.errors == 0 and ran.summary.operations == 2, ran.stderr

    def test_a_log_whose_schemas_are_not_there_is_refused(
        self, servers: ServerLab, foreign: Foreign, tmp_path: Path, schema: str
    ) -> None:
        two = [(0, 7, "Connect: shop"), (0, 7, "SELECT 1"), (0, 8, "Connect: stock"), (0, 8, "SELECT 1")]
        log = general(tmp_path, two)
        ran = servers.go(replay(log, setup_file=schema))
        assert ran.code == 2 and "`shop` or `stock`" in ran.error and "database.schema_name" in ran.error, ran.stderr
        ran = servers.go(replay(log), {"url": foreign.url(foreign.schema("another"))})
        assert ran.code == 2 and "`shop` or `stock`" in ran.error, ran.stderr

    def test_a_setup_may_make_them(self, servers: ServerLab, tmp_path: Path, schema: str) -> None:
        made = tmp_path / "both.sql"
        made.write_text("".join(f"CREATE DATABASE {name}; USE {name}; {SCHEMA}" for name in ("shop", "stock")))
        two = [(0, 7, "Connect: shop"), (0, 7, "SELECT a FROM t"), (0, 8, "Connect: stock"), (0, 8, "SELECT a FROM t")]
        ran = servers.go(replay(general(tmp_path, two), setup_file=str(made), speed="asap"))
        assert ran.code == 0 and ran.summary.errors == 0, ran.stderr

    @pytest.mark.parametrize("of_url", [True, False])
    def test_a_statement_without_one_is_not_run_in_that_of_another(
        self, servers: ServerLab, foreign: Foreign, tmp_path: Path, of_url: bool
    ) -> None:
        own, other = table(foreign, "own"), table(foreign, "another")
        statements = [(0, 7, f"Connect: {other}"), (0, 7, "SELECT 1"), (0, 8, "DELETE FROM t")]
        url = foreign.url(own) if of_url else foreign.url("").replace("&schema=", "")
        work = replay(general(tmp_path, statements), speed="asap", allow_writes=True, connections=1, errors_max_pct=100)
        ran = servers.go(work, {"url": url})
        assert ran.code == 0, ran.stderr
        assert len(rows(foreign, other)) == 2
        assert len(rows(foreign, own)) == (0 if of_url else 2)
        # ER_NO_DB_ERROR: no schema is open.
        assert ran.summary.counters.get("error_1046", 0) == (0 if of_url else 1)

    def test_a_connection_that_has_none_any_more(self, servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
        other, log = table(foreign, "another"), tmp_path / "slow.log"
        entry = (
            "# User@Host: a[a] @ localhost []\n# Thread_id: 7  Schema: {}\n# Query_time: 0.0\nSET timestamp=9;\n{};\n"
        )
        log.write_text(entry.format(other, "SELECT 1") + entry.format(" QC_hit: No", "DELETE FROM t"))
        work = replay(log, speed="asap", allow_writes=True, connections=1, errors_max_pct=100)
        ran = servers.go(work, {"url": foreign.url("").replace("&schema=", "")})
        assert ran.code == 0 and ran.summary.counters["error_1046"] == 1, ran.stderr
        assert len(rows(foreign, other)) == 2


class TestConnections:
    def replayed(self, servers: ServerLab, foreign: Foreign, name: str, statements: list[tuple[int, int, str]]) -> Ran:
        work = replay(general(servers.lab.folder, statements), speed="asap", allow_writes=True, connections=1)
        ran = servers.go(work, {"url": foreign.url(name)})
        assert ran.code == 0, ran.stderr
        return ran

    def test_a_recorded_connection_leaves_nothing_to_the_next_one(self, servers: ServerLab, foreign: Foreign) -> None:
        name = table(foreign, "leaves")
        left = ["SET autocommit = 0", "SET @a = 5", "CREATE TEMPORARY TABLE u (a INT)", "UPDATE t SET a = 'x'"]
        found = ["UPDATE t SET a = CONCAT(a, IFNULL(@a, '!')) WHERE id = 2", "CREATE TABLE u (a INT)"]
        statements = [*((0, 7, sql) for sql in left), *((0, 71, sql) for sql in found)]
        ran = self.replayed(servers, foreign, name, statements)
        assert rows(foreign, name) == [("one",), ("two!",)]
        assert ran.summary.errors == 0
        assert (ran.summary.counters["resets"], ran.summary.counters["mixed"]) == (1, 0)

    def test_a_number_that_is_given_again_is_another_connection(self, servers: ServerLab, foreign: Foreign) -> None:
        name = table(foreign, "again")
        statements = [
            *[(0, 7, sql) for sql in ("BEGIN", "UPDATE t SET a = 'x'", "Quit:", f"Connect: {name}")],
            (0, 7, "UPDATE t SET a = CONCAT(a, '!')"),
        ]
        ran = self.replayed(servers, foreign, name, statements)
        assert rows(foreign, name) == [("one!",), ("two!",)] and ran.summary.counters["resets"] == 1

    def test_two_that_were_open_together_share_a_session_and_it_is_told(
        self, servers: ServerLab, foreign: Foreign
    ) -> None:
        name = table(foreign, "together")
        statements = [
            (0, 7, "BEGIN"),
            (0, 8, "SELECT 1"),
            (0, 7, "UPDATE t SET a = 'x'"),
            (0, 8, "SELECT 1"),
            (0, 7, "COMMIT"),
            (0, 8, "SELECT 1"),
        ]
        ran = self.replayed(servers, foreign, name, statements)
        assert rows(foreign, name) == [("x",), ("x",)]
        assert ran.summary.counters["resets"] == 0 and ran.summary.counters["mixed"] >= 4
        assert any("another recorded connection was using" in warning for warning in ran.summary.warnings)


#: Some in each of three seconds.
INSERTS = [
    (second, 7, f"INSERT INTO t VALUES ({10 * second + number}, 'new')")
    for second in range(1, 4)
    for number in range(5)
]


class TestKilled:
    """A replay has no place in its log to go on from: what it wrote must not be written twice."""

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
    def test_on_an_own_server_it_begins_anew_with_new_data(
        self, servers: ServerLab, tmp_path: Path, schema: str, number: signal.Signals
    ) -> None:
        log = general(tmp_path, INSERTS)
        file = servers.write(replay(log, setup_file=schema, allow_writes=True))
        run = servers.start(file)
        run.until_recorded(8)
        run.send(number)
        servers.until_gone()
        ran = servers.run(file, "--resume")
        assert ran.code == 0 and "a replay begins at the beginning of its log" in ran.stderr, ran.stderr
        (kept,) = (ran.out / "set-aside").iterdir()
        assert str(kept) in ran.stderr
        assert ran.summary.errors == 0 and ran.summary.operations == len(INSERTS)
        servers.check_clean()

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
    @pytest.mark.parametrize("intervals", [0, 5])
    def test_on_the_server_of_a_url_it_is_not_begun_again(
        self, servers: ServerLab, foreign: Foreign, tmp_path: Path, number: signal.Signals, intervals: int
    ) -> None:
        name = table(foreign, "killed")
        log = general(tmp_path, INSERTS)
        interval_s = 0.1 if intervals else 60.0
        file = servers.write(replay(log, allow_writes=True), {"url": foreign.url(name)}, interval_s=interval_s)
        run = servers.start(file)
        run.until_recorded(intervals)
        run.until(lambda: len(rows(foreign, name)) > 2)
        run.send(number)
        before = rows(foreign, name)
        for _ in range(2):
            ran = servers.run(file, "--resume")
            assert ran.code == 1 and "cannot be resumed: a replay begins at the beginning" in ran.error, ran.stderr
            assert "put its data back" in ran.error
            assert rows(foreign, name) == before
        assert not (ran.out / "set-aside").exists()

    def test_one_that_only_reads_is_begun_again(self, servers: ServerLab, foreign: Foreign, tmp_path: Path) -> None:
        name = table(foreign, "readagain")
        log = general(tmp_path, [(second, 7, "SELECT a FROM t") for second in range(3)])
        file = servers.write(replay(log), {"url": foreign.url(name)})
        run = servers.start(file)
        run.until_recorded(5)
        run.send(signal.SIGKILL)
        ran = servers.run(file, "--resume")
        assert ran.code == 0 and ran.summary.operations == 3, ran.stderr
