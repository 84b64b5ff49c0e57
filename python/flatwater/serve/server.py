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
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from flatwater.errors import Interrupted, UserError
from flatwater.results.started import resume_command
from flatwater.results.stored import exists
from flatwater.serve.app import make_app
from flatwater.serve.catalogue import Catalogue
from flatwater.serve.connections import limited
from flatwater.serve.guard import Access
from flatwater.serve.hub import Hub
from flatwater.serve.launch.child import Child
from flatwater.serve.launch.launcher import Launcher
from flatwater.serve.port import is_loopback, open_port
from flatwater.serve.stored import Stored
from flatwater.serve.writers import Writers
from flatwater.spelling import guessed_path
from flatwater.stores import is_address, parse_address

#: Seconds that answers under way have when the server ends.
ENDING_S = 1
#: Open files at most; those of them that are for results, and never for connections; and the connections that are for
#: other things than watching: a page is told that too many watch.
FILES_MAX = 4096
FILES_OF_RESULTS = 512
NOT_WATCHING = 64
#: How far the server stands back where processors are short: a run on this machine may be measured.
NICE = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Served:
    """What is served, and where."""

    places: Sequence[str]
    url: str
    #: Whether other machines reach it.
    reachable: bool
    #: Whether runs can be started from its pages.
    allow_run: bool = False


def serve(
    places: Sequence[Path], host: str, port: int, tell: Callable[[Served], None], *, allow_run: bool = False
) -> None:
    """Serves the results below `places` (folders, or addresses of a store) until Ctrl-C, SIGTERM or SIGHUP.

    `tell` is called once it answers.

    On a host that others reach, and with `allow_run`, a token is made, and is in the url. With `allow_run`, runs can be
    started into the first of the roots; those under way are interrupted at the end, and waited for.

    Errors: UserError for a folder that is none, a store that refuses, a host that is not this machine's, or a port that
    is taken; with `allow_run`, for a result or a store where a folder for new results is meant. StoreGone.
    """
    for place in places:
        if not is_address(place) and not place.is_dir():
            hint = guessed_path(place) or "a folder with results: flatwater serve DIR"
            raise UserError("no such folder", where=str(place), hint=hint)
    if allow_run and is_address(places[0]):
        first = str(parse_address(places[0]))
        hint = f"flatwater serve results {first} --allow-run"
        raise UserError("is no folder for new results", where=first, hint=hint)
    if allow_run and exists(places[0] / "flatwater.json"):
        hint = f"flatwater serve {places[0].parent} --allow-run"
        raise UserError("is a result, and no folder for new ones", where=str(places[0]), hint=hint)
    with ExitStack() as closing:
        stored = {place: Stored(parse_address(place)) for place in places if is_address(place)}
        for one in stored.values():
            closing.callback(one.close)
            one.require()
        _serve_folders(places, stored, host, port, tell, allow_run=allow_run)


def _serve_folders(
    places: Sequence[Path],
    stored: Mapping[Path, Stored],
    host: str,
    port: int,
    tell: Callable[[Served], None],
    *,
    allow_run: bool,
) -> None:
    roots = [stored[place].folder if place in stored else place for place in places]
    # Before the server stands back and takes more files: its runs are as those of a terminal.
    launcher = Launcher(roots[0]) if allow_run else None
    connections = connections_max(_allow_many_files())
    os.nice(NICE)
    opened = open_port(host, port)
    with opened:
        reachable = not is_loopback(opened)
        token = secrets.token_urlsafe(24) if reachable or allow_run else None
        address, number = opened.getsockname()[:2]
        # A name that leads to this machine only is not answered to: whoever gave it may let it lead elsewhere.
        access = Access(host if reachable or host == "localhost" else address, number, token, allow_run)
        url = url_of(access) + (f"?token={token}" if token is not None else "")
        named = [str(stored[place].address) if place in stored else str(place) for place in places]
        served = Served(named, url, reachable, allow_run)
        catalogue = Catalogue(roots, list(stored.values()))
        asyncio.run(_serve(opened, access, catalogue, launcher, connections, lambda: tell(served)))


def _allow_many_files() -> int:
    """As many open files as this process may have: each viewer is one, and the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(FILES_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def connections_max(files: int) -> int:
    """Connections at once of a server that may open so many files."""
    return max(files // 2, files - FILES_OF_RESULTS)


def url_of(access: Access) -> str:
    """The address where a server answers, as another program asks for it."""
    # All addresses are no address: another machine asks for this one by its name.
    host = socket.gethostname() if access.host in ("0.0.0.0", "::") else access.host  # noqa: S104 - asked, not bound
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{access.port}/"


async def _serve(
    opened: socket.socket,
    access: Access,
    catalogue: Catalogue,
    launcher: Launcher | None,
    connections: int,
    told: Callable[[], None],
) -> None:
    hub = Hub(Writers(), max(1, connections - NOT_WATCHING))
    server = Server(configured(make_app(catalogue, hub, access, launcher), connections), told)
    ending: set[asyncio.Task[None]] = set()

    def end() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True
        if launcher is not None:
            _tell_of(launcher.interrupt())
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
        if launcher is not None:
            await _end_runs(launcher)
        for number in caught:
            loop.remove_signal_handler(number)


def configured(app: ASGIApp, connections: int) -> uvicorn.Config:
    """How an application is served, to so many connections at once."""
    return uvicorn.Config(
        app,
        http=limited(connections),
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


async def _end_runs(launcher: Launcher) -> None:
    """Waits for runs that end because the server does, and tells how to go on with each."""
    # Signals are still heard: one more ends the runs at once.
    for child in await asyncio.to_thread(launcher.end):
        if child.code == Interrupted.exit_code and exists(child.folder / "flatwater.json"):
            print(f"what it measured is kept; to go on: {resume_command(child.folder)}", file=sys.stderr, flush=True)


def _tell_of(interrupted: Sequence[Child]) -> None:
    for child in interrupted:
        print(f"interrupting the run {child.folder}; Ctrl-C once more ends it at once", file=sys.stderr, flush=True)


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
