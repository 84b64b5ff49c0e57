"""One load on two hosts, each a network namespace, against a real server: what comes together, and what may be lost."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from benchmarks.servers.network import NetCluster, Network
from dasklab import another_build, another_version
from lab import Lab
from netlab import NetServer
from waiting import until

OLTP = {"kind": "oltp", "mode": "read_write", "rows": 1000, "connections": 5, "duration_s": 2, "warmup_s": 0.5}
TPCC = {"kind": "tpcc", "warehouses": 1, "connections": 4, "duration_s": 2}
#: Longer than any test runs: its load ends because something happened.
ENDLESS_S = 3600
#: Statements of a session that are compared.
STATEMENTS = 10
#: A worker whose clock of the day is ahead.
AHEAD_S = 3.25
SKEWED = f"""\
import time

from flatwater.runner.hosts import generator

generator.wall_ns = lambda: time.time_ns() + int({AHEAD_S} * 1e9)
"""


def write(lab: Lab, server: NetServer, workload: Mapping[str, Any], *, hosts: int = 2, **rest: Any) -> Path:
    """An experiment on the server, whose load so many hosts make."""
    url = server.url(server.schema(f"hosts_{workload['kind']}"))
    content = {
        "workload": dict(workload),
        "database": {"kind": "server", "url": url, "load": True},
        "record": {"interval_s": 0.1},
        "load": {"hosts": hosts},
    }
    path = lab.folder / "hosts.toml"
    path.write_text(tomli_w.dumps(content | rest))
    return path


def sessions(server: NetServer) -> int:
    """The sessions of flatwater's account."""
    rows = server.instance.query(f"SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{server.user}'")
    return int(rows[0][0] or 0)


