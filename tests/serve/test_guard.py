from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from flatwater.serve.guard import Access, Guard

TOKEN = "a-token-of-this-test"
OPEN = Access("127.0.0.1", 8765)
CLOSED = Access("db1.example", 8765, TOKEN)
LOCAL = {"host": "127.0.0.1:8765"}
COOKIE = {"host": "db1.example:8765", "cookie": f"flatwater-8765={TOKEN}"}


def ask(
    access: Access,
    headers: dict[str, str] | list[tuple[str, str]],
    path: str = "/",
    query: str = "",
    method: str = "GET",
) -> tuple[int, dict[str, str], bytes]:
    """What the guard, or the application behind it, answers."""
    sent: list[dict[str, Any]] = []
    given = headers.items() if isinstance(headers, dict) else headers
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    guard = Guard(PlainTextResponse("what is behind"), access)
    asyncio.run(guard(scope, receive, send))
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], told, sent[1]["body"]


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9000", "127.0.0.1:8765", "127.0.0.2", "[::1]:8765", "[::1]", "LOCALHOST:1"]
)
def test_this_machine_is_let_in(host: str) -> None:
    assert ask(OPEN, {"host": host})[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        *("attacker.example", "attacker.example:8765", "127.0.0.1.attacker.example", "localhost.attacker.example"),
        *("192.168.0.7:8765", "0.0.0.0:8765", "[::]:8765", "db1.example:8765", "", "localhost:", "localhost:x"),
        *("localhost:80:80", "[::1", "[::1]x", "localhost.", "127.0.0.1@attacker.example", "2130706433"),
    ],
)
def test_a_name_that_leads_here_is_not_answered_to(host: str) -> None:
    status, _, body = ask(OPEN, {"host": host})
    assert status == 403 and b"what is behind" not in body


