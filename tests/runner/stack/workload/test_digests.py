"""A server is observed under a load that is known, and its statements are sent again."""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import Lab
from observelab import intervals, observe, seen, start
from serverlab import ServerLab
from watchedlab import WatchedServer

from flatwater._engine import Connection, query_log_sendable
from flatwater.engine_json import to_json
from flatwater.experiment.database.login import Login, Socket
from flatwater.results.digests import digests_in

MakeServer = Callable[..., WatchedServer]
#: What makes a MariaDB keep digests and statements; a MySQL does by itself.
TELLS = (
    "--performance-schema=ON",
    "--performance-schema-consumer-events-statements-current=ON",
    "--performance-schema-consumer-events-statements-history=ON",
)
#: Statements by the name of their kind, and how many of them a round of the load has.
LOAD = {
    "point": ("SELECT a FROM t.r WHERE id = {number}", 5),
    "text": ("SELECT id FROM t.r WHERE a = 'it''s; \\\\ {number} ?'", 2),
    "change": ("UPDATE t.r SET a = 'changed {number}' WHERE id = {number}", 1),
}
#: Servers differ in quotes and capitals.
FORMS = {"change": "UPDATE", "point": "WHERE ID = ?", "text": "WHERE A = ?"}


def kind_of(text: str | None) -> str | None:
    """Which statement of the load a digest is."""
    told = (text or "").replace("`", "").upper()
    return next((kind for kind, sign in FORMS.items() if sign in told and " T . R " in f"{told} "), None)


@pytest.fixture
def telling(make_server: MakeServer) -> WatchedServer:
    """A server with a table, whose performance_schema keeps statements."""
    server = make_server(*TELLS)
    prepare(server)
    return server


def prepare(server: WatchedServer) -> None:
    server.query("CREATE DATABASE t")
    server.query("CREATE TABLE t.r (id INT PRIMARY KEY, a VARCHAR(100)) ENGINE = InnoDB")
    server.query(f"INSERT INTO t.r VALUES {', '.join(f'({number}, {number})' for number in range(100))}")


@contextmanager
def session(server: WatchedServer, schema: str | None = "t") -> Iterator[Connection]:
    connection = Connection(to_json(Login(Socket(str(server.socket)), "root", "", schema)))
    try:
        yield connection
    finally:
        connection.close()


def rounds(connection: Connection, first: int, many: int) -> None:
    for number in range(first, first + many):
        for sql, times in LOAD.values():
            for _ in range(times):
                connection.query(sql.format(number=number % 100))


def observed(lab: Lab, server: WatchedServer, *arguments: str, many: int = 40) -> Path:
    """The result of observing so many rounds of the load."""
    running = start(lab, server.url(), *arguments)
    seen(running, lambda lines: intervals(lines) >= 1)
    with session(server) as connection:
        done = 0

        def at_work() -> bool:
            nonlocal done
            if done < many:
                rounds(connection, done, 5)
                done += 5
            # The server keeps the last statements of sessions that are there, so this one stays until it was looked at.
            return done >= many and ("--samples" not in arguments or all(kind in sampled(running) for kind in LOAD))

        running.until(at_work)
    ran = running.send(signal.SIGINT)
    assert ran.code == 0, ran.stderr
    return ran.out


def sampled(running: Any) -> set[str | None]:
    """The kinds of the load of which a statement with its values was kept so far."""
    lines = [json.loads(line) for line in _text(running).rpartition("\n")[0].splitlines()]
    kinds = {line["statement"]: kind_of(line["text"]) for line in lines if "statement" in line}
    return {kinds[line["sample"]] for line in lines if "sample" in line}


def lines_of(folder: Path) -> list[dict[str, Any]]:
    path = digests_in(folder)
    assert path is not None
    return [json.loads(line) for line in path.read_text().splitlines()]


def counted(folder: Path) -> Counter[str]:
    """How often each kind of the load was recorded."""
    lines = lines_of(folder)
    kinds = {
        line["statement"]: kind for line in lines if "statement" in line and (kind := kind_of(line["text"])) is not None
    }
    found: Counter[str] = Counter()
    for line in lines:
        for number, count, _ in line.get("counts", ()):
            if number in kinds:
                found[kinds[number]] += count
    return found


def told_by(server: WatchedServer) -> Counter[str]:
    """The server's own counters of the load."""
    found: Counter[str] = Counter()
    for text, count in server.query(
        "SELECT DIGEST_TEXT, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest "
        "WHERE SCHEMA_NAME = 't'"
    ):
        kind = kind_of(text)
        if kind is not None:
            found[kind] += int(count or 0)
    return found


