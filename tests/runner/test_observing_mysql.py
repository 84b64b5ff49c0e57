"""Real MySQL servers are observed: their own counters, their statements, their replication."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab import Lab
from observelab import events, intervals, observe, observe_replica, seen, start, stop_applier, told_of_applier
from watchedlab import WatchedServer, make_empty, starting

from flatwater.server import Binary, find_server

#: Where `python -m benchmarks.servers get mysql-5.7 mysql-8.0` puts them.
SERVERS = Path(os.environ.get("FLATWATER_SERVERS", "~/.cache/flatwater/servers")).expanduser()


@pytest.fixture(scope="module", params=["mysql-5.7", "mysql-8.0", "mysql-9.7"])
def mysql(request: pytest.FixtureRequest) -> Binary:
    path = next((SERVERS / request.param).glob("**/sbin/mysqld"), SERVERS / request.param / "bin" / "mysqld")
    if not path.exists():
        pytest.skip(f"no {path}: python -m benchmarks.servers get {request.param}")
    return find_server(str(path))


@pytest.fixture(scope="module")
def mysql_data(mysql: Binary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_empty(mysql, tmp_path_factory.mktemp("mysql"))


@pytest.fixture
def make_mysql(mysql: Binary, mysql_data: Path) -> Iterator[Callable[..., WatchedServer]]:
    with starting(mysql, mysql_data) as make:
        yield make


@pytest.mark.slow
def test_a_mysql_at_work(lab: Lab, make_mysql: Callable[..., WatchedServer]) -> None:
    server = make_mysql()
    server.work()
    before, ended = server.variables(), server.ended
    ran = observe(lab, server.url(), length="5s")
    assert ran.code == 0, ran.stderr
    assert server.variables() == before
    assert ran.summary.servers[0].flavour == "mysql"
    assert 0 < ran.summary.operations <= server.ended - ended
    told = {*ran.recorded.metrics()}
    wanted = {"checkpoint_age_bytes", "dirty_pct", "pages_flushed_per_s", "threads_running", "server_cpu_user_pct"}
    assert {("database", name) for name in wanted} <= told
    # It is on here without a word of the user's.
    assert any(one.text.startswith("UPDATE") for one in ran.summary.statements)
    assert ("workload", "observer_server_cpu_pct") in told


@pytest.mark.slow
def test_a_mysql_that_dies(lab: Lab, make_mysql: Callable[..., WatchedServer]) -> None:
    server = make_mysql()
    server.work()
    running = start(lab, server.tcp_url())
    seen(running, lambda lines: intervals(lines) >= 2)
    server.kill()
    seen(running, lambda lines: bool(events(lines, "fault")))
    server.start()
    seen(running, lambda lines: any("started anew" in text for text in events(lines, "recovered")))
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and ran.summary.status == "complete", ran.stderr


@pytest.mark.slow
def test_replication_of_a_pair_breaks(lab: Lab, make_mysql: Callable[..., WatchedServer]) -> None:
    common = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=b", "--loose-log-slave-updates=ON")
    source = make_mysql("--server-id=1", *common)
    replica = make_mysql("--server-id=2", *common)
    running = observe_replica(lab, source, replica, "MASTER_AUTO_POSITION = 1")
    stop_applier(running, source, replica)
    # The receiver: its source is gone.
    source.kill()
    seen(running, lambda lines: any("receiver does not run" in text for text in events(lines, "fault")))
    source.start()
    seen(running, lambda lines: any("receiver runs again" in text for text in events(lines, "recovered")))
    ran = running.send(signal.SIGINT)
    assert ran.summary.metrics["database.replica_receivers_stopped"].max == 1
    # The number of the duplicate row's error.
    assert "1062" in told_of_applier(ran)
