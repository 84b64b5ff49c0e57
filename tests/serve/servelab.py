"""A server of the tests, in a thread, and what a browser would send to it: no network but this machine's own."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

import uvicorn
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from flatwater._engine import Histogram
from flatwater.results import Result, create_result
from flatwater.results.schema import CellPlan, Manifest
from flatwater.serve.app import make_app
from flatwater.serve.catalogue import Catalogue, Query
from flatwater.serve.guard import Access
from flatwater.serve.hub import Hub
from flatwater.serve.launch.launcher import Launcher
from flatwater.serve.metrics import Metrics
from flatwater.serve.port import open_port
from flatwater.serve.server import configured
from flatwater.serve.stored import Stored
from flatwater.serve.writers import Writers

#: For what hangs; no test waits for it.
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Lab:
    """A server of some folders."""

    def __init__(
        self,
        roots: Sequence[Path],
        token: str | None = None,
        launcher: Launcher | None = None,
        connections: int = 1000,
        viewers: int = 1000,
        stored: Sequence[Stored] = (),
    ) -> None:
        self._socket = open_port("127.0.0.1", 0)
        self.port: int = self._socket.getsockname()[1]
        self.catalogue = Catalogue([*roots, *(one.folder for one in stored)], stored)
        self.hub = Hub(Writers(), viewers)
        access = Access("127.0.0.1", self.port, token, launcher is not None)
        app = make_app(self.catalogue, self.hub, access, launcher)
        self.token = token
        self.launcher = launcher
        self._server = uvicorn.Server(configured(app, connections))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        await self._server.serve([self._socket])
        await self.hub.end()

    @property
    def connections(self) -> set[Any]:
        """Those that are open."""
        return self._server.server_state.connections

    def __enter__(self) -> Lab:
        self._thread.start()
        wait_for(lambda: self._server.started)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)
        if self.launcher is not None:
            self.launcher.end()
        assert not self._thread.is_alive()
        self._socket.close()

    def address(self, path: str) -> str:
        """What a browser that comes for the first time is sent to."""
        told = "" if self.token is None else f"?{urlencode({'token': self.token})}"
        return f"http://127.0.0.1:{self.port}{path}{told}"

    def ask(
        self, path: str, headers: dict[str, str] | None = None, method: str = "GET", body: str | None = None
    ) -> Answer:
        """An answer, read to its end."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def post(self, path: str, lines: str = "", headers: dict[str, str] | None = None) -> Answer:
        """What a form of a page of this server is answered; `headers` replaces those of a browser with the cookie."""
        of_browser = {
            "Origin": f"http://127.0.0.1:{self.port}",
            "Sec-Fetch-Site": "same-origin",
            "Cookie": f"flatwater-{self.port}={self.token}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.ask(path, of_browser if headers is None else headers, "POST", urlencode({"lines": lines}))

    def look(self, path: str) -> Answer:
        """What the browser with the cookie is shown."""
        return self.ask(path, {"Cookie": f"flatwater-{self.port}={self.token}"})

    def watch(self, key: str) -> Events:
        """What a page of a run under way is sent."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}
        connection.request("GET", f"/run/{key}/events", headers=headers)
        return Events(connection, connection.getresponse())

    def silent_viewer(self, key: str) -> socket.socket:
        """One who asks for the events of a run, and never reads them."""
        found = socket.socket()
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        found.connect(("127.0.0.1", self.port))
        found.sendall(f"GET /run/{key}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return found


class Events:
    """Server-sent events, one after the other."""

    def __init__(self, connection: HTTPConnection, answer: HTTPResponse) -> None:
        self._connection = connection
        self.answer = answer

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        name = ""
        while line := self.answer.readline():
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                name = text.removeprefix("event: ")
            elif text.startswith("data: "):
                yield name, json.loads(text.removeprefix("data: "))

    def until(self, then: Callable[[str, dict[str, Any]], bool]) -> tuple[str, dict[str, Any]]:
        """The first event of which this is true."""
        for name, data in self:
            if then(name, data):
                return name, data
        raise AssertionError("the stream ended before that")

    def close(self) -> None:
        self._connection.close()
        self.answer.close()


def wait_for(event: Callable[[], object]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not event():
        assert time.monotonic() < end_s, "it never came"
        time.sleep(0.01)


def started_run(path: Path, *, title: str = "A run under way", cells: int = 1) -> Result:
    """A result as a run makes it, before its first second."""
    manifest = Manifest(
        name="under-way",
        title=title,
        flatwater_version="0.1.0",
        status="running",
        created_at="2026-11-26T10:00:00+00:00",
        seed=1,
        cells=[CellPlan(index=index, repeat=0, set={}, seed=1) for index in range(cells)],
    )
    text = 'name = "under-way"\n[workload]\nkind = "fileio"\nunit = "MiB/s"\n[storage]\nkind = "file"\n'
    return create_result(path, manifest, text, {})


def write_seconds(result: Result, first: int, count: int, cell: int = 0, **more: float) -> None:
    """Seconds in the journal of a cell, as the runner writes them."""
    journal = result.cells[cell].journal
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a") as handle:
        for at in range(first, first + count):
            metrics = {
                "workload.throughput": 100.0 + at % 7,
                "workload.latency_p99_us": 900.0,
                "database.checkpoint_age_bytes": 3e8,
                "database.checkpoint_age_max_bytes": 4e8,
                **{name.replace("__", "."): value for name, value in more.items()},
            }
            line = {"time_s": at + 1.0, "start_s": float(at), "phase": "measure", "cpu_s": 0.1, "totals": {}}
            handle.write(json.dumps({**line, "counters": {}, "metrics": metrics, "histograms": {}}) + "\n")


def write_event(result: Result, at_s: float, text: str) -> None:
    with result.cells[0].journal.open("a") as handle:
        handle.write(json.dumps({"event": {"time_s": at_s, "kind": "fault", "text": text}}) + "\n")


def write_latencies(result: Result, at_s: float, latencies_us: list[int], phase: str = "measure") -> None:
    """One more interval of a run, with a histogram."""
    histogram = Histogram()
    for latency_us in latencies_us:
        histogram.record_ns(latency_us * 1000)
    told = base64.b64encode(histogram.to_v2()).decode()
    line = {"time_s": at_s, "start_s": at_s - 1, "phase": phase, "cpu_s": 0.1, "totals": {}, "counters": {}}
    line |= {"metrics": {"workload.throughput": 3.0}, "histograms": {"read": told, "fsync": told}}
    result.cells[0].journal.parent.mkdir(parents=True, exist_ok=True)
    with result.cells[0].journal.open("a") as handle:
        handle.write(json.dumps(line) + "\n")


def told(metrics: Metrics, *folders: Path) -> str:
    """What is told of the runs under way in some folders."""
    catalogue = Catalogue(folders)
    catalogue.listing(Query())  # what it shows is read
    text = metrics.text([one.place for one in catalogue.running(Writers())])
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1
    list(text_string_to_metric_families(text))  # as a scraper reads it
    return text
