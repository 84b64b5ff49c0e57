"""`flatwater observe` over TLS, and what becomes of it when the server's certificate is no longer valid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from signal import SIGINT
from urllib.parse import quote

import pytest
from benchmarks.servers.certificates import LONG_AGO, Authority, Pair, why_no_certificates
from benchmarks.servers.tls_server import NAMES, PASSWORD, TlsServer
from lab import Lab, Running
from observelab import events, intervals, observe, seen, start
from tls_servers import serve_mysql, serve_tls

from flatwater._engine import Connection, EngineError
from flatwater.engine_json import to_json
from flatwater.server import Binary

pytestmark = pytest.mark.skipif(why_no_certificates() is not None, reason=str(why_no_certificates()))

QUOTED = PASSWORD.replace("'", "''")
#: A time that is over.
OVER = "20210101000000Z"


def add_watcher(server: TlsServer, privileges: str) -> TlsServer:
    server.run(
        f"CREATE USER watcher@'%' IDENTIFIED BY '{QUOTED}' REQUIRE SSL",
        f"GRANT {privileges} ON *.* TO watcher@'%'",
        "CREATE DATABASE IF NOT EXISTS t",
    )
    return server


@pytest.fixture(scope="module")
def mariadb(binary: Binary, empty_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    """A MariaDB whose account takes TLS only."""
    if binary.flavour != "mariadb":
        pytest.skip(f"{binary.title} is no MariaDB: its certificate cannot be changed while it runs")
    with serve_tls(binary, tmp_path_factory.mktemp("watched"), empty_data) as server:
        yield add_watcher(server, "PROCESS, SLAVE MONITOR")


@pytest.fixture(scope="module")
def good(mariadb: TlsServer) -> Pair:
    return mariadb.authority.sign("good", *NAMES)


@pytest.fixture(scope="module")
def old(mariadb: TlsServer) -> Pair:
    """A certificate that has expired."""
    return mariadb.authority.sign("old", *NAMES, begin=LONG_AGO, end=OVER)


@pytest.fixture
def server(mariadb: TlsServer, good: Pair) -> Iterator[TlsServer]:
    """The same, with a good certificate after each test."""
    yield mariadb
    mariadb.show(good)


def url_of(server: TlsServer, words: str, port: int = 0) -> str:
    return f"mysql://watcher:{quote(PASSWORD, safe='')}@127.0.0.1:{port or server.port}?{words}"


def verified(server: TlsServer) -> str:
    return f"ssl-mode=VERIFY_IDENTITY&ssl-ca={quote(server.ca, safe='')}"


def variables(server: TlsServer) -> list[tuple[str | None, ...]]:
    connection = Connection(to_json(server.instance.login()))
    rows = connection.query("SHOW GLOBAL VARIABLES")
    connection.close()
    return [row for row in rows if "timestamp" not in (row[0] or "") and "gtid" not in (row[0] or "")]


def throw_out(server: TlsServer) -> None:
    """Ends the sessions of the account."""
    connection = Connection(to_json(server.instance.login()))
    for (number,) in connection.query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'watcher'"):
        with suppress(EngineError):
            connection.query(f"KILL {number}")
    connection.close()


def until_fault(server: TlsServer, running: Running, text: str) -> None:
    def told(lines: list[dict[str, object]]) -> bool:
        throw_out(server)
        return any(text in event for event in events(lines, "fault"))

    seen(running, told)


@pytest.mark.slow_cases("PREFERRED", "REQUIRED")
@pytest.mark.parametrize("mode", ["PREFERRED", "REQUIRED", "verified"])
def test_a_server_is_observed_over_tls(lab: Lab, server: TlsServer, mode: str) -> None:
    before = variables(server)
    words = verified(server) if mode == "verified" else f"ssl-mode={mode}"
    ran = observe(lab, url_of(server, words))
    assert ran.code == 0, ran.stderr
    assert variables(server) == before
    assert (ran.summary.servers[0].tls or "").startswith("TLSv1.")
    assert ("database", "threads_connected") in ran.recorded.metrics()
    for path in ran.out.rglob("*"):
        assert path.is_dir() or PASSWORD.encode() not in path.read_bytes(), path


def test_without_tls_it_is_told_what_to_do(lab: Lab, server: TlsServer) -> None:
    ran = observe(lab, url_of(server, "ssl-mode=DISABLED"))
    assert ran.code == 2 and "requires TLS" in ran.error and "ssl-mode=REQUIRED in the URL" in ran.error
    assert "ssl_mode" not in ran.stderr and "database." not in ran.stderr


@pytest.mark.parametrize("verb", ["observe", "advise", "tune-up"])
def test_each_verb_names_what_belongs_into_its_url(lab: Lab, server: TlsServer, old: Pair, verb: str) -> None:
    server.show(old)
    for words, told in [
        ("ssl-mode=DISABLED", "requires TLS of the account 'watcher' (hint: ssl-mode=REQUIRED in the URL"),
        (verified(server), "give the server a new one, or ssl-mode=REQUIRED in the URL"),
        ("ssl-mode=REQUIRED&ssl-ca=/ca.pem", "ssl-ca: REQUIRED looks at no certificate (hint: ssl-mode=VERIFY_CA in"),
        ("ssl-mode=VERIFY_CA&ssl-ca=/none/ca.pem", "ssl-ca: /none/ca.pem: No such file"),
    ]:
        ran = lab.flatwater(verb, url_of(server, words))
        assert ran.code == 2 and ran.error.startswith("error: URL: ") and told in ran.error, ran.stderr
        assert "ssl_" not in ran.error and "database." not in ran.error


def test_a_certificate_that_has_expired_before(lab: Lab, server: TlsServer, old: Pair) -> None:
    server.show(old)
    ran = observe(lab, url_of(server, verified(server)))
    assert ran.code == 2 and "expired at" in ran.error and "2021" in ran.error
    # Who does not look at the certificate is let in.
    assert observe(lab, url_of(server, "ssl-mode=REQUIRED")).code == 0


@pytest.mark.slow
def test_a_certificate_that_expires_while_it_is_observed(lab: Lab, server: TlsServer, good: Pair, old: Pair) -> None:
    running = start(lab, url_of(server, verified(server)))
    seen(running, lambda lines: intervals(lines) >= 2)
    server.show(old)
    until_fault(server, running, "expired at")
    server.show(good)
    seen(running, lambda lines: any("answers again" in text for text in events(lines, "recovered")))
    seen(running, lambda lines: "database.threads_connected" in (lines[-1].get("metrics") or ()))
    ran = running.send(SIGINT)
    assert ran.code == 0 and ran.summary.status == "complete", ran.stderr
    assert [event.kind for event in ran.summary.events] == ["fault", "recovered"]
    assert "or ssl-mode=REQUIRED in the URL" in ran.summary.events[0].text


@pytest.mark.slow
def test_a_certificate_of_somebody_else_appears(lab: Lab, server: TlsServer, tmp_path: Path) -> None:
    other = Authority.make(tmp_path / "other").sign("other", *NAMES)
    running = start(lab, url_of(server, verified(server)))
    seen(running, lambda lines: intervals(lines) >= 2)
    server.show(other)
    until_fault(server, running, "is signed by no authority")
    ran = running.send(SIGINT)
    assert ran.code == 0 and ran.at_once and ran.summary.status == "complete"


@pytest.mark.slow
def test_a_connection_that_is_reset_is_made_anew(lab: Lab, server: TlsServer) -> None:
    running = start(lab, url_of(server, verified(server)))
    seen(running, lambda lines: intervals(lines) >= 2)
    throw_out(server)
    begun = len(running.out.joinpath("cells/0000/journal.jsonl").read_text().splitlines())
    seen(
        running, lambda lines: any("database.threads_connected" in (one.get("metrics") or ()) for one in lines[begun:])
    )
    ran = running.send(SIGINT)
    assert ran.code == 0 and ran.summary.status == "complete", ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("modern", [True, False], ids=["its own TLS", "behind another TLS"])
def test_mysql_over_tls(lab: Lab, tmp_path: Path, *, modern: bool) -> None:
    with serve_mysql(tmp_path, modern=modern) as server:
        add_watcher(server, "PROCESS, REPLICATION CLIENT")
        ran = observe(lab, url_of(server, verified(server), server.tls_port or server.port))
        assert ran.code == 0 and ran.summary.servers[0].flavour == "mysql", ran.stderr
        assert (ran.summary.servers[0].tls or "").startswith("TLSv1.")
