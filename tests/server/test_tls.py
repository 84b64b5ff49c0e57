"""Logins with and without TLS, on real servers of both families, and what is said when they fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from benchmarks.servers.certificates import Authority, self_signed, why_no_certificates
from benchmarks.servers.tls_server import NAMES, PASSWORD, TlsServer
from lab import Lab
from tls_servers import PLUGIN, SERVERS, serve_mysql, serve_tls

from flatwater._engine import Connection
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment.database.login import Login, Tls
from flatwater.server import Binary, describe
from flatwater.server.answers import rows_of

pytestmark = pytest.mark.skipif(why_no_certificates() is not None, reason=str(why_no_certificates()))

PLUGINS = ("caching_sha2_password", "sha256_password", "mysql_native_password")
QUOTED = PASSWORD.replace("'", "''")
MODES = ("PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")


@pytest.fixture(scope="module")
def mariadb(binary: Binary, empty_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    if binary.flavour != "mariadb":
        pytest.skip(f"{binary.title} is no MariaDB")
    with serve_tls(binary, tmp_path_factory.mktemp("mariadb"), empty_data) as server:
        server.run(
            f"CREATE USER plain@'%' IDENTIFIED BY '{QUOTED}'",
            f"CREATE USER encrypted@'%' IDENTIFIED BY '{QUOTED}' REQUIRE SSL",
            f"CREATE USER certified@'%' IDENTIFIED BY '{QUOTED}' REQUIRE X509",
            "CREATE USER open@'%'",
        )
        yield server


def plugins_of(server: TlsServer) -> list[str]:
    """MySQL's plugins that a server has."""
    sql = "SELECT plugin_name FROM information_schema.plugins WHERE plugin_status = 'ACTIVE'"
    return [str(name) for (name,) in server.ask(sql) if name in PLUGINS]


