from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from flatwater.experiment.database.address import Address, has_password, parse_url, without_password
from flatwater.experiment.database.tls import PARAMETERS, TlsWords


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mysql://me@db", Address("me", None, None, host="db", port=3306)),
        ("mysql://me:pw@db:3307/tpcc", Address("me", "pw", "tpcc", host="db", port=3307)),
        ("MySQL://me@[::1]:3307/", Address("me", None, None, host="::1", port=3307)),
        ("mysql://me:p%2Fq%40r%25@10.0.0.1/", Address("me", "p/q@r%", None, host="10.0.0.1")),
        ("mysql://db/?user=me&password=a%26b&schema=x", Address("me", "a&b", "x", host="db")),
        ("mysql:///run/my.sock?user=me", Address("me", None, None, socket="/run/my.sock")),
        ("mysql://me:pw@/run/my%20sql.sock?schema=x", Address("me", "pw", "x", socket="/run/my sql.sock")),
    ],
)
def test_urls_are_taken_apart(url: str, address: Address) -> None:
    assert parse_url(url) == address


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("mysql://me@db", "mysql://me@db"),
        ("mysql://me:pw@db:3307/tpcc", "mysql://me@db:3307/tpcc"),
        ("mysql://db/x?user=me&password=pw", "mysql://db/x?user=me"),
        ("mysql:///run/my.sock?password=pw&user=me", "mysql:///run/my.sock?user=me"),
        ("mysql://me:pw@/run/my.sock", "mysql://me@/run/my.sock"),
    ],
)
def test_a_password_is_taken_out_and_nothing_else(url: str, without: str) -> None:
    assert without_password(url) == without
    assert without_password(without) == without
    assert not has_password(without)


# An empty password in a url is none: the environment's may then be meant.
passwords = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1, max_size=30)


@given(passwords)
def test_any_password_is_read_and_left_out(password: str) -> None:
    from urllib.parse import quote

    written = quote(password, safe="")
    for url in (f"mysql://me:{written}@db/x", f"mysql:///x.sock?user=me&password={written}"):
        address = parse_url(url)
        assert address.password == password
        assert has_password(url)
        left = parse_url(without_password(url))
        assert (left.user, left.password, left.host, left.socket) == ("me", None, address.host, address.socket)


@given(st.text(max_size=60).map("mysql://me:s3cr3t@".__add__) | st.text(max_size=60))
def test_no_error_shows_the_url(url: str) -> None:
    try:
        parse_url(url)
    except PydanticCustomError as error:
        assert "s3cr3t" not in str(error)


def test_what_is_no_url_has_no_password() -> None:
    assert not has_password(3)
    assert not has_password("http://me:pw@db/")


@pytest.mark.parametrize("place", ["mysql://me@db/x?", "mysql:///run/my.sock?user=me&"])
def test_tls_may_be_said_after_the_question_mark(place: str) -> None:
    said = "ssl-mode=verify_ca&ssl-ca=/my%20ca.pem&ssl_cert=/c&ssl-key=/k&server-public-key-path=/p"
    assert parse_url(place + said).tls == TlsWords("VERIFY_CA", "/my ca.pem", "/c", "/k", "/p")
    assert parse_url(without_password(f"{place}password=x&{said}")).tls == parse_url(place + said).tls
    assert parse_url(place.rstrip("?&")).tls == TlsWords()


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_parameter_of_tls_says_one_thing(parameter: str) -> None:
    name = parameter.replace("_", "-")
    for said, words in ((f"{name}=", "says nothing"), (f"{name}=REQUIRED&{parameter}=REQUIRED", "twice")):
        with pytest.raises(PydanticCustomError) as caught:
            parse_url(f"mysql://me@db/x?{said}")
        assert words in caught.value.message()


def test_a_mode_that_is_not_there() -> None:
    with pytest.raises(PydanticCustomError) as caught:
        parse_url("mysql://me@db/?ssl-mode=on")
    assert "VERIFY_IDENTITY" in (caught.value.context or {})["hint"]
