"""A server that others run goes away while its load is measured: what is told, and what is kept."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from benchmarks.servers.network import Network
from lab import Lab, Running
from netlab import open_network
from observelab import events, seen
from serverlab import OLTP, ServerLab
from watchedlab import WatchedServer

from flatwater.server import Binary

MakeServer = Callable[..., WatchedServer]
LOAD = {**OLTP, "mode": "read_write", "warmup_s": 0}


def loaded(servers: ServerLab, url: str) -> dict[str, Any]:
    """The database of experiments on a server, with the workload's data in it."""
    database = {"url": url, "schema_name": "away"}
    ran = servers.go({**LOAD, "duration_s": 0.5}, {**database, "load": True})
    assert ran.code == 0, ran.stderr
    return database


def schema(server: WatchedServer) -> WatchedServer:
    server.query("CREATE DATABASE away")
    server.query("GRANT ALL ON away.* TO nobody@localhost")
    return server


class TestLocal:
    @pytest.fixture
    def server(self, make_server: MakeServer) -> WatchedServer:
        return schema(make_server())

    def test_a_killed_server_fails_the_cell_and_what_was_measured_is_kept(
        self, servers: ServerLab, server: WatchedServer
    ) -> None:
        database = loaded(servers, server.url())
        file = servers.write({**LOAD, "duration_s": 4}, database, sweep={"workload.connections": [1, 2]})
        run = servers.start(file)
        run.until_recorded(5)
        server.kill()
        ran = run.wait()
        assert ran.code == 1, ran.stderr
        first, second = (json.loads(line) for line in ran.stdout.splitlines())
        assert first["status"] == second["status"] == "failed"
        assert first["metrics"]["workload.ops_per_s"]["mean"] > 0
        assert "cannot log in" in first["error"] or "cannot connect" in first["error"], first["error"]
        # It was told when it happened, not only at the end.
        (told, *_) = [event for event in ran.result.cells[0].events if event.kind == "fault"]
        assert told.text.startswith("the server does not answer: ") and told.time_s < 3

    def test_a_frozen_server_is_told_and_goes_on(self, servers: ServerLab, server: WatchedServer) -> None:
        run = servers.start(servers.write({**LOAD, "duration_s": 60}, loaded(servers, server.url())))
        run.until_recorded(3)
        server.signal(signal.SIGSTOP)
        seen(run, lambda lines: any("its process is stopped" in text for text in events(lines, "fault")))
        server.signal(signal.SIGCONT)
        seen(run, lambda lines: any("answers again" in text for text in events(lines, "recovered")))
        ran = run.send(signal.SIGINT)
        assert ran.code == 130 and ran.summary.errors == 0, ran.stderr

    def test_a_server_that_is_started_anew_is_told(self, servers: ServerLab, server: WatchedServer) -> None:
        run = servers.start(servers.write({**LOAD, "duration_s": 60}, loaded(servers, server.url())))
        run.until_recorded(3)
        server.kill()
        server.start()
        seen(run, lambda lines: any("started anew" in text for text in events(lines, "recovered")))
        seen(run, lambda lines: any((one.get("metrics") or {}).get("workload.reconnects_per_s") for one in lines))
        assert run.send(signal.SIGINT).code == 130

    def test_why_nobody_is_let_in_again_is_told(self, servers: ServerLab, server: WatchedServer) -> None:
        run = servers.start(servers.write({**LOAD, "duration_s": 6}, loaded(servers, server.url("nobody"))))
        run.until_recorded(3)
        server.query("ALTER USER nobody@localhost IDENTIFIED BY 'changed'")
        server.kill()
        server.start()
        ran = run.wait()
        assert ran.code == 1, ran.stderr
        told = [event.text for event in ran.recorded.events if event.kind == "fault"]
        assert any("cannot connect again: Access denied" in text for text in told), told


class TestAcrossANetwork:
    @pytest.fixture
    def network(self) -> Iterator[Network]:
        with open_network(1) as network:
            yield network

    @pytest.fixture
    def far(self, binary: Binary, empty: Path, network: Network) -> Iterator[WatchedServer]:
        with tempfile.TemporaryDirectory(prefix="flatwater-test-") as folder, ExitStack() as ending:
            enter = network.enter(0)
            server = WatchedServer(binary, Path(folder), empty, through=enter, address=network.address(0))
            ending.callback(server.close)
            server.start()
            yield schema(server)

    def cut(self, servers: ServerLab, far: WatchedServer, network: Network) -> Running:
        run = servers.start(servers.write({**LOAD, "duration_s": 600}, loaded(servers, far.tcp_url())))
        run.until_recorded(3)
        network.cut(0)
        seen(run, lambda lines: bool(events(lines, "fault")))
        return run

    def test_a_link_that_comes_back_is_an_outage(
        self, lab: Lab, servers: ServerLab, far: WatchedServer, network: Network
    ) -> None:
        run = self.cut(servers, far, network)
        network.mend(0)
        seen(run, lambda lines: any("answers again" in text for text in events(lines, "recovered")))
        ran = run.send(signal.SIGINT)
        assert ran.code == 130 and ran.summary.operations > 0, ran.stderr

    @pytest.mark.slow
    def test_sessions_do_not_wait_for_ever_for_a_host_that_is_gone(
        self, servers: ServerLab, far: WatchedServer, network: Network
    ) -> None:
        run = self.cut(servers, far, network)

        def lost(lines: list[dict[str, Any]]) -> bool:
            return any(line.get("totals", {}).get("transaction", [0, 0, 0])[2] for line in lines)

        seen(run, lost)
        ran = run.send(signal.SIGINT)
        assert ran.code == 130 and ran.summary.counters["error_2013"] > 0, ran.stderr
