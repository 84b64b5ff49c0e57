"""Who may ask: by the names of this machine, from no other origin, and with the token if there is one.

GET and HEAD change nothing, and without `--allow-run` nothing else is taken. With it, a POST must have the token, and
must say in `Origin` that a page of this server sent it.

A page elsewhere could make a browser ask a server of this machine. A browser names in `Host` what it was asked for, and
so a name that somebody lets point here (DNS rebinding) is refused; `Origin` and `Sec-Fetch-Site` (Fetch Metadata, W3C)
name where a request comes from.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: What a page may do unless it says otherwise: load its own scripts, styles and pictures, and ask this server.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: On every answer.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With "no-referrer", a form would say that its origin is null (Fetch, "append a request Origin header").
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Access:
    """What a server lets in."""

    #: The host that was asked for with `--host`.
    host: str
    port: int
    #: None for a server that only this machine reaches, and that only shows.
    token: str | None = None
    #: Whether runs may be started and stopped.
    allow_run: bool = False

    def __post_init__(self) -> None:
        if self.token is None and (self.reachable or self.allow_run):
            raise ValueError("others may ask, or something may be changed: that takes a token")

    @property
    def reachable(self) -> bool:
        """Whether other machines reach it."""
        address = _address(self.host)
        return self.host != "localhost" if address is None else not address.is_loopback

    @property
    def cookie(self) -> str:
        """The name of the cookie. Cookies do not know ports, and so the name does."""
        return f"flatwater-{self.port}"

    def knows(self, host: str) -> bool:
        """Whether a name in `Host` is one of ours."""
        name = _name_of(host)
        if name is None:
            return False
        address = _address(name)
        if address is not None:
            # An address that was written as one is no name that somebody could turn around.
            return address.is_loopback or self.reachable
        names = {"localhost"} if not self.reachable else {"localhost", self.host.lower(), socket.gethostname().lower()}
        return name in names

    def accepts(self, told: str) -> bool:
        """Whether a token is the right one; the answer takes the same time for each wrong one."""
        return self.token is not None and hmac.compare_digest(told.encode(errors="replace"), self.token.encode())


def _name_of(host: str) -> str | None:
    """The name or the address in a `Host`, without its port; None if it is none."""
    if host.startswith("["):
        inside, bracket, port = host[1:].partition("]")
        return inside if bracket and (not port or (port[0] == ":" and port[1:].isdigit())) else None
    name, colon, port = host.partition(":")
    return name.lower() if name and (not colon or port.isdigit()) else None


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request in, or answers why not."""
        if scope["type"] != "http":
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", POLICY)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = self._refusal(scope)
        await (self._app if refused is None else refused)(scope, receive, answer)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.knows(hosts[0]):
            return _refused(403, "This server does not answer to that name. Open the address that flatwater told.")
        origins = headers.getlist("origin")
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins) or _comes_from_elsewhere(headers):
            return _refused(403, "A page of another origin asked for this.")
        changes = scope["method"] not in ("GET", "HEAD")
        if changes and not (self._access.allow_run and scope["method"] == "POST"):
            return _refused(405, "This server only shows: GET and HEAD.", {"Allow": "GET, HEAD"})
        if changes and not _comes_from_here(headers, origins):
            return _refused(403, "Only a page of this server may ask for that.")
        return None if self._access.token is None else self._without_token(scope, headers, changes=changes)

    def _without_token(self, scope: Scope, headers: Headers, *, changes: bool) -> Response | None:
        """What a request without the token is answered; one with the token in its address gets a cookie instead."""
        access = self._access
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        told = [value for name, value in asked if name == "token"]
        if told and not changes and all(access.accepts(one) for one in told):
            rest = urlencode([(name, value) for name, value in asked if name != "token"])
            # One slash at the start: two would name another host.
            answer = RedirectResponse("/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(access.cookie, told[0], httponly=True, samesite="strict", path="/")
            return answer
        kept = _cookie(headers, access.cookie)
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if access.accepts(kept) or (kind.lower() == "bearer" and access.accepts(bearer.strip())):
            return None
        return _refused(
            401,
            "Open the whole address that flatwater told, with the token in it, or send authorization: Bearer TOKEN.",
        )


def _cookie(headers: Headers, name: str) -> str:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""


def _comes_from_elsewhere(headers: Headers) -> bool:
    """Whether another page asked. A link there that somebody follows is no such request: it opens a page of its own."""
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return False
    return (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) != ("navigate", "document")


def _comes_from_here(headers: Headers, origins: list[str]) -> bool:
    """Whether a page of this server asked: every browser says so of a POST, and its origin was compared before."""
    return len(origins) == 1 and headers.get("sec-fetch-site", "same-origin") == "same-origin"


def _refused(status: int, why: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{why}\n", status, headers)
