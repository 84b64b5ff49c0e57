"""Servers of the matrix that listen with TLS: who is let in by which plugin, what is refused, and a load over TLS.

flatwater speaks TLS 1.2 and later with elliptic curves. Servers whose library is older are behind a hop, which speaks
both; what is logged in with, and how the server takes it, stays theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import tomli_w

from benchmarks.servers.bench import Bench, oltp, require
from benchmarks.servers.certificates import LONG_AGO, Authority, why_no_certificates
from benchmarks.servers.tls_server import NAMES, PASSWORD, TlsHop, TlsServer, serve_tls
from flatwater.errors import UserError
from flatwater.experiment.database.login import Login, Tls
from flatwater.results import open_result
from flatwater.server import Binary, describe

#: Plugins that a server has when it says so. What is older than plugins has the first one, without its name.
NATIVE, SHA256 = "mysql_native_password", "sha256_password"
_PLUGINS = (NATIVE, SHA256, "caching_sha2_password")
#: MariaDB's plugin, which has to be installed, and which not every package has.
_ED25519, _ED25519_FILE = "ed25519", "auth_ed25519.so"
MODES = ("REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
_QUOTED = PASSWORD.replace("'", "''")
#: A time that is over.
_OVER = "20210101000000Z"
#: What flatwater says of a server whose TLS is older than its own. The last: yaSSL's servers of MySQL 5.7 and MariaDB
#: 10.2 answer a hello that they do not know with a line of the protocol, `Bad handshake`, instead of an alert.
_TOO_OLD = (
    *("speaks no TLS that flatwater speaks", "refuses TLS", "broke off in its handshake"),
    "offers TLS, and what it says is none",
)
_SCHEMA = "encrypted"


@dataclass(frozen=True)
class Account:
    """Two accounts of one plugin, and what their passwords need: the second takes TLS only."""

    plugin: str

    @property
    def free(self) -> str:
        """The account that may come without TLS."""
        return f"free_{self.plugin}"[:16]

    @property
    def bound(self) -> str:
        """The account with REQUIRE SSL."""
        return f"tls_{self.plugin}"[:16]


def logins(bench: Bench) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was let in and refused, and what this server does not have. Errors: StepFailed."""
    if (why_not := why_no_certificates()) is not None:
        return (), (f"TLS: {why_not}",)
    folder = bench.folder / "encrypted"
    folder.mkdir()
    has_tls = "ssl_ca" in bench.binary.options()
    with ExitStack() as stack:
        server = stack.enter_context(
            serve_tls(bench.binary, folder, None, tls=has_tls, own=_plugins_beside(bench.binary))
        )
        plugins, missing = plugins_of(server)
        accounts = [_create(server, plugin, tls=has_tls) for plugin in plugins]
        if not has_tls:
            told = _without_tls(server, accounts)
            return (f"{', '.join(plugins)} without TLS; a wrong password is refused in one line",), (
                f"TLS: {bench.binary.title} was built without it, and flatwater says so: {told}",
                *missing,
            )
        hop = _hop_of(server, accounts[0], stack)
        if hop is not None:
            server = replace(server, tls_port=hop[0].port)
        let_in, keyless = _let_in(server, accounts)
        refused = _refused(bench, server, accounts)
        load = _load(bench, server, accounts[0])
        _show_expired(server, None if hop is None else hop[0])
        _expired(bench, server, accounts[0])
    behind = () if hop is None else (f"behind a hop with TLS of today, as flatwater says of its own TLS: {hop[1]}",)
    return (
        f"without TLS: {', '.join(let_in)}; under {', '.join(MODES)}: {', '.join(plugins)}",
        f"refused in one line: {refused}, a certificate of another authority and an expired one",
        load,
        *behind,
    ), (*keyless, *missing)


def _plugins_beside(binary: Binary) -> dict[str, str]:
    """The setting with the plugins that were unpacked with a program: it looks for them in folders of the system."""
    folder = binary.path.parent.parent / "lib" / "mysql" / "plugin"
    return {"plugin_dir": str(folder)} if (folder / _ED25519_FILE).exists() else {}


