"""Errors about a server that was named by a url alone: no line says what only an experiment has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.database.tls import PARAMETERS
from flatwater.server import in_url, named_by_url, refused

ENGINE = Path(__file__).parents[2] / "crates" / "real" / "src" / "database"
FIELD = re.compile(rf"database\.|\b({'|'.join(PARAMETERS)})\b")


def lines_of_the_engine() -> list[str]:
    """The texts in the engine's sources that name a field of TLS."""
    found = []
    for path in sorted([*(ENGINE / "tls").glob("*.rs"), *(ENGINE / "plugins").glob("*.rs")]):
        texts = re.findall(r'"((?:[^"\\]|\\.)*)"', path.read_text().partition("mod tests")[0], re.DOTALL)
        found += [text for one in texts if FIELD.search(text := re.sub(r"\\\n\s*", "", one).replace('\\"', '"'))]
    return found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("is it right? It is database.url's", "is it right? It is the URL's"),
        ('or database.ssl_mode = "REQUIRED", which encrypts', "or ssl-mode=REQUIRED in the URL, which encrypts"),
        (
            'name it: database.ssl_ca = "FILE", or database.ssl_mode = "REQUIRED", which',
            "name it: ssl-ca=FILE in the URL, or ssl-mode=REQUIRED, which",
        ),
        (
            'database.ssl_mode = "REQUIRED", or "VERIFY_CA" with database.ssl_ca, which',
            "ssl-mode=REQUIRED in the URL, or ssl-mode=VERIFY_CA with ssl-ca, which",
        ),
        # A server has variables of the same names, and a file may be called so.
        (
            "database.ssl_cert and ssl_key must be of an authority that the server trusts (its ssl_ca)",
            "ssl-cert and ssl-key must be of an authority that the server trusts (its ssl_ca)",
        ),
        ("database.ssl_ca: /etc/ssl_ca/ssl_key.pem: No such file", "ssl-ca: /etc/ssl_ca/ssl_key.pem: No such file"),
        ("Access denied for user 'a'@'b'", "Access denied for user 'a'@'b'"),
    ],
)
def test_each_word(text: str, told: str) -> None:
    assert in_url(text) == told == in_url(told)


def test_no_line_of_the_engine_and_of_logins_keeps_a_field() -> None:
    lines = lines_of_the_engine()
    assert len(lines) > 10 and any("1.0 or 1.1" in line for line in lines)
    for text in [*lines, *refused._HINTS.values(), refused._REQUIRE]:
        left = FIELD.findall(re.sub(r"\(its [^)]*\)|database\.\{", "", in_url(text)))
        # The engine's names of fields, which it puts behind `database.`.
        assert not left or text in PARAMETERS, text


@pytest.mark.parametrize(
    ("where", "what", "told"),
    [
        ("database.url", "cannot connect to db:3306", "URL: cannot connect to db:3306 (hint: ssl-key)"),
        ("database.ssl_cert", "is of no use", "URL: ssl-cert: is of no use (hint: ssl-key)"),
        ("--for", "is no time", "--for: is no time (hint: ssl-key)"),
        (None, "it ended", "it ended (hint: ssl-key)"),
    ],
)
def test_an_error_is_placed_in_the_url(where: str | None, what: str, told: str) -> None:
    with pytest.raises(UserError) as caught, named_by_url(), named_by_url():
        raise UserError(what, where=where, hint="ssl_key")
    assert str(caught.value) == told


def test_an_error_stays_of_its_kind() -> None:
    with pytest.raises(FlatwaterError, match=r"^URL: it does not answer$") as caught, named_by_url():
        raise FlatwaterError("it does not answer", where="database.url")
    assert type(caught.value) is FlatwaterError
