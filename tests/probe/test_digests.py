"""Looks at a server's digests, on a server of the test's own words."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import cast

import pytest

from flatwater._engine import Connection, EngineError
from flatwater.probe.server.digests import SAMPLES_MAX, TRIES_MAX, DigestLooks
from flatwater.probe.server.spacing import PERIOD_MAX_S, SHARE_MAX
from flatwater.results.digests import Form

Row = tuple[str | None, ...]
#: A statement of 2^24 bytes does not fit; neither does a tenth of it into what servers keep.
LONG = "SELECT '" + "x" * 100_000


@dataclass
class Server:
    """Answers the questions of a look."""

    #: (schema, digest) -> count, picoseconds, when it was first seen.
    digests: dict[tuple[str | None, str | None], tuple[int, int, int]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    history: list[Row] = field(default_factory=list)
    query_samples: dict[str, str] | None = None
    on: tuple[str, ...] = ("events_statements_current", "events_statements_history")
    refuses: str = ""
    lost: bool = False
    asked: list[str] = field(default_factory=list)

    def query(self, sql: str) -> list[Row]:
        self.asked.append(sql)
        if self.lost:
            raise EngineError("the connection is lost")
        if sql == "SELECT 1":
            return [("1",)]
        if self.refuses:
            raise EngineError(self.refuses)
        if "COUNT_STAR" in sql:
            return [(*key, *map(str, told)) for key, told in self.digests.items()]
        if "DIGEST_TEXT" in sql:
            return [(key[0], key[1], self.texts[key[1]]) for key in self.digests if key[1] and f"'{key[1]}'" in sql]
        if "max_sql_text_length" in sql:
            return [("performance_schema_max_sql_text_length", "1024")]
        if "setup_consumers" in sql:
            return [(name, "YES") for name in self.on]
        if "SHOW COLUMNS" in sql:
            return [("QUERY_SAMPLE_TEXT", "longtext")] if self.query_samples is not None else []
        if "QUERY_SAMPLE_TEXT" in sql:
            assert self.query_samples is not None
            return [("s", digest, text) for digest, text in self.query_samples.items() if f"'{digest}'" in sql]
        return [row for row in self.history if f"'{row[1]}'" in sql]

    def ran(self, digest: str | None, times: int, schema: str | None = "s") -> None:
        count, timer, first = self.digests.get((schema, digest), (0, 0, 100))
        self.digests[schema, digest] = count + times, timer + times * 2_000_000, first


def look(looks: DigestLooks, server: Server) -> int:
    return looks.look(cast(Connection, server), last=True)


@pytest.fixture
def server() -> Server:
    server = Server(
        texts={"aa": "SELECT `a` FROM `t` WHERE `id` = ?", "bb": "COMMIT", "cc": "INSERT INTO `t` VALUES (?)"}
    )
    for digest in ("aa", "bb"):
        server.ran(digest, 5)
    return server


def test_only_what_ran_between_two_looks_counts(server: Server) -> None:
    looks = DigestLooks(samples=False)
    assert look(looks, server) == 1 and looks.take() == []
    server.ran("aa", 3)
    assert look(looks, server) == 2
    (found,) = looks.take()
    assert found.counts == [(1, 3, 6.0)] and found.samples == []
    assert found.forms == [Form(1, "s", "aa", "SELECT `a` FROM `t` WHERE `id` = ?")]
    assert "LAST_SEEN" in server.asked[-2] and "LAST_SEEN" not in server.asked[0]
    server.ran("aa", 1)
    server.ran("cc", 2)
    look(looks, server)
    (found,) = looks.take()
    # A form is described once. One that is new counts from its beginning.
    assert found.counts == [(1, 1, 2.0), (3, 2, 4.0)] and [form.digest for form in found.forms] == ["cc"]
    look(looks, server)
    assert looks.take() == []


@pytest.mark.parametrize("later", [2, 5, 9])
def test_a_table_that_was_emptied_counts_from_nothing(server: Server, later: int) -> None:
    looks = DigestLooks(samples=False)
    look(looks, server)
    # Also where it is past the old count already: the time when it was first seen is another.
    server.digests = {("s", "aa"): (later, later * 2_000_000, 200)}
    look(looks, server)
    (found,) = looks.take()
    assert found.counts == [(1, later, later * 2.0)]
    server.ran("aa", 1)
    look(looks, server)
    assert looks.take()[0].counts == [(1, 1, 2.0)]


def test_statements_for_which_there_was_no_room(server: Server) -> None:
    looks = DigestLooks(samples=True)
    look(looks, server)
    server.ran(None, 7, schema=None)
    look(looks, server)
    (found,) = looks.take()
    assert found.counts == [(3, 7, 14.0)] and found.forms == [Form(3, "", "", "", "no-room")] and found.samples == []


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("SELECT ? + ?", ""),
        ("( SELECT ? ) UNION ( SELECT ? )", ""),
        ("WITH `a` AS ( SELECT ? ) SELECT * FROM `a`", ""),
        ("CALL `p` ( ? )", ""),
        ("COMMIT", "session"),
        ("SET `autocommit` = ?", "session"),
        ("CREATE USER ? @? IDENTIFIED BY ?", "session"),
        ("LOCK TABLES `t` WRITE", "session"),
        ("KILL ?", "session"),
        ("", "session"),
        ("SHOW GLOBAL STATUS WHERE `Variable_name` IN (...)", "own"),
        ("SHOW GLOBAL STATUS WHERE Variable_name IN (?, ...)", "own"),
        ("SELECT NAME , COUNT FROM `information_schema` . `INNODB_METRICS` WHERE NAME IN (...)", "own"),
        ("SELECT * FROM `performance_schema` . `events_statements_summary_by_digest`", "own"),
        ("SHOW GLOBAL VARIABLES WHERE `Variable_name` = ?", "own"),
        ("SELECT NAME , `ENABLED` FROM `performance_schema` . `setup_consumers`", "own"),
        ("SHOW ENGINE INNODB STATUS", "own"),
        ("SHOW ENGINE `INNODB` STATUS", "own"),
        ("SHOW ALL SLAVES STATUS", "own"),
        ("SHOW REPLICA STATUS", "own"),
        ("SHOW SLAVE STATUS", "own"),
        ("SHOW ENGINES", ""),
        ("SHOW TABLES", ""),
    ],
)
def test_what_is_never_sent_again(server: Server, text: str, left_out: str) -> None:
    looks = DigestLooks(samples=True)
    look(looks, server)
    server.texts["aa"] = text
    server.history = [("s", "aa", "SELECT 'a value'")]
    server.ran("aa", 1)
    look(looks, server)
    (found,) = looks.take()
    assert found.forms[0].left_out == left_out
    # Of what is not sent no value is kept.
    assert bool(found.samples) == (not left_out)


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("SELECT 'ü', \"it's\"", True),
        ("SELECT 'x...", False),
        ("SELECT '" + "x" * 1006 + "'", True),
        ("SELECT '" + "x" * 1007 + "'", False),
        (LONG, False),
        ("SELECT '\ufffd\ufffd'", False),
    ],
)
def test_a_part_of_a_statement_is_no_sample(server: Server, sql: str, *, kept: bool) -> None:
    looks = DigestLooks(samples=True)
    look(looks, server)
    server.ran("aa", 1)
    server.history = [("s", "aa", sql)]
    look(looks, server)
    assert looks.take()[0].samples == [(1, sql if kept else None)]


def test_samples_have_an_end_and_so_have_the_questions(server: Server) -> None:
    looks = DigestLooks(samples=True)
    look(looks, server)
    found = []
    for number in range(3 * TRIES_MAX):
        server.ran("aa", 1)
        server.history = [
            ("s", "aa", f"SELECT a FROM t WHERE id = {number}"),
            ("s", "aa", "SELECT a FROM t WHERE id = 0"),
        ]
        look(looks, server)
        found += looks.take()[0].samples
    assert len(found) == SAMPLES_MAX == len(set(found))
    server.ran("aa", 1)
    assert look(looks, server) == 1
    # One of which there is none is not asked for for ever.
    other = DigestLooks(samples=True)
    server.history = []
    look(other, server)
    for _ in range(TRIES_MAX + 1):
        server.ran("aa", 1)
        look(other, server)
    server.ran("aa", 1)
    assert look(other, server) == 1


def test_mysqls_own_sample_needs_no_history(server: Server) -> None:
    server.on, server.query_samples = (), {"aa": "SELECT a FROM t WHERE id = 7"}
    looks = DigestLooks(samples=True)
    look(looks, server)
    server.ran("aa", 1)
    look(looks, server)
    assert looks.take()[0].samples == [(1, "SELECT a FROM t WHERE id = 7")] and looks.gap is None


@pytest.mark.parametrize("on", [(), ("events_statements_history",)])
def test_a_server_that_keeps_no_statements(server: Server, on: tuple[str, ...]) -> None:
    server.on = on
    looks = DigestLooks(samples=True)
    look(looks, server)
    server.ran("aa", 1)
    look(looks, server)
    assert looks.take()[0].samples == []
    assert looks.gap is not None and "events_statements_history" in looks.gap.remedy


def test_a_server_that_refuses_is_left_alone(server: Server) -> None:
    server.refuses = "SELECT command denied (error 1142)"
    looks = DigestLooks(samples=True)
    assert look(looks, server) == 2 and looks.take() == []
    assert looks.look(cast(Connection, server)) == 0


def test_a_connection_that_is_lost_is_told_and_nothing_else_is(server: Server) -> None:
    looks = DigestLooks(samples=True)
    look(looks, server)
    server.ran("aa", 2)
    server.lost = True
    with pytest.raises(EngineError, match="lost"):
        look(looks, server)
    server.lost = False
    look(looks, server)
    assert looks.take()[0].counts == [(1, 2, 4.0)]


def test_long_looks_are_rare(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("flatwater.probe.server.spacing.time.monotonic", lambda: clock[0])
    looks, takes_s = DigestLooks(samples=False), 0.01
    answer = server.query

    def slowly(sql: str) -> list[Row]:
        clock[0] += takes_s
        return answer(sql)

    monkeypatch.setattr(server, "query", slowly)

    def times(seconds: int) -> int:
        end, done = clock[0] + seconds, 0
        while clock[0] < end:
            done += looks.look(cast(Connection, server)) > 0
            clock[0] += 1
        return done

    looks.look(cast(Connection, server))
    # One every 5 s.
    assert times(100) == pytest.approx(100 * SHARE_MAX / takes_s, abs=2)
    takes_s = 10.0
    assert 1 <= times(600) <= 600 / PERIOD_MAX_S + 2


def test_a_look_that_waits_for_its_server_keeps_nobody_else_waiting(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = DigestLooks(samples=False)
    look(looks, server)
    server.ran("aa", 1)
    look(looks, server)
    asked, answered = threading.Event(), threading.Event()

    def never(sql: str) -> list[Row]:
        asked.set()
        answered.wait()
        return []

    monkeypatch.setattr(server, "query", never)
    waiting = threading.Thread(target=look, args=(looks, server))
    waiting.start()
    try:
        asked.wait()
        assert len(looks.take()) == 1
        assert look(looks, server) == 0
    finally:
        answered.set()
        waiting.join()