def plugins_of(server: TlsServer) -> tuple[list[str], list[str]]:
    """The plugins that let in here, and why one that others of its family have does not."""
    rows = server.ask("SELECT plugin_name FROM information_schema.plugins WHERE plugin_status = 'ACTIVE'")
    named = {name for (name,) in rows}
    binary, missing = server.instance.binary, []
    found = [one for one in _PLUGINS if one in named] or [NATIVE]
    if binary.flavour == "mariadb":
        if (Path(server.variable("plugin_dir")) / _ED25519_FILE).exists():
            server.run(f"INSTALL SONAME '{_ED25519_FILE}'")
            found.append(_ED25519)
        else:
            missing.append(f"{_ED25519}: its package has no {_ED25519_FILE}")
    return found, missing


def _create(server: TlsServer, plugin: str, *, tls: bool) -> Account:
    """Both accounts of a plugin, or only the first where there is no TLS."""
    account = Account(plugin)
    for user in (account.free, account.bound) if tls else (account.free,):
        server.run(*statements(server.instance.binary, user, plugin, bound=user == account.bound))
    server.run(f"GRANT ALL ON *.* TO {account.bound if tls else account.free}@'%'")
    return account


def statements(binary: Binary, user: str, plugin: str, *, bound: bool) -> list[str]:
    """How an account of a plugin is made in the words of the server; `bound`: it takes TLS only."""
    name, require_ssl = f"{user}@'%'", " REQUIRE SSL" if bound else ""
    if binary.flavour == "mariadb":
        by = f"VIA {plugin} USING PASSWORD('{_QUOTED}')" if plugin == _ED25519 else f"BY '{_QUOTED}'"
        return [f"CREATE USER {name} IDENTIFIED {by}{require_ssl}"]
    if binary.version >= (5, 7, 6):
        return [f"CREATE USER {name} IDENTIFIED WITH {plugin} BY '{_QUOTED}'{require_ssl}"]
    granted = [f"GRANT USAGE ON *.* TO {name}{require_ssl}"] if bound else []
    if plugin == NATIVE:
        return [f"CREATE USER {name} IDENTIFIED BY '{_QUOTED}'", *granted]
    # Before 5.7.6 the hash is made as this variable says.
    hashed = ["SET old_passwords = 2", f"SET PASSWORD FOR {name} = PASSWORD('{_QUOTED}')"]
    return [f"CREATE USER {name} IDENTIFIED WITH {plugin}", *hashed, *granted]


def _without_tls(server: TlsServer, accounts: Sequence[Account]) -> str:
    """Logins to a server that has no TLS; what is said where TLS is asked for."""
    for account in accounts:
        require(describe(server.login(account.free)).tls is None, f"{account.plugin}: there was TLS")
        _require_wrong_password(server, account, None)
    login = server.login(accounts[0].free, tls=Tls("REQUIRED"))
    told = told_of(login)
    require("has none" in told, f"it is not told that the server has no TLS: {told}")
    return told.partition(" (hint: ")[0].removeprefix("database.url: ").replace(str(login.address), "it")


def _hop_of(server: TlsServer, account: Account, stack: ExitStack) -> tuple[TlsHop, str] | None:
    """A hop before a server whose TLS is too old for flatwater, and what flatwater says of it; else None."""
    login = server.login(account.free, tls=Tls("REQUIRED"))
    try:
        describe(login)
    except UserError as error:
        told = error.what.replace(str(login.address), "it")
        require(any(words in told for words in _TOO_OLD), f"no TLS, for another reason than its age: {told}")
        return stack.enter_context(closing(TlsHop(server))), told
    return None


def tls_of(mode: str | None, ca: str) -> Tls | None:
    """How a mode is asked for."""
    if mode is None:
        return None
    return Tls(mode, ca if mode.startswith("VERIFY") else None)  # type: ignore[arg-type]


def has_key(server: TlsServer) -> bool:
    """Whether it gives clients without TLS a key to send passwords with: libraries without RSA, as yaSSL, do not."""
    return bool(server.ask("SHOW STATUS LIKE 'Rsa_public_key'"))


def _let_in(server: TlsServer, accounts: Sequence[Account]) -> tuple[list[str], list[str]]:
    """Each plugin with and without TLS: those that let in without it, and why others do not. Errors: StepFailed."""
    without, missing = [], []
    for account in accounts:
        for mode in (None, *MODES):
            # What the server remembers of a login would make the next one another exchange.
            server.run("FLUSH PRIVILEGES")
            login = server.login(account.free, tls=tls_of(mode, server.ca))
            if mode is None and account.plugin == SHA256 and not has_key(server):
                told = told_of(login)
                require("Access denied" in told, f"{account.plugin} without a key: {told}")
                missing.append(f"{account.plugin} without TLS: the server has no RSA key for it")
                continue
            found = describe(login).tls
            require((found is None) == (mode is None), f"{account.plugin} under {mode or 'no TLS'} had {found}")
            without += [account.plugin] if mode is None else []
    return without, missing


