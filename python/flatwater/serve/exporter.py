"""`--metrics`: a run that is asked for itself, from its start to its end."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from flatwater.errors import UserError
from flatwater.serve.alive import runs_under_way
from flatwater.serve.guard import Access, Guard
from flatwater.serve.metrics import CONTENT_TYPE, Metrics
from flatwater.serve.port import is_loopback, open_port
from flatwater.serve.server import NICE, Server, configured, url_of
from flatwater.serve.writers import Writers

#: Where an address without a host listens.
LOOPBACK = "127.0.0.1"
#: The token that other machines send, so that a scraper's file can have it before the run begins.
TOKEN = "FLATWATER_METRICS_TOKEN"  # noqa: S105 - its name
TOKEN_LETTERS_MIN = 16
#: Connections at once: the run needs its files.
CONNECTIONS_MAX = 32
#: Seconds that the end of a run waits for answers under way.
ENDING_S = 5.0


@dataclass(frozen=True)
class Exported:
    """Where a run is asked."""

    url: str
    #: The token that a request must have; None for a run that only this machine reaches.
    token: str | None

    @property
    def told(self) -> str:
        """The line for the user."""
        if self.token is None:
            return f"metrics at {self.url}"
        known = f"the token of {TOKEN}" if TOKEN in os.environ else f"this token: {self.token}"
        return f"metrics at {self.url}, also for other machines, not encrypted; authorization: Bearer with {known}"


@contextmanager
def exporting(written: str | None, folder: Path, tell: Callable[[str], object]) -> Iterator[None]:
    """Serves the metrics of the runs in a folder, which need not be there yet, as long as the `with` lasts.

    `written` is the address of the command line: `:9100` or `HOST:9100`; None serves nothing.

    Errors: UserError for an address that is none, or that is taken.
    """
    if written is None:
        yield
        return
    host, port = _parsed(written)
    with open_port(host, port, where=f"--metrics {written}") as opened:
        reachable = not is_loopback(opened)
        token = _token() if reachable else None
        address, number = opened.getsockname()[:2]
        access = Access(host if reachable or host == "localhost" else address, number, token)
        thread = _Thread(opened, access, folder)
        tell(Exported(f"{url_of(access)}metrics", token).told)
        try:
            yield
        finally:
            thread.end()


def _parsed(written: str) -> tuple[str, int]:
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^:\[\]]*)):([0-9]{1,5})", written)
    if found is None or int(found[3]) > 65535:
        hint = ":9100 for this machine only, or HOST:9100"
        raise UserError("is no address", where=f"--metrics {written}", hint=hint)
    return found[1] or found[2] or LOOPBACK, int(found[3])


def _token() -> str:
    told = os.environ.get(TOKEN)
    if told is None:
        return secrets.token_urlsafe(24)
    if len(told) < TOKEN_LETTERS_MIN or not re.fullmatch(r"[!-~]+", told):
        hint = f"{TOKEN_LETTERS_MIN} letters or more without blanks, or none: then one is made"
        raise UserError("is no good token", where=TOKEN, hint=hint)
    return told


def make_app(folder: Path, access: Access) -> ASGIApp:
    """The application: `/metrics`, and nothing else."""
    metrics, writers = Metrics(), Writers()

    async def answer(request: Request) -> Response:
        text = await run_in_threadpool(lambda: metrics.text(runs_under_way([folder], writers)))
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    def nothing(request: Request, error: Exception) -> Response:
        return PlainTextResponse("There is only /metrics here.\n", 404)

    routes = [Route("/metrics", answer)]
    return Starlette(routes=routes, exception_handlers={404: nothing}, middleware=[Middleware(Guard, access=access)])


class _Thread:
    """The thread that answers. It stands back where processors are short: a run is measured."""

    def __init__(self, opened: socket.socket, access: Access, folder: Path) -> None:
        self._opened = opened
        self._begun = threading.Event()
        self._server = Server(configured(make_app(folder, access), CONNECTIONS_MAX), self._begun.set)
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()
        while not self._begun.wait(0.05) and self._thread.is_alive():
            pass

    def _run(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        asyncio.run(self._server.serve([self._opened]))

    def end(self) -> None:
        """Ends the answers."""
        self._server.should_exit = True
        self._thread.join(ENDING_S)
