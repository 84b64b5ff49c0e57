"""`reconnect_every` on a real server: how often, what it costs, and what happens when the server refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from serverlab import OLTP, TPCC, Foreign, ServerLab

SERVED = {**OLTP, "mode": "point_select", "duration_s": 2, "reconnect_every": 5}


def connects(foreign: Foreign) -> int:
    """Connections that the server has accepted since its start."""
    ((_, accepted),) = foreign.instance.query("SHOW GLOBAL STATUS LIKE 'Connections'")
    return int(accepted or 0)


@pytest.mark.slow_cases("tpcc")
@pytest.mark.parametrize("workload", [OLTP, TPCC], ids=["oltp", "tpcc"])
def test_each_connection_serves_as_many_transactions(servers: ServerLab, workload: dict[str, object]) -> None:
    every = 5
    ran = servers.go({**workload, "reconnect_every": every, "duration_s": 2})
    assert ran.code == 0, ran.stderr
    connected = ran.recorded.series("workload", "connect_ops_per_s").value.sum()
    transactions = ran.recorded.series("workload", "ops_per_s").value.sum()
    assert transactions / connected == pytest.approx(every, rel=0.25)
    assert ran.summary.errors == 0 and ran.summary.counters["reconnects"] == 0, "none of them was an outage"


def test_connecting_is_told_apart_and_is_no_transaction(servers: ServerLab) -> None:
    ran = servers.go(SERVED)
    assert ran.code == 0, ran.stderr
    latency = ran.summary.latency_by_kind_us
    assert latency["connect"].p50 > latency["transaction"].p50, "a login is more than a select of a row"
    assert latency["all"] == latency["transaction"]
    recorded = ran.recorded.series("workload", "transaction_ops_per_s").value.mean()
    assert ran.cell["mean"] == pytest.approx(recorded, rel=0.1)
    # Of clients that log in again and again that is most of their time.
    connects, transactions = (
        ran.recorded.series("workload", f"{kind}_ops_per_s").value.sum() for kind in ("connect", "transaction")
    )
    assert connects * latency["connect"].p50 > 0.5 * transactions * latency["transaction"].p50


def test_the_server_counts_them_too(servers: ServerLab, foreign: Foreign) -> None:
    url = foreign.url(foreign.schema("again"))
    servers.go({**SERVED, "duration_s": 0.5}, {"url": url, "load": True})
    before = connects(foreign)
    ran = servers.go(SERVED, {"url": url})
    assert ran.code == 0, ran.stderr
    told = ran.recorded.series("workload", "connect_ops_per_s").value.sum() * 0.1
    # Intervals are about as long as asked for; the run also has connections for its questions.
    assert 0.9 * told <= connects(foreign) - before <= 1.2 * told + 100


class TestRefused:
    """The server takes fewer connections than there are clients: those that are there stay until they reconnect."""

    CLIENTS, TAKEN = 20, 10

    @pytest.fixture
    def full(self, servers: ServerLab, foreign: Foreign) -> Iterator[str]:
        url = foreign.url(foreign.schema("full"))
        loaded = servers.go({**SERVED, "duration_s": 0.5}, {"url": url, "load": True})
        assert loaded.code == 0, loaded.stderr
        most = foreign.instance.variables()["max_connections"]
        yield url
        foreign.instance.query(f"SET GLOBAL max_connections = {most}")

    def test_the_run_ends_and_says_why(self, servers: ServerLab, foreign: Foreign, full: str) -> None:
        run = servers.start(servers.write({**SERVED, "connections": self.CLIENTS, "duration_s": 60}, {"url": full}))
        run.until_recorded(2)
        foreign.instance.query(f"SET GLOBAL max_connections = {self.TAKEN}")
        ran = run.wait()
        assert ran.code == 1, ran.stderr
        assert "cannot connect again: Too many connections (error 1040)" in ran.error, ran.error
        assert "a larger max_connections of the server" in ran.error
        assert ran.summary.counters["connect_failures"] > 0

    def test_it_goes_on_if_it_may_and_tells_how_often(self, servers: ServerLab, foreign: Foreign, full: str) -> None:
        workload = {**SERVED, "connections": self.CLIENTS, "on_error": "continue", "duration_s": 4}
        run = servers.start(servers.write(workload, {"url": full}))
        run.until_recorded(2)
        foreign.instance.query(f"SET GLOBAL max_connections = {self.TAKEN}")
        ran = run.wait()
        assert ran.code == 0, ran.stderr
        # What fails after the measured phase is an error of the run, too. The other counters are those of the phase.
        assert ran.summary.errors == ran.summary.counters["error_1040"]
        assert ran.summary.errors >= ran.summary.counters["connect_failures"] > 0
        assert any("cannot connect again: Too many connections" in event.text for event in ran.summary.events)
        assert ran.cell["latency_by_kind_us"]["connect"]["max"] > 10_000, (
            "the pause before the next attempt is part of it"
        )