class TestTogether:
    def test_two_hosts_are_one_load(self, lab: Lab, net_server: NetServer, two_hosts: NetCluster) -> None:
        ran = lab.run(write(lab, net_server, OLTP), "--json", "--load-on", two_hosts.address)
        assert ran.code == 0, ran.stderr
        network = two_hosts.network
        told = [(host["host"], host["first"], host["sessions"]) for host in ran.cell["load_hosts"]]
        assert told == [(network.address(0), 1, 3), (network.address(1), 4, 2)]
        cell = ran.recorded
        both = cell.series("workload", "ops_per_s").value
        own = [cell.series("workload", f"host{host}_ops_per_s").value for host in (0, 1)]
        assert len(both) == len(own[0]) == len(own[1]) >= 20
        assert np.allclose(both, own[0] + own[1], rtol=1e-5)
        assert all(values.sum() > 0 for values in own)
        assert ran.cell["samples"] >= 20 and ran.cell["operations"] > 0
        for name in ("client_cpu_pct", "client_cpu_wait_pct", "machine_idle_pct", "latency_p99_us"):
            assert f"workload.host1_{name}" in ran.cell["metrics"]
        # The latencies of the measured phase are all in one histogram.
        assert ran.cell["latency_us"]["count"] == ran.cell["operations"]
        assert len(ran.result.machine["load_hosts"]) == 2

    def test_own_statements_and_their_errors_are_added(
        self, lab: Lab, net_server: NetServer, two_hosts: NetCluster
    ) -> None:
        """Errors come on one host before they come on the other, and each host has errors that the other has not."""
        wrong = "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = :number"
        own = {
            "kind": "sql",
            "connections": 4,
            "duration_s": 2,
            "allow_writes": True,
            "setup": ["CREATE TABLE t (id INT PRIMARY KEY)"],
            "transactions": {
                "good": {"statements": ["SELECT 1"], "weight": 1000, "autocommit": True},
                "bad": {"statements": [{"sql": wrong, "prepared": False}], "autocommit": True},
            },
            "parameters": {"number": {"kind": "uniform", "min": 30000, "max": 30050}},
        }
        ran = lab.run(write(lab, net_server, own), "--json", "--load-on", two_hosts.address)
        assert ran.code == 0, ran.stderr
        counters = ran.summary.counters
        numbers = [name for name in counters if name.startswith("error_")]
        assert len(numbers) > 2 and sum(counters[name] for name in numbers) == ran.summary.errors > 0
        assert all(host["sessions"] == 2 for host in ran.cell["load_hosts"])
        assert ran.summary.latency_by_kind_us["good"].count > 0

    @pytest.mark.slow
    def test_clocks_are_told(self, lab: Lab, net_server: NetServer, two_hosts: NetCluster) -> None:
        ran = lab.run(write(lab, net_server, OLTP), "--json", "--load-on", two_hosts.address)
        assert ran.code == 0, ran.stderr
        for host in ran.cell["load_hosts"]:
            # All namespaces have the clocks of this machine.
            assert abs(host["skew_us"]) <= host["skew_bound_us"]
            assert abs(host["drift_ppm"]) <= host["drift_bound_ppm"]
            assert host["instant_bound_us"] > 0
            assert host["began_late_us"] >= -host["instant_bound_us"]

    @pytest.mark.slow_cases("tproc-c")
    @pytest.mark.parametrize(
        "variant",
        [
            {"unit": "NOTPM"},
            pytest.param({"variant": "sysbench-tpcc", "table_sets": 2, "unit": "tps"}, marks=pytest.mark.slow),
            {"variant": "tproc-c", "all_warehouses": True, "unit": "NOPM"},
        ],
        ids=lambda variant: variant.get("variant", "tpcc-mysql"),
    )
    def test_tpcc_leaves_consistent_data(
        self, lab: Lab, net_server: NetServer, two_hosts: NetCluster, variant: dict[str, Any]
    ) -> None:
        ran = lab.run(write(lab, net_server, {**TPCC, **variant}), "--json", "--load-on", two_hosts.address)
        assert ran.code == 0, ran.stderr
        assert all(condition["holds"] for condition in ran.cell["consistency"] if condition["applies"])
        assert ran.cell["unit"] == variant["unit"] and ran.cell["mean"] > 0

    @pytest.mark.slow
    def test_a_sweep_over_the_number_of_hosts(self, lab: Lab, net_server: NetServer, two_hosts: NetCluster) -> None:
        """One host has all sessions; two share them. A rate is that of all hosts together."""
        workload = {**OLTP, "rate_per_s": 40, "duration_s": 3}
        file = write(lab, net_server, workload, sweep={"load.hosts": [1, 2]})
        ran = lab.run(file, "--json", "--load-on", two_hosts.address)
        assert ran.code == 0, ran.stderr
        assert [[host["sessions"] for host in cell["load_hosts"]] for cell in ran.cells] == [[5], [3, 2]]
        one, two = (cell["operations"] for cell in ran.cells)
        assert abs(one - two) <= 0.2 * one

    @pytest.mark.slow
    def test_each_session_does_what_it_does_alone(self, lab: Lab, net_server: NetServer, two_hosts: NetCluster) -> None:
        """The statements of each session are the same, on however many hosts the sessions are."""
        workload = {**OLTP, "mode": "point_select", "rate_per_s": 100, "arrival": "poisson"}
        asked = []
        for hosts in (1, 2):
            file = write(lab, net_server, workload, hosts=hosts)
            with net_server.logged() as statements:
                ran = lab.run(file, "--json", "--load-on", two_hosts.address, out=lab.folder / f"on-{hosts}")
                assert ran.code == 0, ran.stderr
                asked.append({tuple(own[:STATEMENTS]) for own in statements() if len(own) >= STATEMENTS})
        assert len(asked[0]) == OLTP["connections"]
        assert asked[0] == asked[1]

    @pytest.mark.slow
    def test_two_hosts_measure_what_one_does(self, lab: Lab, net_server: NetServer, two_hosts: NetCluster) -> None:
        """Closed loops on a machine with neighbours: the repeats tell how far two means of one load may differ."""
        file = write(lab, net_server, {**OLTP, "duration_s": 4}, sweep={"load.hosts": [1, 2]}, repeat=3)
        ran = lab.run(file, "--json", "--load-on", two_hosts.address)
        assert ran.code == 0, ran.stderr
        means: dict[int, list[float]] = {1: [], 2: []}
        for cell in ran.cells:
            means[cell["set"]["load.hosts"]].append(cell["mean"])
        spread = max(max(own) - min(own) for own in means.values())
        assert abs(np.mean(means[1]) - np.mean(means[2])) <= 2 * spread + 0.2 * np.mean(means[1]), means

    @pytest.mark.slow
    def test_clocks_that_differ(self, lab: Lab, net_server: NetServer, cluster: NetCluster) -> None:
        """One host's clock of the day is ahead, and it booted an hour earlier: both begin together all the same."""
        preload = lab.folder / "skewed.py"
        preload.write_text(SKEWED)
        cluster.load_host(0)
        cluster.load_host(1, through=("unshare", "--time", "--monotonic", "3600", "--fork"), preload=preload)
        ran = lab.run(write(lab, net_server, OLTP), "--json", "--load-on", cluster.address)
        assert ran.code == 0, ran.stderr
        first, second = ran.cell["load_hosts"]
        assert abs(second["skew_us"] - AHEAD_S * 1e6) <= second["skew_bound_us"]
        assert abs(first["skew_us"]) <= first["skew_bound_us"]
        # Within the bounds, neither begins before the instant.
        assert second["began_late_us"] >= -second["instant_bound_us"]
        assert abs(second["drift_ppm"]) <= second["drift_bound_ppm"]
        assert ran.cell["samples"] >= 20


