"""A server across a network that is lost while it is observed, and comes back."""

from __future__ import annotations

import itertools
import json
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from benchmarks.servers.network import Network
from lab import Lab
from netlab import open_network
from observelab import events, intervals, seen, start
from watchedlab import WatchedServer

from flatwater.server import Binary


@pytest.fixture
def network() -> Iterator[Network]:
    with open_network(1) as network:
        yield network


@pytest.fixture
def far(binary: Binary, empty: Path, network: Network) -> Iterator[WatchedServer]:
    """A server at work on another machine of the network."""
    with tempfile.TemporaryDirectory(prefix="flatwater-test-") as folder, ExitStack() as ending:
        enter = network.enter(0)
        server = WatchedServer(binary, Path(folder), empty, through=enter, address=network.address(0))
        ending.callback(server.close)
        server.start()
        server.work()
        yield server


def silent(lines: list[dict[str, Any]]) -> int:
    """Intervals in which the server told nothing."""
    return sum("metrics" in line and "database.threads_connected" not in line["metrics"] for line in lines)


@pytest.mark.slow
def test_a_network_that_is_lost_and_comes_back(lab: Lab, far: WatchedServer, network: Network) -> None:
    running = start(lab, far.tcp_url())
    seen(running, lambda lines: intervals(lines) >= 3)
    network.cut(0)
    seen(running, lambda lines: bool(events(lines, "fault")) and silent(lines) >= 4)
    network.mend(0)
    seen(running, lambda lines: any("answers again" in text for text in events(lines, "recovered")))
    seen(running, lambda lines: "workload.throughput" in (lines[-1].get("metrics") or ()))
    journal = (running.out / "cells" / "0000" / "journal.jsonl").read_text().splitlines()
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and ran.summary.status == "complete", ran.stderr
    assert [event.kind for event in ran.summary.events] == ["fault", "recovered"]
    (told,) = [event.text for event in ran.summary.events if event.kind == "recovered"]
    # The server went on, and says how far. Nobody says that it was down.
    assert "statements meanwhile" in told and "started anew" not in told
    assert not (ran.recorded.series("workload", "throughput").value == 0).any()
    # No second is missing: the observer never waited for the network.
    spans = [(line["start_s"], line["time_s"]) for line in map(json.loads, journal) if "metrics" in line]
    assert all(before[1] == after[0] for before, after in itertools.pairwise(spans))


def test_ctrl_c_while_the_network_is_lost(lab: Lab, far: WatchedServer, network: Network) -> None:
    running = start(lab, far.tcp_url())
    seen(running, lambda lines: intervals(lines) >= 2)
    network.cut(0)
    seen(running, lambda lines: bool(events(lines, "fault")))
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and ran.at_once and ran.summary.status == "complete"
    (fault,) = [event.text for event in ran.summary.events if event.kind == "fault"]
    assert "does not answer" in fault and "\n" not in fault