@pytest.fixture(scope="module", params=["its own TLS", "behind another TLS"])
def mysql(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    """A MySQL with accounts of each plugin that it has."""
    with serve_mysql(tmp_path_factory.mktemp("mysql"), modern=request.param == "its own TLS") as server:
        for plugin in plugins_of(server):
            server.run(
                f"CREATE USER {plugin}@'%' IDENTIFIED WITH {plugin} BY '{QUOTED}'",
                f"CREATE USER tls_{plugin}@'%' IDENTIFIED WITH {plugin} BY '{QUOTED}' REQUIRE SSL",
                f"CREATE USER open_{plugin}@'%' IDENTIFIED WITH {plugin} BY ''",
            )
        yield server


def need(server: TlsServer, plugin: str) -> None:
    if plugin not in plugins_of(server):
        pytest.skip(f"{server.instance.binary.title} has no {plugin} any more")


def tls_of(mode: str | None, server: TlsServer) -> Tls | None:
    ca = server.ca if mode in ("VERIFY_CA", "VERIFY_IDENTITY") else None
    return None if mode is None else Tls(mode, ca)  # type: ignore[arg-type]


def told(login: Login) -> str:
    """What is said of a login that fails: one line, with what to do, without the password."""
    with pytest.raises(UserError) as caught:
        describe(login)
    text = str(caught.value)
    assert text.startswith("database.url: ") and text.count("(hint: ") == 1 and "\n" not in text
    assert not login.password or login.password not in text
    return text


def cipher(login: Login) -> str:
    """The cipher that the server says this connection has; '' without TLS."""
    connection = Connection(to_json(login))
    (row,) = rows_of(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'", columns=2, rows_min=1)
    connection.close()
    return row[1] or ""


@pytest.mark.parametrize("mode", [None, *MODES])
@pytest.mark.parametrize("user", ["plain", "open"])
def test_each_mode_is_what_the_server_sees(mariadb: TlsServer, mode: str | None, user: str) -> None:
    login = mariadb.login(user, PASSWORD if user == "plain" else "", tls_of(mode, mariadb))
    assert bool(cipher(login)) == (mode is not None)
    found = describe(login).tls
    assert (found is None) == (mode is None)
    # The server's library has another name for suites of TLS 1.2.
    assert found is None or found == f"TLSv1.3 {cipher(login)}"


@pytest.mark.parametrize(("mode", "encrypted"), [("PREFERRED", False), ("REQUIRED", True), ("VERIFY_IDENTITY", True)])
def test_a_socket_is_private_already(mariadb: TlsServer, mode: str, *, encrypted: bool) -> None:
    login = replace(mariadb.instance.login(), tls=tls_of(mode, mariadb))
    assert bool(cipher(login)) == encrypted


def test_an_account_that_requires_tls_is_named(mariadb: TlsServer) -> None:
    text = told(mariadb.login("encrypted"))
    assert "requires TLS of the account 'encrypted'" in text and 'ssl_mode = "REQUIRED"' in text
    assert describe(mariadb.login("encrypted", tls=Tls("REQUIRED"))).tls


@pytest.mark.parametrize("user", ["plain", "encrypted"])
@pytest.mark.parametrize("mode", [None, "REQUIRED"])
def test_a_wrong_password_is_no_matter_of_tls(mariadb: TlsServer, mode: str | None, user: str) -> None:
    text = told(mariadb.login(user, "wrong", tls_of(mode, mariadb)))
    assert "Access denied" in text and "FLATWATER_PASSWORD" in text and "requires TLS" not in text
    text = told(mariadb.login(user, "", tls_of(mode, mariadb)))
    assert "no password was given" in text and "FLATWATER_PASSWORD" in text


def test_a_server_that_takes_nothing_else(mariadb: TlsServer) -> None:
    mariadb.run("SET GLOBAL require_secure_transport = 1")
    try:
        text = told(mariadb.login("plain"))
        assert "requires TLS" in text and 'ssl_mode = "REQUIRED"' in text
    finally:
        mariadb.run("SET GLOBAL require_secure_transport = 0")


def test_a_client_certificate(mariadb: TlsServer) -> None:
    assert "ssl_cert" in told(mariadb.login("certified", tls=Tls("REQUIRED")))
    for key in ("rsa:2048", "ed25519"):
        own = mariadb.authority.sign(f"client-{key.partition(':')[0]}", *NAMES, key=key)
        tls = Tls("VERIFY_CA", mariadb.ca, str(own.cert), str(own.key))
        assert describe(mariadb.login("certified", tls=tls)).tls


def test_a_client_certificate_of_nobody_is_not_taken(mariadb: TlsServer, tmp_path: Path) -> None:
    own = Authority.make(tmp_path / "other").sign("client", *NAMES)
    text = told(mariadb.login("certified", tls=Tls("REQUIRED", None, str(own.cert), str(own.key))))
    assert "does not take this client's certificate" in text and "ssl_cert" in text


def test_mariadbs_ed25519(mariadb: TlsServer) -> None:
    if not (Path(mariadb.variable("plugin_dir")) / PLUGIN).exists():
        pytest.skip(f"no {PLUGIN} in the server's folder or in {SERVERS}: Debian's package mariadb-server has it")
    mariadb.run(f"INSTALL SONAME '{PLUGIN}'")
    for user, password in (("signed", QUOTED), ("signed_shortly", "x"), ("signed_at_length", "y" * 200)):
        mariadb.run(f"CREATE USER {user}@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{password}')")
        for tls in (None, Tls("REQUIRED")):
            assert describe(mariadb.login(user, password.replace("''", "'"), tls)).flavour == "mariadb"
            assert "Access denied" in told(mariadb.login(user, "wrong", tls))


def test_a_plugin_that_is_not_known(mariadb: TlsServer) -> None:
    mariadb.run("CREATE USER by_name@'%' IDENTIFIED VIA unix_socket")
    # The plugin is known, but knows nobody who comes over a network.
    assert "by_name" in told(mariadb.login("by_name"))


@pytest.mark.parametrize("mode", [None, *MODES])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_mysqls_plugins_let_in(mysql: TlsServer, plugin: str, mode: str | None) -> None:
    need(mysql, plugin)
    for turn in range(2):
        # What the server remembers of a login would make the next one another exchange.
        if turn == 0:
            mysql.run("FLUSH PRIVILEGES")
        login = mysql.login(plugin, tls=tls_of(mode, mysql))
        assert bool(cipher(login)) == (mode is not None)
        assert "Access denied" in told(replace(login, password="wrong"))
    assert describe(mysql.login(f"open_{plugin}", "", tls_of(mode, mysql))).flavour == "mysql"


@pytest.mark.parametrize("plugin", PLUGINS)
def test_mysqls_accounts_that_require_tls_are_let_in_with_it(mysql: TlsServer, plugin: str) -> None:
    need(mysql, plugin)
    # flatwater can ask a server with TLS of today once more; with sha256_password it has nothing that it would send.
    is_asked = not mysql.tls_port and plugin == "caching_sha2_password"
    refused = "requires TLS" if is_asked else "Access denied"
    assert refused in told(replace(mysql, tls_port=0).login(f"tls_{plugin}"))
    mysql.run("FLUSH PRIVILEGES")
    for _ in range(2):
        assert describe(mysql.login(f"tls_{plugin}", tls=Tls("REQUIRED"))).tls


@pytest.mark.parametrize("plugin", ["caching_sha2_password", "mysql_native_password"])
def test_mysqls_accounts_that_require_tls_are_named(mysql: TlsServer, plugin: str) -> None:
    need(mysql, plugin)
    # Through the hop, without TLS at first. With sha256_password only the password itself would tell, and nobody has
    # checked to whom it would be sent.
    login = replace(mysql.login(f"tls_{plugin}", tls=Tls("REQUIRED")), tls=None)
    mysql.run("FLUSH PRIVILEGES")
    assert "requires TLS" in told(login)


def test_a_library_that_is_too_old_is_named(mysql: TlsServer) -> None:
    if not mysql.tls_port:
        pytest.skip("its library is of today")
    text = told(replace(mysql, tls_port=0).login("mysql_native_password", tls=Tls("REQUIRED")))
    assert "refuses TLS: handshake_failure" in text and "ECDHE" in text and "DISABLED" in text


@pytest.mark.parametrize("plugin", ["caching_sha2_password", "sha256_password"])
def test_the_servers_public_key_may_be_named(mysql: TlsServer, plugin: str, tmp_path: Path) -> None:
    need(mysql, plugin)
    login = mysql.login(plugin)
    key = mysql.instance.data / "public_key.pem"
    mysql.run("FLUSH PRIVILEGES")
    assert describe(replace(login, server_public_key=str(key))).tls is None
    mysql.run("FLUSH PRIVILEGES")
    other = self_signed(tmp_path, "other")
    assert "public_key.pem" in told(replace(login, server_public_key=str(other.cert)))
    assert "No such file" in told(replace(login, server_public_key=str(tmp_path / "absent")))


def test_certificates_that_are_not_right(mariadb: TlsServer, tmp_path: Path) -> None:
    good, own = mariadb.served, mariadb.authority
    kept = own.sign("kept", *NAMES)
    other = Authority.make(tmp_path / "other")
    namesake = Authority.make(tmp_path / "namesake", "authority")
    alone = self_signed(tmp_path, "alone", *NAMES)
    cases = {
        own.sign("expired", *NAMES, end="20200201000000Z"): ("expired at 2020-02-01 00:00:00 UTC", "new one"),
        own.sign("early", *NAMES, begin="20990101000000Z"): ("valid from 2099-01-01 00:00:00 UTC", "clocks"),
        other.sign("of-other", *NAMES): ("signed by no authority", "ssl_ca"),
        namesake.sign("of-namesake", *NAMES): ("signed by no authority", "ssl_ca"),
        alone: ("self-signed", "ssl_ca"),
        own.sign("first"): ("version 1", "subjectAltName"),
    }
    assert good.cert.exists()
    try:
        for pair, (what, hint) in cases.items():
            mariadb.show(pair)
            for mode in ("VERIFY_CA", "VERIFY_IDENTITY"):
                text = told(mariadb.login("plain", tls=tls_of(mode, mariadb)))
                assert what in text.partition("(hint: ")[0] and hint in text.partition("(hint: ")[2], text
            # Who does not look does not see it.
            for mode in ("PREFERRED", "REQUIRED"):
                assert describe(mariadb.login("plain", tls=tls_of(mode, mariadb))).tls
        mariadb.show(own.sign("elsewhere", "subjectAltName=DNS:db.example.org,IP:10.0.0.1"))
        assert describe(mariadb.login("plain", tls=tls_of("VERIFY_CA", mariadb))).tls
        text = told(mariadb.login("plain", tls=tls_of("VERIFY_IDENTITY", mariadb)))
        assert 'not for "127.0.0.1": it names db.example.org, 10.0.0.1 (hint: ' in text and "VERIFY_CA" in text
        mariadb.show(own.sign("nameless", "basicConstraints=CA:FALSE"))
        assert "no subjectAltName" in told(mariadb.login("plain", tls=tls_of("VERIFY_IDENTITY", mariadb)))
    finally:
        mariadb.show(kept)


def test_a_certificate_that_is_named_itself_is_trusted(mariadb: TlsServer, tmp_path: Path) -> None:
    kept = mariadb.authority.sign("kept-too", *NAMES)
    alone = self_signed(tmp_path, "alone", *NAMES)
    try:
        mariadb.show(alone)
        for mode in ("VERIFY_CA", "VERIFY_IDENTITY"):
            assert describe(mariadb.login("plain", tls=Tls(mode, str(alone.cert)))).tls  # type: ignore[arg-type]
    finally:
        mariadb.show(kept)


def test_the_systems_authorities_do_not_know_it(mariadb: TlsServer) -> None:
    text = told(mariadb.login("plain", tls=Tls("VERIFY_CA")))
    assert "this system" in text and "ssl_ca" in text


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (None, "No such file"),
        (b"", "no"),
        (b"not PEM", "PEM"),
        (b"-----BEGIN CERTIFICATE-----\n\xff\xff\n-----END CERTIFICATE-----\n", "PEM"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate"),
    ],
)
def test_files_that_hold_something_else(mariadb: TlsServer, tmp_path: Path, contents: bytes | None, words: str) -> None:
    file = tmp_path / "file.pem"
    if contents is not None:
        file.write_bytes(contents)
    text = told(mariadb.login("plain", tls=Tls("VERIFY_CA", str(file))))
    assert "database.ssl_ca" in text and str(file) in text and words in text
    pair = mariadb.served
    text = told(mariadb.login("plain", tls=Tls("REQUIRED", None, str(file), str(pair.key))))
    assert "database.ssl_" in text and str(file) in text
    text = told(mariadb.login("plain", tls=Tls("REQUIRED", None, str(pair.cert), str(file))))
    assert "database.ssl_key" in text and str(file) in text


def test_a_server_without_tls(binary: Binary, empty_data: Path, tmp_path: Path) -> None:
    with serve_tls(binary, tmp_path, empty_data, tls=False) as server:
        server.run(f"CREATE USER plain@'%' IDENTIFIED BY '{QUOTED}'")
        for mode in ("REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"):
            text = told(server.login("plain", tls=tls_of(mode, server)))
            assert f'"{mode}" asks for TLS' in text and "has none" in text and "DISABLED" in text
        assert describe(server.login("plain", tls=Tls("PREFERRED"))).tls is None


def test_a_run_tells_the_tls_that_its_figures_have_paid_for(lab: Lab, mariadb: TlsServer) -> None:
    mariadb.run(f"CREATE USER bench@'%' IDENTIFIED BY '{QUOTED}' REQUIRE SSL", "GRANT ALL ON *.* TO bench@'%'")
    mariadb.run(f"CREATE USER bare@'%' IDENTIFIED BY '{QUOTED}'", "GRANT ALL ON *.* TO bare@'%'")
    for user, mode, tls in (("bare", "", None), ("bench", f"ssl_ca = '{mariadb.ca}'", "TLSv1.3 TLS_")):
        file = lab.folder / f"{user}.toml"
        file.write_text(
            "[workload]\nkind = 'oltp'\nmode = 'read_write'\nduration_s = 1\nrows = 1000\nconnections = 2\n"
            f"[database]\nkind = 'server'\nload = true\n{mode}\n"
            f"url = 'mysql://{user}:{quote(PASSWORD, safe='')}@127.0.0.1:{mariadb.port}/of_{user}'\n"
        )
        ran = lab.run(file, out=lab.folder / f"out-{user}")
        assert ran.code == 0, ran.stderr
        told = ran.summary.servers[0].tls
        assert told is None if tls is None else told is not None and told.startswith(tls)
        assert ran.summary.client_cpu_us_per_op
        page = lab.flatwater("report", ran.out)
        assert page.code == 0, page.stderr
