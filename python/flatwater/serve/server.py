"""The server, from its start until it is ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from flatwater.errors import UserError
from flatwater.serve.app import make_app
from flatwater.serve.catalogue import Catalogue
from flatwater.serve.guard import Access
from flatwater.serve.hub import Hub
from flatwater.serve.port import is_loopback, open_port
from flatwater.serve.writers import Writers
from flatwater.spelling import guessed_path

#: Seconds that answers under way have when the server ends.
ENDING_S = 1
#: Open files: those of all viewers, and some.
FILES_MAX = 4096
#: How far the server stands back where processors are short: a run on this machine may be measured.
NICE = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Served:
    """What is served, and where."""

    roots: Sequence[Path]
    url: str
    #: Whether other machines reach it.
    reachable: bool


def serve(roots: Sequence[Path], host: str, port: int, tell: Callable[[Served], None]) -> None:
    """Serves the results below `roots` until Ctrl-C, SIGTERM or SIGHUP. `tell` is called once it answers.

    On a host that others reach, a token is made, and is in the url.

    Errors: UserError for a folder that is none, a host that is not this machine's, or a port that is taken.
    """
    for root in roots:
        if not root.is_dir():
            hint = guessed_path(root) or "a folder with results: flatwater serve DIR"
            raise UserError("no such folder", where=str(root), hint=hint)
    _allow_many_viewers()
    os.nice(NICE)
    opened = open_port(host, port)
    with opened:
        reachable = not is_loopback(opened)
        token = secrets.token_urlsafe(24) if reachable else None
        address, number = opened.getsockname()[:2]
        # A name that leads to this machine only is not answered to: whoever gave it may let it lead elsewhere.
        access = Access(host if reachable or host == "localhost" else address, number, token)
        url = url_of(access) + (f"?token={token}" if token is not None else "")
        asyncio.run(_serve(opened, access, Catalogue(roots), lambda: tell(Served(roots, url, reachable))))


def _allow_many_viewers() -> None:
    """As many open files as this process may have: each viewer is one, and the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(FILES_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def url_of(access: Access) -> str:
    """The address where a server answers, as another program asks for it."""
    # All addresses are no address: another machine asks for this one by its name.
    host = socket.gethostname() if access.host in ("0.0.0.0", "::") else access.host  # noqa: S104 - asked, not bound
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{access.port}/"


async def _serve(opened: socket.socket, access: Access, catalogue: Catalogue, told: Callable[[], None]) -> None:
    hub = Hub(Writers())
    server = Server(configured(make_app(catalogue, hub, access)), told)
    ending: set[asyncio.Task[None]] = set()

    def end() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True
        ending.add(asyncio.ensure_future(hub.end()))

    # Answers that the end cut off are no errors.
    logging.getLogger("uvicorn.error").addFilter(lambda record: not server.should_exit)
    loop = asyncio.get_running_loop()
    # A signal that is ignored stays ignored: nohup relies on this.
    caught = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in caught:
        loop.add_signal_handler(number, end)
    catalogue.start()
    try:
        await server.serve([opened])
    finally:
        catalogue.end()
        await hub.end()
        for number in caught:
            loop.remove_signal_handler(number)


def configured(app: ASGIApp) -> uvicorn.Config:
    """How an application is served."""
    return uvicorn.Config(
        app,
        # What fails is told in the page; a bug is told on standard error.
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=ENDING_S,
    )


class Server(uvicorn.Server):
    """uvicorn without its own way to end: it would send itself the signal again, as if nobody had heard it."""

    def __init__(self, config: uvicorn.Config, told: Callable[[], None]) -> None:
        super().__init__(config)
        self._told_us = told

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to whoever serves."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Tells once the port answers."""
        await super().startup(sockets)
        self._told_us()
