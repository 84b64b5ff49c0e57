"""A running server is observed, by the installed program, and whatever happens to it is an event."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection

import pytest
from lab import Lab
from observelab import events, intervals, observe, observe_replica, seen, start, stop_applier, told_of_applier
from waiting import PATIENCE_S
from watchedlab import WatchedServer

from flatwater._engine import Connection, EngineError
from flatwater.analysis.bound import read_evidence
from flatwater.engine_json import to_json
from flatwater.experiment.database.login import Login, Socket

MakeServer = Callable[..., WatchedServer]
#: What the rules and the diagnosis rest on, of a server on this machine.
STRIP = {
    ("database", "checkpoint_age_bytes"), ("database", "dirty_pct"), ("database", "pages_flushed_per_s"),
    ("database", "server_cpu_user_pct"), ("database", "threads_running"), ("machine", "cpu_idle_pct"),
    ("workload", "throughput"), ("workload", "in_flight"), ("workload", "observer_cpu_pct"),
    ("workload", "observer_server_cpu_pct"),
}  # fmt: skip


def test_the_result_is_that_of_a_run(lab: Lab, server: WatchedServer) -> None:
    before, ended = server.variables(), server.ended
    ran = observe(lab, server.url(), length="4s")
    assert ran.code == 0 and server.variables() == before
    summary, cell = ran.summary, ran.recorded
    assert summary.status == "complete" and summary.layers["database"] == "real"
    assert {*cell.metrics()} >= STRIP
    # All that was counted was done by the clients meanwhile.
    assert 0 < summary.operations <= server.ended - ended
    assert summary.client_cpu_us_per_op is None and summary.latency_us is None
    evidence = read_evidence(cell)
    assert evidence.database is not None and evidence.database.redo is not None
    assert evidence.machine.facts["storage"]["path"] == str(server.folder / "data")
    assert "observing cost" in ran.stdout and str(ran.out) in ran.stdout


def test_over_a_port_the_local_process_is_found(lab: Lab, server: WatchedServer) -> None:
    ran = observe(lab, server.tcp_url(), length="2s")
    assert {("database", "server_cpu_user_pct"), ("machine", "cpu_idle_pct")} <= {*ran.recorded.metrics()}
    assert not [gap for gap in ran.summary.gaps if "storage.*" in gap.figures]


def test_ctrl_c_ends_it_and_keeps_what_was_seen(lab: Lab, server: WatchedServer) -> None:
    running = start(lab, server.url())
    seen(running, lambda lines: intervals(lines) >= 3)
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and ran.summary.status == "complete" and ran.summary.samples >= 2
    assert ran.result.manifest.status == "complete"


@pytest.mark.slow
def test_it_is_watched_and_asked_for_its_metrics(lab: Lab, server: WatchedServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = start(lab, server.url(), "--metrics", f":{port}")
    seen(running, lambda lines: intervals(lines) >= 2)
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", "/metrics")
    told = connection.getresponse().read().decode()
    connection.close()
    assert f'flatwater_checkpoint_age_bytes{{run="{running.out.name}",cell="0",unit="tps"}} ' in told
    watching = lab.start(running.out, "--json", verb="watch", out=running.out)
    assert watching.process.stdout is not None
    first = json.loads(watching.process.stdout.readline())
    assert first["metrics"].keys() >= {"workload.throughput", "database.checkpoint_age_bytes"}
    # Ctrl-C is how observing ends, and so it is complete.
    assert running.send(signal.SIGINT).code == 0
    assert watching.wait().code == 0


@pytest.mark.slow
def test_a_server_that_dies_and_is_started_again(lab: Lab, server: WatchedServer) -> None:
    running = start(lab, server.url())
    seen(running, lambda lines: intervals(lines) >= 2)
    server.kill()
    seen(running, lambda lines: bool(events(lines, "fault")))
    server.start()
    seen(running, lambda lines: any("started anew" in text for text in events(lines, "recovered")))
    seen(running, lambda lines: "workload.throughput" in list(lines[-1].get("metrics") or []))
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and ran.summary.status == "complete"
    # While it was dead nothing was done, and that is known.
    assert (ran.recorded.series("workload", "throughput").value == 0).any()


def test_a_frozen_server(lab: Lab, server: WatchedServer) -> None:
    running = start(lab, server.url())
    seen(running, lambda lines: intervals(lines) >= 2)
    server.signal(signal.SIGSTOP)
    seen(running, lambda lines: bool(events(lines, "fault")))
    server.signal(signal.SIGCONT)
    seen(running, lambda lines: any("answers again" in text for text in events(lines, "recovered")))
    ran = running.send(signal.SIGINT)
    (told,) = [event.text for event in ran.summary.events if event.kind == "recovered"]
    assert ran.code == 0 and "statements meanwhile" in told and "started anew" not in told


@pytest.mark.slow
def test_ctrl_c_while_the_server_is_frozen(lab: Lab, server: WatchedServer) -> None:
    running = start(lab, server.url())
    seen(running, lambda lines: intervals(lines) >= 2)
    server.signal(signal.SIGSTOP)
    seen(running, lambda lines: bool(events(lines, "fault")))
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and ran.at_once and ran.summary.status == "complete"


@pytest.mark.slow
def test_no_connection_is_left_for_the_observer(lab: Lab, make_server: MakeServer) -> None:
    server = make_server("--max-connections=10")
    running = start(lab, server.url("nobody"))
    seen(running, lambda lines: intervals(lines) >= 2)
    admin, *others = [Connection(to_json(Login(Socket(str(server.socket)), "root", "", None)))]
    while len(others) < 9:
        with suppress(EngineError):
            others.append(Connection(to_json(Login(Socket(str(server.socket)), "nobody", "", None))))
            continue
        # The observer has the last one, and may be quicker when it is thrown out.
        kept = {one.query("SELECT CONNECTION_ID()")[0][0] for one in others}
        for (number,) in admin.query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'nobody'"):
            with suppress(EngineError):
                admin.query("DO 0" if number in kept else f"KILL {number}")
    seen(running, lambda lines: any("Too many connections" in text for text in events(lines, "fault")))
    for connection in [admin, *others]:
        connection.close()
    seen(running, lambda lines: any("answers again" in text for text in events(lines, "recovered")))
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and ran.summary.status == "complete"


def test_an_account_without_privileges(lab: Lab, server: WatchedServer) -> None:
    ran = observe(lab, server.url("nobody"))
    assert ran.code == 0 and ran.summary.operations > 0
    (gap,) = [gap for gap in ran.summary.gaps if gap.what == "why pages were flushed"]
    assert "PROCESS" in gap.why and "GRANT PROCESS" in gap.remedy
    assert "GRANT PROCESS" in ran.stderr


@pytest.mark.slow
def test_counters_that_are_off_are_told(lab: Lab, server: WatchedServer) -> None:
    ran = observe(lab, server.url())
    (gap,) = [gap for gap in ran.summary.gaps if gap.what == "why pages were flushed"]
    assert "innodb_monitor_enable" in gap.remedy and "database.pages_flushed_sync_per_s" in gap.figures
    server.query("SET GLOBAL innodb_monitor_enable = 'buffer_flush_%'")
    ran = observe(lab, server.url())
    assert not [gap for gap in ran.summary.gaps if gap.what == "why pages were flushed"]
    assert ("database", "pages_flushed_sync_per_s") in ran.recorded.metrics()


@pytest.mark.slow
def test_statements_are_counted_where_clients_commit_nothing(lab: Lab, make_server: MakeServer) -> None:
    ran = observe(lab, make_server().url(), "--json")
    # Nobody is there: not even the observer's own questions count.
    assert ran.cell["unit"] == "qps" and ran.cell["operations"] == 0


@pytest.mark.slow
def test_advice_on_a_url(lab: Lab, server: WatchedServer) -> None:
    out = lab.folder / "advised"
    before = server.variables()
    running = lab.start(server.url("nobody"), "--for", "25s", "--result", out, "--json", verb="advise", out=out)
    told = json.loads(running.wait().stdout)
    assert server.variables() == before and told["run"] == str(out)
    assert running.out.joinpath("series.parquet").exists()
    # The same from the folder that was kept.
    again = json.loads(lab.flatwater("advise", out, "--json").stdout)
    assert again == told
    # All that this server does not tell makes evidence richer, and decides nothing.
    assert told["not_judged"] == []


@pytest.mark.slow
def test_a_tune_up_ended_early(lab: Lab, server: WatchedServer) -> None:
    out = lab.folder / "tuned"
    running = lab.start(server.url(), "--out", out, verb="tune-up", out=out)
    seen(running, lambda lines: intervals(lines) >= 3)
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and (out / "one-page.html").exists()
    assert "Not judged" in ran.stdout and "a diagnosis takes" in ran.stdout
    assert "observing cost" in ran.stderr


def test_advice_is_not_tried_on_a_server_that_is_observed(lab: Lab, server: WatchedServer) -> None:
    ran = observe(lab, server.url(), length="2s")
    again = lab.flatwater("advise", ran.out, "--verify", "--rule", "redo-size")
    assert again.code == 0 and "Nothing to change" in again.stdout


@pytest.mark.slow
def test_a_replica_whose_applier_stops(lab: Lab, make_server: MakeServer) -> None:
    source = make_server("--log-bin=b", "--server-id=1")
    replica = make_server("--server-id=2")
    running = observe_replica(lab, source, replica, "MASTER_USE_GTID = slave_pos")
    stop_applier(running, source, replica)
    assert "Duplicate entry" in told_of_applier(running.send(signal.SIGINT))


@pytest.mark.slow
@pytest.mark.slow
def test_threads_of_replication_are_no_clients(lab: Lab, make_server: MakeServer) -> None:
    """A source and its replica at which nobody works: nothing stalls."""
    source, replica = make_server("--log-bin=b", "--server-id=1"), make_server("--server-id=2")
    observe_replica(lab, source, replica, "MASTER_USE_GTID = slave_pos").send(signal.SIGINT)
    for server in (source, replica):
        ran = observe(lab, server.url(), "--unit", "qps", length="6s")
        assert ran.code == 0, ran.stderr
        assert ran.summary.stalls == [] and ran.summary.metrics["workload.in_flight"].max == 0


def test_replication_that_may_not_be_seen_is_told(lab: Lab, server: WatchedServer) -> None:
    ran = observe(lab, server.url("nobody"))
    assert "SLAVE MONITOR" in next(gap.remedy for gap in ran.summary.gaps if gap.what.startswith("replication"))
    # To the account that may see it there is none, and that is no gap.
    ran = observe(lab, server.url())
    assert not [gap for gap in ran.summary.gaps if gap.what.startswith("replication")]


@pytest.mark.slow
def test_the_statements_that_take_the_time(lab: Lab, make_server: MakeServer) -> None:
    server = make_server("--performance-schema=ON")
    server.work()
    before = server.variables()
    ran = observe(lab, server.url())
    assert server.variables() == before
    first, *_ = ran.summary.statements
    assert 0 < sum(one.share for one in ran.summary.statements) <= 1.001 and first.mean_us > 0
    update = next(one for one in ran.summary.statements if one.text.startswith("UPDATE"))
    # No value of a client is in it.
    assert "?" in update.text and update.count > 0 and update.without_index == 0
    assert not [gap for gap in ran.summary.gaps if "workload.statements" in gap.figures]
    ran = observe(lab, server.url("nobody"))
    (gap,) = [gap for gap in ran.summary.gaps if "workload.statements" in gap.figures]
    assert "GRANT SELECT ON performance_schema" in gap.remedy and ran.summary.statements == []


@pytest.mark.slow
def test_without_performance_schema(lab: Lab, server: WatchedServer) -> None:
    ran = observe(lab, server.url())
    (gap,) = [gap for gap in ran.summary.gaps if "workload.statements" in gap.figures]
    assert gap.why == "performance_schema is off" and "option file" in gap.remedy
