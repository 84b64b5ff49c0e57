"""The statements that a server's clients send, from performance_schema: what took most of the time between two looks.

Digests have no values in them, only the form of the statement. They are read twice, at the beginning and at the end:
the table may have ten thousand rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flatwater._engine import Connection, EngineError
from flatwater.results.observation import Gap, Statement

#: Statements that are kept: those that took most of the time.
KEPT = 20
#: Of a statement's text. Servers cut theirs at max_digest_length, 1024 by default.
TEXT_CHARACTERS_MAX = 500
#: performance_schema counts in picoseconds.
_PER_S = 1e12
_TABLE = "performance_schema.events_statements_summary_by_digest"
_SWITCHES = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('performance_schema', 'performance_schema_digests_size')"
_SWITCH_ON = "performance_schema = ON in the option file"
#: Why a server has no digests, whatever its settings.
NO_DIGESTS = "the server keeps no digests of statements; MySQL does since 5.6, and MariaDB since 10.0"
_COUNTERS = "COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED, SUM_ROWS_SENT, SUM_NO_INDEX_USED, SUM_ERRORS"
_READ = f"SELECT SCHEMA_NAME, DIGEST, {_COUNTERS} FROM {_TABLE} WHERE DIGEST IS NOT NULL"  # noqa: S608 (ours)
_REFUSED = ("(error 1142)", "(error 1044)", "(error 1227)")

#: Schema and digest.
Key = tuple[str, str]


@dataclass(frozen=True)
class Digests:
    """Counters by statement, or why there are none."""

    counters: Mapping[Key, tuple[float, ...]]
    gap: Gap | None = None


def read_digests(connection: Connection) -> Digests:
    """What performance_schema has counted so far. Errors: EngineError if the connection is lost."""
    try:
        switches = dict(_pairs(connection, _SWITCHES))
        # The size of the table of digests is a variable of every server that has one, on or off.
        if "performance_schema_digests_size" not in switches:
            return Digests({}, _gap(NO_DIGESTS, ""))
        if switches.get("performance_schema", "OFF").upper() != "ON":
            return Digests({}, _gap("performance_schema is off", _SWITCH_ON))
        consumer = "SELECT NAME, ENABLED FROM performance_schema.setup_consumers WHERE NAME = 'statements_digest'"
        if dict(_pairs(connection, consumer)).get("statements_digest") == "NO":
            return Digests({}, _gap("the consumer statements_digest of performance_schema is off", ""))
        rows = connection.query(_READ)
    except EngineError as error:
        connection.query("SELECT 1")
        refused = any(sign in str(error) for sign in _REFUSED)
        why = "the account may not read performance_schema" if refused else f"performance_schema refuses: {error}"
        remedy = "GRANT SELECT ON performance_schema.* TO the account of the url" if refused else ""
        return Digests({}, _gap(why, remedy))
    return Digests({(row[0] or "", row[1] or ""): tuple(map(_number, row[2:])) for row in rows if len(row) == 8})


def statements_between(connection: Connection, before: Digests, after: Digests) -> list[Statement]:
    """The statements that took most of the time between two looks. Errors: EngineError if the connection is lost."""
    deltas: dict[Key, tuple[float, ...]] = {}
    for key, now in after.counters.items():
        then = before.counters.get(key, (0.0,) * len(now))
        delta = tuple(late - early for late, early in zip(now, then, strict=True))
        # Counters that fell were reset meanwhile.
        if delta[0] > 0 and min(delta) >= 0:
            deltas[key] = delta
    total = sum(delta[1] for delta in deltas.values())
    largest = sorted(deltas, key=lambda key: -deltas[key][1])[:KEPT]
    texts = _texts(connection, largest)
    found = []
    for key in largest:
        count, timer, examined, sent, without_index, errors = deltas[key]
        found.append(
            Statement(
                schema_name=key[0],
                text=texts.get(key, ""),
                count=int(count),
                mean_us=1e6 * timer / _PER_S / count,
                share=timer / total if total else 0.0,
                rows_examined=int(examined),
                rows_sent=int(sent),
                without_index=int(without_index),
                errors=int(errors),
            )
        )
    return found


def _texts(connection: Connection, keys: list[Key]) -> dict[Key, str]:
    # A digest is a hash in hexadecimal digits. Whatever else a server tells is not asked for.
    digests = sorted({digest for _, digest in keys if digest.isalnum()})
    if not digests:
        return {}
    words = ", ".join(f"'{digest}'" for digest in digests)
    text = f"LEFT(DIGEST_TEXT, {TEXT_CHARACTERS_MAX})"
    rows = connection.query(f"SELECT SCHEMA_NAME, DIGEST, {text} FROM {_TABLE} WHERE DIGEST IN ({words})")  # noqa: S608
    return {(row[0] or "", row[1] or ""): " ".join((row[2] or "").split()) for row in rows if len(row) == 3}


def without_samples(gap: Gap) -> Gap:
    """What is said of samples that were asked for where there are no digests."""
    remedy = gap.remedy
    if remedy == _SWITCH_ON:
        consumers = [f"performance_schema_consumer_events_statements_{name} = ON" for name in ("current", "history")]
        remedy = f"{', '.join(['performance_schema = ON', *consumers])} in the option file"
    return Gap(what="samples of statements", figures=[], why=gap.why, remedy=remedy)


def _gap(why: str, remedy: str) -> Gap:
    return Gap(what="the statements that take the time", figures=["workload.statements"], why=why, remedy=remedy)


def _pairs(connection: Connection, question: str) -> list[tuple[str, str]]:
    return [(row[0] or "", row[1] or "") for row in connection.query(question) if len(row) == 2]


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
