"""What a server's statements did since the last look, by their forms (digests), again and again; and samples of them.

A look reads the forms that ran since the one before. The server goes through its whole table for that, which may have
ten thousand rows: the longer a look takes, the rarer looks are. In a replay each is spread evenly over its distance.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from flatwater._engine import Connection, EngineError
from flatwater.probe.server.spacing import Spacing
from flatwater.probe.server.statements import TEXT_CHARACTERS_MAX
from flatwater.results.digests import Form, Look
from flatwater.results.observation import Gap

#: The shortest distance of two looks, seconds.
PERIOD_MIN_S = 1.0
#: A server that has no digests is asked again after this time, seconds: it may have been started anew.
AGAIN_S = 60.0
#: How long the last look waits for one that is under way, seconds.
LOCK_S = 0.5
#: The server's clock and ours are compared with this slack, seconds.
SLACK_S = 2
#: Samples of one form, and how often one is looked for.
SAMPLES_MAX, TRIES_MAX = 8, 16
#: Forms of which a look asks for texts and samples, the most frequent first. The others have their turn in later looks.
ASKED_MAX = 200
#: What MySQL 5.6 and MariaDB before 10.5 keep of a statement (later `performance_schema_max_sql_text_length`).
SQL_TEXT_BYTES = 1024
#: A cut statement may be shorter than the limit by the dots at its end and a part of a character.
CUT_SLACK_BYTES = 8
#: Statements that say by themselves what they do. All others belong to a session or a transaction, or are no work on
#: rows.
_ALONE = {
    *("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES", "TABLE", "CALL", "DO"),
    *("SHOW", "DESCRIBE", "DESC", "EXPLAIN"),
}
_WORD = re.compile(r"[\s(]*([A-Za-z]+)")
#: flatwater's own questions, without white space and quotes, in capitals.
_OWN = re.compile(
    r"PERFORMANCE_SCHEMA\.(EVENTS_STATEMENTS_|SETUP_CONSUMERS)|INFORMATION_SCHEMA\.INNODB_METRICS|"
    r"^SHOWGLOBAL(STATUSWHEREVARIABLE_NAMEIN|VARIABLESWHEREVARIABLE_NAME)|^SHOWENGINEINNODBSTATUS$|"
    r"^SHOW(ALLSLAVES|SLAVE|REPLICA)STATUS$"
)
_TABLE = "performance_schema.events_statements_summary_by_digest"
#: Where servers keep statements as they were sent, by the consumer that must be on, the best first.
_HISTORIES = ("events_statements_history", "events_statements_history_long", "events_statements_current")
#: Schema and digest; no digest: the row of all statements for which the table had no room.
Key = tuple[str, str]


@dataclass
class _Seen:
    """A form and its counters at the last look."""

    number: int
    count: int
    timer: int
    first_seen: str
    told: bool = False
    left_out: str = ""
    tries: int = 0
    samples: set[str | None] = field(default_factory=set)

    @property
    def wants_sample(self) -> bool:
        whole = len(self.samples) < SAMPLES_MAX and self.tries < TRIES_MAX
        return whole and not self.left_out


class DigestLooks:
    """Looks at one server's digests over whichever connection it is handed."""

    def __init__(self, *, samples: bool) -> None:
        """`samples`: statements are kept as clients sent them, with their values."""
        self._samples = samples
        self._lock = threading.Lock()
        self._seen: dict[Key, _Seen] = {}
        #: Not under the lock, which a look at a frozen server holds.
        self._found: deque[Look] = deque()
        self._looked_at_s: float | None = None
        self._spacing = Spacing(PERIOD_MIN_S)
        self._asked = 0
        #: Where samples are; None before that is known.
        self._sources: tuple[str, ...] | None = None
        self._bytes_max = SQL_TEXT_BYTES
        #: Why no sample can be had; None if some can, or nobody asked.
        self.gap: Gap | None = None

    def take(self) -> list[Look]:
        """What was found since the last call."""
        found = []
        while self._found:
            found.append(self._found.popleft())
        return found

    def look(self, connection: Connection, *, last: bool = False) -> int:
        """Looks, if it is time to or it is the `last` look; how many statements it sent.

        Errors: EngineError if the connection is lost.
        """
        if not self._lock.acquire(timeout=LOCK_S):
            return 0  # another look still waits for the server
        try:
            begun_s, self._asked = time.monotonic(), 0
            if not self._spacing.is_due() and not last:
                return 0
            try:
                self._look(connection)
                self._spacing.asked(begun_s, time.monotonic() - begun_s)
            except EngineError:
                # Raises if the connection is lost. A server that refuses has no digests for us now.
                self._ask(connection, "SELECT 1")
                self._spacing.put_off(begun_s, AGAIN_S)
            return self._asked
        finally:
            self._lock.release()

    def _ask(self, connection: Connection, question: str) -> list[tuple[str | None, ...]]:
        self._asked += 1
        return connection.query(question)

    def _look(self, connection: Connection) -> None:
        before_s, since = self._looked_at_s, ""
        if before_s is not None:
            past_s = int(time.monotonic() - before_s) + 1 + SLACK_S
            since = f" WHERE UNIX_TIMESTAMP(LAST_SEEN) >= UNIX_TIMESTAMP() - {past_s}"
        columns = "SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, UNIX_TIMESTAMP(FIRST_SEEN)"
        rows = self._ask(connection, f"SELECT {columns} FROM {_TABLE}{since}")  # noqa: S608 (ours)
        now_s = self._looked_at_s = time.monotonic()
        counts: dict[Key, tuple[int, int, float]] = {}
        for key, count, timer, first_seen in _numbers(rows):
            was = self._seen.get(key)
            # A table that was emptied, or a server that was started anew, counts from the beginning again.
            again = was is None or was.first_seen != first_seen or count < was.count or timer < was.timer
            ran, took = (count, timer) if was is None or again else (count - was.count, timer - was.timer)
            if was is None:
                was = self._seen[key] = _Seen(len(self._seen) + 1, count, timer, first_seen)
            was.count, was.timer, was.first_seen = count, timer, first_seen
            if before_s is not None and ran > 0:
                counts[key] = was.number, ran, round(took / 1e6, 1)
        if before_s is None:
            return
        forms, samples = self._ask_more(connection, sorted(counts, key=lambda key: -counts[key][1]))
        if counts or forms or samples:
            self._found.append(Look(before_s, now_s, list(counts.values()), forms, samples))

    def _ask_more(self, connection: Connection, keys: list[Key]) -> tuple[list[Form], list[tuple[int, str | None]]]:
        """Texts of forms that are new, and samples where they are wanted."""
        forms = []
        for key in keys:
            if not key[1] and not self._seen[key].told:
                self._seen[key].told, self._seen[key].left_out = True, "no-room"
                forms.append(Form(self._seen[key].number, key[0], "", "", "no-room"))
        new = [key for key in keys if key[1] and not self._seen[key].told][:ASKED_MAX]
        text = f"LEFT(DIGEST_TEXT, {TEXT_CHARACTERS_MAX})"
        for row in self._rows_of(connection, f"SCHEMA_NAME, DIGEST, {text}", _TABLE, new):
            seen = self._seen.get((row[0] or "", row[1] or ""))
            if seen is not None and not seen.told:
                told = " ".join((row[2] or "").split())
                seen.told, seen.left_out = True, _left_out(told)
                forms.append(Form(seen.number, row[0] or "", row[1] or "", told, seen.left_out))
        return forms, self._ask_for_samples(connection, keys) if self._samples else []

    def _ask_for_samples(self, connection: Connection, keys: list[Key]) -> list[tuple[int, str | None]]:
        if self._sources is None:
            self._sources = self._find_sources(connection)
        wanted = [key for key in keys if self._seen[key].told and self._seen[key].wants_sample][:ASKED_MAX]
        found: list[tuple[int, str | None]] = []
        for source in self._sources:
            for row in self._rows_of(connection, source.partition("|")[2], source.partition("|")[0], wanted):
                seen = self._seen.get((row[0] or "", row[1] or ""))
                sql = _whole(row[2] or "", self._bytes_max)
                if row[2] and seen is not None and seen.wants_sample and sql not in seen.samples:
                    seen.samples.add(sql)
                    found.append((seen.number, sql))
        for key in wanted:
            self._seen[key].tries += 1
        return found

    def _rows_of(
        self, connection: Connection, columns: str, table: str, keys: list[Key]
    ) -> list[tuple[str | None, ...]]:
        # A digest is a hash in hexadecimal digits. Whatever else a server tells is not asked for.
        digests = sorted({digest for _, digest in keys if digest.isalnum()})
        if not digests:
            return []
        words = ", ".join(f"'{digest}'" for digest in digests)
        rows = self._ask(connection, f"SELECT {columns} FROM {table} WHERE DIGEST IN ({words})")  # noqa: S608 (ours)
        return [row for row in rows if len(row) >= 3]

    def _find_sources(self, connection: Connection) -> tuple[str, ...]:
        """The tables that have statements as clients sent them, each with the columns to ask for."""
        question = "SHOW GLOBAL VARIABLES WHERE Variable_name = 'performance_schema_max_sql_text_length'"
        for _, value in (row[:2] for row in self._ask(connection, question) if len(row) >= 2):
            self._bytes_max = int(value) if value and value.isdecimal() else self._bytes_max
        question = "SELECT NAME, ENABLED FROM performance_schema.setup_consumers"
        rows = self._ask(connection, question)
        on = {row[0] for row in rows if len(row) >= 2 and row[1] == "YES"}
        sources = []
        question = f"SHOW COLUMNS FROM {_TABLE} LIKE 'QUERY_SAMPLE_TEXT'"
        if self._ask(connection, question):
            sources.append(f"{_TABLE}|SCHEMA_NAME, DIGEST, QUERY_SAMPLE_TEXT")
        # The other consumers write nothing while that of the current statements is off. What a stored program ran is
        # sent again by its CALL.
        history = next((name for name in _HISTORIES if name in on and "events_statements_current" in on), None)
        if history is not None:
            nested = "(CASE WHEN NESTING_EVENT_TYPE = 'STATEMENT' THEN NULL ELSE SQL_TEXT END)"
            sources.append(f"performance_schema.{history}|CURRENT_SCHEMA, DIGEST, {nested}")
        if not sources:
            self.gap = Gap(
                what="samples of statements",
                figures=[],
                why="performance_schema keeps no statements: its consumers events_statements_* are off",
                remedy="UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN "
                "('events_statements_current', 'events_statements_history')",
            )
        return tuple(sources)


def _numbers(rows: list[tuple[str | None, ...]]) -> list[tuple[Key, int, int, str]]:
    found = []
    for schema, digest, count, timer, first_seen in (row for row in rows if len(row) == 5):
        if count and timer and count.isdecimal() and timer.isdecimal():
            found.append(((schema or "", digest or ""), int(count), int(timer), first_seen or ""))
    return found


def _left_out(text: str) -> str:
    """Why the statements of a form are never sent again; empty if nothing speaks against it."""
    if _OWN.search(re.sub(r"[\s`]+", "", text).upper()):
        return "own"
    word = _WORD.match(text)
    return "" if word is not None and word[1].upper() in _ALONE else "session"


def _whole(sql: str, bytes_max: int) -> str | None:
    """A statement as the client sent it; None if the server keeps a part of it, or bytes that were no text are lost."""
    cut = sql.endswith("...") or len(sql.encode(errors="replace")) >= bytes_max - CUT_SLACK_BYTES
    return None if cut or "\ufffd" in sql else sql