def test_one_name_is_given() -> None:
    assert ask(OPEN, {})[0] == 403
    assert ask(OPEN, [("host", "localhost"), ("host", "attacker.example")])[0] == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8765", 200),
        ("http://127.0.0.1:9999", 403),
        ("https://127.0.0.1:8765", 403),
        ("http://attacker.example", 403),
        ("http://localhost:8765", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_no_other_origin_is_answered(origin: str, status: int) -> None:
    assert ask(OPEN, LOCAL | {"origin": origin})[0] == status


@pytest.mark.parametrize(
    ("site", "mode", "dest", "status"),
    [
        ("same-origin", "cors", "empty", 200),
        ("none", "navigate", "document", 200),
        ("cross-site", "navigate", "document", 200),  # a link that somebody follows
        ("cross-site", "navigate", "iframe", 403),
        ("cross-site", "no-cors", "image", 403),
        ("cross-site", "cors", "empty", 403),
        ("same-site", "no-cors", "script", 403),  # another port of this machine
    ],
)
def test_no_page_elsewhere_loads_anything(site: str, mode: str, dest: str, status: int) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert ask(OPEN, LOCAL | headers)[0] == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_it_only_shows(method: str) -> None:
    status, headers, _ = ask(OPEN, LOCAL, method=method)
    assert status == 405 and headers["allow"] == "GET, HEAD"


def test_every_answer_is_for_this_page_only() -> None:
    for _, headers, _ in (ask(OPEN, LOCAL), ask(OPEN, {"host": "attacker.example"}), ask(CLOSED, COOKIE)):
        assert headers["content-security-policy"].startswith("default-src 'none'; ")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin" and headers["cache-control"] == "no-store"
        assert not [name for name in headers if name.startswith("access-control-")]


def test_without_the_token_nobody_is_let_in() -> None:
    host = {"host": "db1.example:8765"}
    for headers in (
        host,
        host | {"cookie": "flatwater-8765=wrong"},
        host | {"cookie": "flatwater-8765="},
        host | {"cookie": f"flatwater-9999={TOKEN}"},
        host | {"cookie": '\\"=;;'},
        host | {"authorization": "Bearer wrong"},
        host | {"authorization": f"Basic {TOKEN}"},
        host | {"authorization": "Bearer"},
        LOCAL,
    ):
        status, _, body = ask(CLOSED, headers)
        assert status == 401 and TOKEN.encode() not in body
    for wrong in (
        "token=",
        "token=wrong",
        f"token={TOKEN}x",
        f"token=wrong&token={TOKEN}",
        "token=%ff",
        "token=\u20ac",
    ):
        assert ask(CLOSED, host, query=wrong)[0] == 401


def test_the_token_is_in_the_address_once() -> None:
    status, headers, _ = ask(CLOSED, {"host": "db1.example:8765"}, "/run/x", f"q=a+b&token={TOKEN}")
    assert (status, headers["location"]) == (303, "/run/x?q=a+b")
    cookie = headers["set-cookie"]
    assert cookie.startswith(f"flatwater-8765={TOKEN};") and "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert ask(CLOSED, COOKIE)[0] == 200
    assert ask(CLOSED, {"host": "10.0.0.5:8765", "authorization": f"Bearer {TOKEN}"})[0] == 200


@pytest.mark.parametrize("path", ["//attacker.example/", "///attacker.example", "/\\attacker.example"])
def test_nobody_is_sent_elsewhere(path: str) -> None:
    _, headers, _ = ask(CLOSED, {"host": "db1.example"}, path, f"token={TOKEN}")
    location = headers["location"]
    assert location.startswith("/") and not location.startswith(("//", "/\\"))


#: A server of this machine from whose pages runs are started, what its own page sends, and what it lacks elsewhere.
STARTING = Access("127.0.0.1", 8765, TOKEN, allow_run=True)
OWN = LOCAL | {"origin": "http://127.0.0.1:8765", "cookie": f"flatwater-8765={TOKEN}", "sec-fetch-site": "same-origin"}


def test_a_page_of_the_server_may_change_something() -> None:
    assert ask(STARTING, OWN, method="POST")[0] == 200
    # Older browsers do not send Fetch Metadata; a program sends the token as it likes.
    assert ask(STARTING, {name: one for name, one in OWN.items() if name != "sec-fetch-site"}, method="POST")[0] == 200
    bearer = LOCAL | {"origin": "http://127.0.0.1:8765", "authorization": f"Bearer {TOKEN}"}
    assert ask(STARTING, bearer, method="POST")[0] == 200
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "post"):
        assert ask(STARTING, OWN, method=method)[0] == 405


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"origin": None}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),  # another port of this machine: for the cookie the same site
        ({"origin": "http://localhost:8765"}, 403),
        ({"origin": "http://attacker.example"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 403),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 403),
        ({"host": "attacker.example", "origin": "http://attacker.example"}, 403),
        ({"cookie": None}, 401),
        ({"cookie": "flatwater-8765=wrong"}, 401),
        ({"cookie": f"flatwater-9999={TOKEN}"}, 401),
    ],
)
def test_nobody_else_changes_anything(change: dict[str, str | None], status: int) -> None:
    headers = {name: value for name, value in (OWN | change).items() if value is not None}
    answered, _, body = ask(STARTING, headers, method="POST")
    assert answered == status and b"what is behind" not in body


def test_a_token_in_an_address_changes_nothing() -> None:
    headers = {name: value for name, value in OWN.items() if name != "cookie"}
    assert ask(STARTING, headers, query=f"token={TOKEN}", method="POST")[0] == 401


def test_on_this_machine_only_the_names_stay_strict_with_a_token() -> None:
    cookie = {"cookie": f"flatwater-8765={TOKEN}"}
    assert ask(STARTING, cookie | {"host": "localhost:8765"})[0] == 200
    for host in ("192.168.0.7:8765", "db1.example:8765", socket.gethostname(), "attacker.example"):
        assert ask(STARTING, cookie | {"host": host})[0] == 403
    assert ask(STARTING, LOCAL)[0] == 401


def test_without_a_token_nobody_else_is_let_near() -> None:
    for host, allow_run in (("0.0.0.0", False), ("db1.example", False), ("127.0.0.1", True)):
        with pytest.raises(ValueError, match="takes a token"):
            Access(host, 8765, None, allow_run)


def test_the_token_does_not_replace_the_checks() -> None:
    assert ask(CLOSED, COOKIE | {"host": "attacker.example"})[0] == 403
    assert ask(CLOSED, COOKIE | {"origin": "http://attacker.example"})[0] == 403
    assert ask(CLOSED, COOKIE, method="POST")[0] == 405