class TestLost:
    def test_a_killed_worker_ends_the_cell(self, lab: Lab, net_server: NetServer, cluster: NetCluster) -> None:
        cluster.load_host(0)
        second = cluster.load_host(1)
        file = write(lab, net_server, {**OLTP, "duration_s": ENDLESS_S})
        run = lab.start(file, "--json", "--load-on", cluster.address)
        run.until_recorded(5)
        second.kill()
        ran = run.wait()
        assert ran.code == 1
        assert f"load host {cluster.network.address(1)} with sessions 4 to 5 of 5 is lost" in ran.error
        assert ran.cell["status"] == "failed" and ran.cell["samples"] >= 5
        # The other host does not go on alone.
        until(lambda: sessions(net_server) == 0)

    @pytest.mark.slow
    def test_a_cut_link_ends_the_cell(
        self, lab: Lab, net_server: NetServer, cluster: NetCluster, network: Network
    ) -> None:
        cluster.load_host(0)
        cluster.load_host(1)
        run = lab.start(
            write(lab, net_server, {**OLTP, "duration_s": ENDLESS_S}), "--json", "--load-on", cluster.address
        )
        run.until_recorded(5)
        network.cut(0)
        try:
            ran = run.wait()
        finally:
            network.mend(0)
        assert ran.code == 1
        assert f"load host {network.address(0)} with sessions 1 to 3 of 5 is lost: nothing was heard" in ran.error

    @pytest.mark.slow
    def test_ctrl_c_ends_all_hosts(
        self, lab: Lab, net_server: NetServer, two_hosts: NetCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = write(lab, net_server, {**OLTP, "duration_s": 15})
        run = lab.start(file, "--json", "--load-on", two_hosts.address)
        run.until_recorded(5)
        ran = run.send(signal.SIGINT)
        assert ran.code == 130
        assert ran.cell["status"] == "interrupted" and ran.at_once
        until(lambda: sessions(net_server) == 0)
        # The hosts are free again, and the result knows where they are, but not the password.
        monkeypatch.setenv("FLATWATER_PASSWORD", net_server.password)
        rest = lab.run(ran.out, "--json", verb="resume")
        assert rest.code == 0, rest.stderr
        assert rest.cell["status"] == "complete" and len(rest.cell["load_hosts"]) == 2
        assert [event["kind"] for event in rest.cell["events"]] == ["seam"]

    @pytest.mark.slow
    def test_a_killed_run_leaves_no_load(self, lab: Lab, net_server: NetServer, two_hosts: NetCluster) -> None:
        run = lab.start(
            write(lab, net_server, {**OLTP, "duration_s": ENDLESS_S}), "--json", "--load-on", two_hosts.address
        )
        run.until_recorded(3)
        run.process.kill()
        run.process.communicate()
        until(lambda: sessions(net_server) == 0)

    @pytest.mark.slow
    def test_a_lost_scheduler_ends_the_cell(self, lab: Lab, net_server: NetServer, cluster: NetCluster) -> None:
        cluster.load_host(0)
        run = lab.start(
            write(lab, net_server, {**OLTP, "duration_s": ENDLESS_S}, hosts=1),
            "--json",
            "--load-on",
            cluster.address,
        )
        run.until_recorded(3)
        cluster.scheduler.kill()
        ran = run.wait()
        assert ran.code == 1
        assert "the scheduler is gone" in ran.error or "is lost" in ran.error
        until(lambda: sessions(net_server) == 0)


class TestRefused:
    def test_another_version(self, lab: Lab, net_server: NetServer, cluster: NetCluster) -> None:
        cluster.load_host(0)
        cluster.load_host(1, python_path=another_version(lab.folder / "other", "9.9.9"))
        ran = lab.run(write(lab, net_server, OLTP), "--load-on", cluster.address)
        assert ran.code == 1
        assert "has flatwater 9.9.9, this is" in ran.error and cluster.network.address(1) in ran.error

    def test_another_build(self, lab: Lab, net_server: NetServer, cluster: NetCluster) -> None:
        cluster.load_host(0, python_path=another_build(lab.folder / "other"))
        ran = lab.run(write(lab, net_server, OLTP, hosts=1), "--load-on", cluster.address)
        assert ran.code == 1 and "has another build of flatwater" in ran.error

    def test_a_login_that_only_this_machine_has(
        self, lab: Lab, net_server: NetServer, two_hosts: NetCluster, network: Network
    ) -> None:
        file = write(lab, net_server, OLTP)
        try:
            net_server.allow(network.coordinator, network.address(0))
            ran = lab.run(file, "--load-on", two_hosts.address)
        finally:
            net_server.allow("%")
        assert ran.code == 2
        assert f"load host {network.address(1)} cannot log in, although this machine can" in ran.error
        assert net_server.password not in ran.stderr

    def test_too_few_hosts(self, lab: Lab, net_server: NetServer, two_hosts: NetCluster) -> None:
        ran = lab.run(write(lab, net_server, OLTP, hosts=3), "--load-on", two_hosts.address)
        assert ran.code == 1
        assert "the load runs on 3 hosts, and the scheduler has 2" in ran.error

    def test_a_load_without_hosts(self, lab: Lab, net_server: NetServer) -> None:
        ran = lab.run(write(lab, net_server, OLTP))
        assert ran.code == 2 and "other hosts make the load, and nothing says which" in ran.error

    def test_hosts_without_a_load(self, lab: Lab) -> None:
        ran = lab.run(lab.write(), "--load-on", "tcp://127.0.0.1:1")
        assert ran.code == 2 and "the experiment has no [load]" in ran.error

    def test_no_scheduler(self, lab: Lab, net_server: NetServer) -> None:
        ran = lab.run(write(lab, net_server, OLTP), "--load-on", "tcp://127.0.0.1:1")
        assert ran.code == 1 and "no dask scheduler answers at tcp://127.0.0.1:1" in ran.error
        ran = lab.run(write(lab, net_server, OLTP), "--load-on", "elsewhere", out=lab.folder / "other")
        assert ran.code == 2 and "--load-on: no load hosts at 'elsewhere'" in ran.error

    def test_two_schedulers(self, lab: Lab, net_server: NetServer) -> None:
        file = write(lab, net_server, OLTP)
        ran = lab.run(file, "--load-on", "tcp://127.0.0.1:1", "--on", "tcp://127.0.0.1:2")
        assert ran.code == 2 and "--on and --load-on cannot both name a scheduler" in ran.error
