"""Why a real server let nobody in: what it cannot tell apart is named together, and what it can is found out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from benchmarks.servers.certificates import why_no_certificates
from benchmarks.servers.tls_server import NAMES, PASSWORD, TlsServer
from tls_servers import serve_tls

from flatwater.errors import UserError
from flatwater.experiment.database.login import Login, Tls
from flatwater.server import Binary, describe

pytestmark = pytest.mark.skipif(why_no_certificates() is not None, reason=str(why_no_certificates()))

QUOTED = PASSWORD.replace("'", "''")
CERTIFIED = ["x509", "subject", "issuer"]


@pytest.fixture(scope="module")
def server(binary: Binary, empty_data: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    if binary.flavour != "mariadb":
        pytest.skip(f"{binary.title} is no MariaDB")
    with serve_tls(binary, tmp_path_factory.mktemp("refusing"), empty_data) as server:  # type: ignore[arg-type]
        server.run(
            f"CREATE USER plain@'%' IDENTIFIED BY '{QUOTED}'",
            f"CREATE USER encrypted@'%' IDENTIFIED BY '{QUOTED}' REQUIRE SSL",
            f"CREATE USER x509@'%' IDENTIFIED BY '{QUOTED}' REQUIRE X509",
            f"CREATE USER subject@'%' IDENTIFIED BY '{QUOTED}' REQUIRE SUBJECT '/CN=client'",
            f"CREATE USER issuer@'%' IDENTIFIED BY '{QUOTED}' REQUIRE ISSUER '/CN=authority'",
            "CREATE USER no_password@'%' REQUIRE X509",
        )
        yield server


def on(place: str, server: TlsServer, user: str, tls: Tls | None, password: str = PASSWORD) -> Login:
    """A login over a socket or a port."""
    login = server.login(user, password, tls)
    return replace(login, address=server.instance.login().address) if place == "socket" else login


def told(login: Login) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        describe(login)
    return caught.value.what, caught.value.hint or ""


@pytest.mark.parametrize("mode", [None, "PREFERRED"])
def test_on_a_socket_an_account_that_requires_tls_is_named(server: TlsServer, mode: str | None) -> None:
    """PREFERRED has no TLS on a socket."""
    what, hint = told(on("socket", server, "encrypted", Tls(mode) if mode else None))  # type: ignore[arg-type]
    assert "requires TLS of the account 'encrypted'" in what and 'ssl_mode = "REQUIRED"' in hint
    assert "password" not in hint
    # What it says to do does it.
    assert describe(on("socket", server, "encrypted", Tls("REQUIRED"))).tls


def test_on_a_socket_a_certificate_is_shown_only_with_tls(server: TlsServer) -> None:
    own = server.authority.sign("client", *NAMES)
    shown = Tls("PREFERRED", None, str(own.cert), str(own.key))
    what, hint = told(on("socket", server, "x509", shown))
    assert "requires TLS of the account 'x509'" in what and 'ssl_mode = "REQUIRED"' in hint
    assert describe(on("socket", server, "x509", replace(shown, mode="REQUIRED"))).tls


@pytest.mark.parametrize("place", ["socket", "port"])
@pytest.mark.parametrize("mode", [None, "PREFERRED", "REQUIRED"])
@pytest.mark.parametrize("user", CERTIFIED)
def test_a_certificate_that_is_missing_is_named(server: TlsServer, place: str, mode: str | None, user: str) -> None:
    what, hint = told(on(place, server, user, Tls(mode) if mode else None))  # type: ignore[arg-type]
    assert "Access denied" in what and "is the password right?" in hint
    assert "REQUIRE X509, SUBJECT or ISSUER" in hint and "database.ssl_cert and ssl_key" in hint
    # With TLS, only the certificate is missing.
    without_tls = mode is None or (mode == "PREFERRED" and place == "socket")
    assert ("TLS with a client's certificate" in hint) == without_tls


def test_an_account_with_a_certificate_in_place_of_a_password(server: TlsServer) -> None:
    _, hint = told(on("port", server, "no_password", None, ""))
    assert "no password was given" in hint and "database.ssl_cert" in hint


def test_the_certificate_of_somebody_else_is_named(server: TlsServer) -> None:
    own = server.authority.sign("other", *NAMES)
    what, hint = told(on("port", server, "subject", Tls("REQUIRED", None, str(own.cert), str(own.key))))
    assert "Access denied" in what and "another certificate than that of database.ssl_cert" in hint


@pytest.mark.parametrize("place", ["socket", "port"])
def test_a_wrong_password_stays_the_first_cause(server: TlsServer, place: str) -> None:
    for user in ("plain", "encrypted"):
        for tls in (None, Tls("PREFERRED"), Tls("REQUIRED")):
            what, hint = told(on(place, server, user, tls, "wrong"))
            assert "Access denied" in what and hint.startswith("is the password right?"), (user, tls)


def test_errors_of_a_server_that_answers_have_their_own_hints(server: TlsServer) -> None:
    """As soon as it lets the account in, or after that."""
    server.run(
        f"CREATE USER expired@'%' IDENTIFIED BY '{QUOTED}' PASSWORD EXPIRE",
        f"CREATE USER used_up@'%' IDENTIFIED BY '{QUOTED}' WITH MAX_QUERIES_PER_HOUR 1",
        f"CREATE USER no_right@'%' IDENTIFIED BY '{QUOTED}'",
    )
    for user, hint in (("expired", "has expired: ALTER USER"), ("used_up", "in an hour"), ("no_right", "GRANT")):
        login = replace(on("port", server, user, None), schema="mysql" if user == "no_right" else None)
        with pytest.raises(UserError, match=hint) as caught:
            # The first queries are still allowed.
            for _ in range(2):
                describe(login)
        assert "healthy" not in str(caught.value), user


def test_a_key_of_another_server_is_named_beside_the_password(server: TlsServer) -> None:
    login = replace(on("port", server, "plain", None, "wrong"), server_public_key="other.pem")
    assert "server_public_key_path" in told(login)[1]
    assert "server_public_key_path" not in told(replace(login, server_public_key=None))[1]