def replay(log: Path, **changes: Any) -> dict[str, Any]:
    own = {"kind": "query-log", "log": str(log), "connections": 4, "duration_s": 600, "errors_max_pct": 50}
    return own | changes


def written(lab: Lab, workload: dict[str, Any], url: str) -> Path:
    file = lab.folder / "replay.toml"
    file.write_text(tomli_w.dumps({"workload": workload, "database": {"kind": "server", "url": url}}))
    return file


def test_counts_of_a_known_load_are_sent_again(lab: Lab, servers: ServerLab, telling: WatchedServer) -> None:
    folder = observed(lab, telling, "--samples", many=40)
    expected = Counter({kind: 40 * times for kind, (_, times) in LOAD.items()})
    assert counted(folder) == expected
    before = told_by(telling)
    ran = servers.go(replay(folder, allow_writes=True), {"url": telling.url()})
    assert ran.code == 0, ran.stderr
    assert told_by(telling) - before == expected
    assert ran.summary.errors == 0 and ran.summary.operations == expected.total()
    assert (ran.summary.latency_by_kind_us["select"].count, ran.summary.latency_by_kind_us["update"].count) == (280, 40)
    # flatwater's own questions were recorded, and are not sent.
    assert any("of flatwater's observing" in warning for warning in ran.summary.warnings)
    # Without leave no row changes.
    before = told_by(telling)
    reading = servers.go(replay(folder, speed="asap"), {"url": telling.url()})
    assert reading.code == 0 and told_by(telling) - before == Counter({"point": 200, "text": 80})
    assert reading.summary.counters["writes_skipped"] == 40
    assert any("40 that may write" in warning for warning in reading.summary.warnings)


@pytest.mark.slow
def test_twice_the_speed_takes_half_of_the_time(lab: Lab, servers: ServerLab, telling: WatchedServer) -> None:
    folder = observed(lab, telling, "--samples", many=20)
    # The machine of a test has no steady pace: the same counts, at times of our own.
    path = digests_in(folder)
    assert path is not None
    recorded = [line for line in lines_of(folder) if "counts" not in line]
    numbers = [line["statement"] for line in recorded if "statement" in line and kind_of(line["text"]) == "point"]
    spans = [{"start_s": at_s, "end_s": at_s + 2, "counts": [[numbers[0], 20, 1.0]]} for at_s in (0, 2, 4)]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [*recorded, *spans]))
    lengths = []
    for speed in (1.0, 2.0, 4.0):
        ran = servers.go(replay(folder, speed=speed), {"url": telling.url()})
        assert ran.code == 0 and ran.summary.operations == 60, ran.stderr
        lengths.append(ran.measured_s)
    # The last of sixty statements is due after 5.9 s; it never ends before that, and so at each speed.
    assert lengths[0] >= 5.8 and lengths[1] >= 2.9 and lengths[0] > lengths[1] > lengths[2]


def test_without_samples_nothing_is_kept_and_nothing_replayed(lab: Lab, telling: WatchedServer) -> None:
    folder = observed(lab, telling, many=10)
    assert counted(folder)["point"] == 50
    text = (digests_in(folder) or folder).read_text()
    assert '"sample"' not in text and "changed " not in text
    file = written(lab, replay(folder), telling.url())
    ran = lab.flatwater("check", file)
    assert ran.code == 2 and "without samples" in ran.error and "--samples" in ran.error


def test_samples_are_for_their_owner_only(lab: Lab, telling: WatchedServer) -> None:
    folder = observed(lab, telling, "--samples", many=10)
    path = digests_in(folder)
    assert path is not None and path.stat().st_mode & 0o077 == 0
    with_values = [one for one in folder.rglob("*") if one.is_file() and b"changed " in one.read_bytes()]
    assert with_values == [path]


def test_a_server_that_keeps_no_statements_says_so(lab: Lab, make_server: MakeServer) -> None:
    server = make_server("--performance-schema=ON")
    prepare(server)
    running = start(lab, server.url(), "--samples")
    with session(server) as connection:
        running.until(lambda: rounds(connection, 0, 1) or "samples of statements" in _stderr_or_gaps(running))
    ran = running.send(signal.SIGINT)
    (gap,) = [gap for gap in ran.summary.gaps if gap.what == "samples of statements"]
    assert ran.code == 0 and "setup_consumers" in gap.remedy
    file = written(lab, replay(ran.out), server.url())
    refused = lab.flatwater("check", file)
    assert refused.code == 2 and "none of its statements has a sample" in refused.error