def _refused(bench: Bench, server: TlsServer, accounts: Sequence[Account]) -> str:
    """What a login with something wrong is told, in one line each; in words, what was refused. Errors: StepFailed."""
    for account in accounts:
        # A client that could ask once more with TLS has to meet TLS of today.
        login = replace(server.login(account.bound, tls=Tls("REQUIRED")), tls=None)
        told = told_of(login)
        # Only the password itself would tell the two causes apart there, and nobody has checked who asks for it.
        words = "Access denied" if account.plugin == SHA256 else "requires TLS"
        require(words in told, f"{account.plugin}, REQUIRE SSL: {told}")
        for mode in (None, "REQUIRED"):
            _require_wrong_password(server, account, mode)
    other = Authority.make(bench.folder / "other-authority").sign("other", *NAMES)
    url = url_of(server, accounts[0].free, "VERIFY_CA", str(other.cert))
    told = bench.fails("observe", url, "--for", "1s", "--out", bench.folder / "not-trusted", code=2)
    require("signed by no authority" in told, f"a certificate of another authority: {told}")
    return "REQUIRE SSL without TLS, a wrong password"


def _require_wrong_password(server: TlsServer, account: Account, mode: str | None) -> None:
    told = told_of(server.login(account.free, "wrong", tls_of(mode, server.ca)))
    require("Access denied" in told and "FLATWATER_PASSWORD" in told, f"a wrong password: {told}")


def _show_expired(server: TlsServer, hop: TlsHop | None) -> None:
    """From now on clients see a certificate of the right authority that is over."""
    pair = server.authority.sign("expired", *NAMES, begin=LONG_AGO, end=_OVER)
    if hop is not None:
        hop.shown = pair
        return
    server.instance.stop()
    server.serve(pair)
    server.instance.start()


def _expired(bench: Bench, server: TlsServer, account: Account) -> None:
    """What is said of a certificate that is over. Errors: StepFailed."""
    for mode in ("VERIFY_CA", "VERIFY_IDENTITY"):
        url = url_of(server, account.free, mode, server.ca)
        told = bench.fails("observe", url, "--for", "1s", "--out", bench.folder / "expired", code=2)
        require("expired at 2021-01-01" in told, f"an expired certificate under {mode}: {told}")
    require(describe(server.login(account.free, tls=Tls("REQUIRED"))).tls, "REQUIRED looks at the certificate")


def _load(bench: Bench, server: TlsServer, account: Account) -> str:
    """A load of an account that takes TLS only, in words. Errors: StepFailed."""
    server.run(f"CREATE DATABASE {_SCHEMA}")
    file, out = bench.folder / "encrypted.toml", bench.folder / "encrypted-run"
    url = url_of(server, account.bound, "VERIFY_IDENTITY", server.ca)
    database = {"kind": "server", "url": url, "schema_name": _SCHEMA, "load": True}
    file.write_text(tomli_w.dumps({"workload": dict(oltp("read_write")), "database": database}), encoding="utf-8")
    bench.call("run", file, "--out", out)
    summary = open_result(out).cells[0].summary
    require(summary is not None and summary.status == "complete", "the load over TLS is not complete")
    assert summary is not None
    require(summary.operations and summary.errors == 0, f"the load over TLS: {summary.errors} errors")
    tls = summary.servers[0].tls
    require(tls, "the load does not tell its TLS")
    return f"oltp over {str(tls).split()[0]} by an account with REQUIRE SSL: {summary.mean or 0:,.0f}/s, 0 errors"


def url_of(server: TlsServer, user: str, mode: str, ca: str) -> str:
    """The address of a server with TLS as users write it."""
    login = server.login(user, tls=Tls("REQUIRED"))
    return f"mysql://{user}:{quote(PASSWORD, safe='')}@{login.address}/?ssl-mode={mode}&ssl-ca={quote(ca)}"


def told_of(login: Login) -> str:
    """What is said of a login that must fail: one line with a hint, without the password. Errors: StepFailed."""
    try:
        describe(login)
    except UserError as error:
        told = str(error)
        require("\n" not in told and told.count("(hint: ") == 1, f"not one line with one hint: {told}")
        require(login.password not in told, "the password is in the message")
        return told
    require(False, f"{login.user} was let in")
    raise AssertionError
