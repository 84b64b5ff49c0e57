"""Why a server let nobody in, and what to do about it, as far as the server's answer tells the cause."""

from __future__ import annotations

import re
from dataclasses import replace

from flatwater._engine import Connection, EngineError, requires_tls
from flatwater.engine_json import to_json
from flatwater.experiment.database.login import Login, Socket
from flatwater.experiment.problem import quote

#: ER_ACCESS_DENIED_ERROR: the password, an account that is not there, or one that requires TLS or a certificate.
_DENIED = 1045
_REQUIRE = 'database.ssl_mode = "REQUIRED", or "VERIFY_CA" with database.ssl_ca, which also checks who the server is'
_PASSWORD = "FLATWATER_PASSWORD"  # noqa: S105 (its name, not its value)
#: What to do about other refusals, by the numbers of MySQL's and MariaDB's error references.
_HINTS = {
    1044: "GRANT the account a right to that schema there, or leave the schema out of database.url",
    1040: "the server has as many connections as it takes: a larger max_connections, or fewer clients",
    1049: "CREATE DATABASE there, or another schema in database.url",
    1129: "the server counted too many failed connections from here: FLUSH HOSTS there, or a larger max_connect_errors",
    1130: "no account of the server may come from this machine: CREATE USER 'NAME'@'HOST'",
    1203: "the account has as many connections as it may: a larger max_user_connections",
    1226: "the account has used up what it may in an hour: ALTER USER ... WITH MAX_QUERIES_PER_HOUR 0 there, or wait",
    1524: "the account's plugin is not loaded in the server: INSTALL PLUGIN there, or another account",
    1698: "the account knows its user by the unix socket and has no password: use the socket as that user, or another "
    "account",
    1820: "the account's password has expired: ALTER USER there",
    1862: "the account's password has expired: ALTER USER there",
    3118: "ALTER USER ... ACCOUNT UNLOCK there",
    3159: _REQUIRE,
    4151: "ALTER USER ... ACCOUNT UNLOCK there",
}
#: How Rust ends the words of the system.
_OS_NUMBER = re.compile(r" \(os error \d+\)")
_NUMBER = re.compile(r"\(error (\d+)\)$")


def explain(login: Login, error: str, patience_s: float) -> tuple[str, str]:
    """What happened when a login failed with this error of the engine's, and a hint.

    For an account that was denied without TLS it asks the server once more, with TLS: within `patience_s`. Servers do
    not tell whether the password or the certificate was wrong: then both are named.
    """
    error = _OS_NUMBER.sub("", error)
    what, separator, hint = error.removesuffix(")").partition(" (hint: ")
    if separator:
        return what, hint
    if error.startswith("cannot connect"):
        # The message names the address.
        return error, "is it running, and is the address right?"
    what = f"cannot log in to {login.address}: {error}"
    if error.endswith(f"(error {_DENIED})"):
        if _is_let_in_with_tls(login, patience_s):
            what = f"cannot log in to {login.address}: the server requires TLS of the account {quote(login.user)}"
            return what, _REQUIRE
        return what, _of_denied(login)
    return what, hint_of(error) or "is it a MySQL-compatible server, and healthy?"


def hint_of(error: str) -> str | None:
    """What to do about an error of a server's, by its number; None where that is not known."""
    found = _NUMBER.search(error)
    return _HINTS.get(int(found[1])) if found else None


def _is_let_in_with_tls(login: Login, patience_s: float) -> bool:
    """Whether an account is let in with TLS that was refused without."""
    if login.tls is None:
        return requires_tls(to_json(login), patience_s)
    if not _is_open(login):
        return False
    # The socket is private: TLS there reveals nothing that it did not, and can show the client's certificate, too.
    try:
        Connection(to_json(replace(login, tls=replace(login.tls, mode="REQUIRED"))), patience_s).close()
    except EngineError:
        return False
    return True


def _is_open(login: Login) -> bool:
    """Whether the login was tried without TLS. PREFERRED has none on a socket."""
    return login.tls is None or (login.tls.mode == "PREFERRED" and isinstance(login.address, Socket))


def _of_denied(login: Login) -> str:
    """What may be wrong where the server does not say what is."""
    hint = f"is the password right? It is database.url's, or else that of the environment's {_PASSWORD}"
    if not login.password:
        hint = f"no password was given: put the account's into the environment's {_PASSWORD}"
    if login.server_public_key is not None and _is_open(login):
        # With another key the server decrypts something else than the password.
        hint = f"{hint}; is database.server_public_key_path the key of this server, as it has it now?"
    if login.tls is not None and login.tls.cert is not None:
        return f"{hint}; or the account requires another certificate than that of database.ssl_cert (SUBJECT, ISSUER)"
    needs = "a client's certificate: database.ssl_cert and ssl_key"
    if not _is_open(login):
        return f"{hint}; an account with REQUIRE X509, SUBJECT or ISSUER needs {needs}"
    # The server was asked again with TLS; it may have TLS, and not as flatwater speaks it.
    ssl = 'an account with REQUIRE SSL needs TLS: database.ssl_mode = "REQUIRED"'
    return f"{hint}; {ssl}; one with REQUIRE X509, SUBJECT or ISSUER needs TLS with {needs}"