def test_a_server_without_digests_says_that_there_are_no_samples(lab: Lab, make_server: MakeServer) -> None:
    ran = observe(lab, make_server("--performance-schema=OFF").url(), "--samples", length="2s")
    (gap,) = [gap for gap in ran.summary.gaps if gap.what == "samples of statements"]
    assert ran.code == 0 and gap.why == "performance_schema is off" and "history = ON" in gap.remedy
    assert "samples of statements" in ran.stdout + ran.stderr


def _stderr_or_gaps(running: Any) -> str:
    """The gap is found at the first look that has forms, which the file shows."""
    path = running.out / "cells" / "0000" / "digests.jsonl"
    return "samples of statements" if path.exists() and '"statement"' in path.read_text() else ""


def test_a_table_that_is_emptied_meanwhile_loses_no_later_count(lab: Lab, telling: WatchedServer) -> None:
    running = start(lab, telling.url(), "--samples")
    with session(telling) as connection:
        running.until(lambda: rounds(connection, 0, 1) or '"sample"' in _text(running))
        before = told_by(telling)["point"]
        telling.query("TRUNCATE performance_schema.events_statements_summary_by_digest")
        rounds(connection, 0, 30)
    ran = running.send(signal.SIGINT)
    assert ran.code == 0, ran.stderr
    # What ran between the last look and the emptying is gone. What ran later is all there, and nothing counts twice.
    assert 150 <= counted(ran.out)["point"] <= before + 150


def _text(running: Any) -> str:
    path = running.out / "cells" / "0000" / "digests.jsonl"
    return path.read_text() if path.exists() else ""


def test_a_server_that_is_started_again_goes_on_being_recorded(lab: Lab, telling: WatchedServer) -> None:
    running = start(lab, telling.url(), "--samples")
    with session(telling) as connection:
        running.until(lambda: rounds(connection, 0, 1) or '"sample"' in _text(running))
    before = told_by(telling)["point"]
    telling.kill()
    telling.start()
    with session(telling) as connection:
        rounds(connection, 0, 30)
    seen(running, lambda lines: "database.threads_connected" in (lines[-1].get("metrics") or ()))
    ran = running.send(signal.SIGINT)
    assert ran.code == 0, ran.stderr
    assert 150 <= counted(ran.out)["point"] <= before + 150


def test_statements_that_cannot_be_sent_are_told(lab: Lab, servers: ServerLab, telling: WatchedServer) -> None:
    long = "SELECT '" + "x" * 100_000 + "' FROM t.r WHERE id = 1"
    running = start(lab, telling.url(), "--samples")
    seen(running, lambda lines: intervals(lines) >= 1)
    with session(telling) as connection:
        for _ in range(3):
            connection.query(long)
            connection.query("SELECT COUNT(*) FROM t.r")
            connection.query("BEGIN")
            connection.query("SELECT a FROM t.r WHERE id = 1 FOR UPDATE")
            connection.query("COMMIT")
            connection.query("SET @a = 5")
        # The last ten statements of the session have each of them.
        running.until(lambda: _text(running).count('"sample"') >= 3)
    ran = running.send(signal.SIGINT)
    path = digests_in(ran.out)
    assert ran.code == 0 and path is not None
    told = query_log_sendable(path)
    assert told is not None
    left_out = dict(told[3])
    assert left_out["whose samples the server has cut"][0] == 3
    assert left_out["of sessions (transactions, settings) or of the schema"][0] >= 9
    again = servers.go(replay(ran.out, speed="asap"), {"url": telling.url()})
    assert again.code == 0 and again.summary.errors == 0, again.stderr


def test_a_result_of_something_else_is_refused(lab: Lab, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    file = written(lab, replay(other), "mysql://root@127.0.0.1:1")
    ran = lab.flatwater("check", file)
    assert ran.code == 2 and "workload.log" in ran.error


def test_a_killed_observer_leaves_what_it_saw(lab: Lab, telling: WatchedServer, tmp_path: Path) -> None:
    running = start(lab, telling.url(), "--samples")
    with session(telling) as connection:
        running.until(lambda: rounds(connection, 0, 1) or '"sample"' in _text(running))
    running.process.kill()
    running.process.wait()
    copied = Path(tempfile.mkdtemp(dir=tmp_path)) / "killed"
    shutil.copytree(running.out, copied)
    file = written(lab, replay(copied), telling.url())
    assert lab.flatwater("check", file).code == 0
