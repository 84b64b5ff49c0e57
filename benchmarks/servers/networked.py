"""Servers of the matrix across a network: a link that is cut and mended, and one load from two hosts.

The other machines are network namespaces of this one (`network.py`), so nothing of it is a measurement.
"""

from __future__ import annotations

import itertools
import json
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import tomli_w

from benchmarks.servers.bench import JOURNAL, Bench, Running, Table, oltp, require
from benchmarks.servers.cluster import DASK
from benchmarks.servers.network import NetCluster, Network, open_network, why_no_network
from benchmarks.servers.replayed import TELLS, replayed
from benchmarks.servers.watched import ENDLESS_S, INTERVALS, listening
from flatwater.results import open_result
from flatwater.server import Instance

_USER, _PASSWORD = "bench", "geheim-4711"
_CUT = re.compile(r'"fault"[^\n]*does not answer')
_MENDED = re.compile(r'(?s)"recovered"[^\n]*answers again.*"metrics"')
#: How many hosts make the load. The link of the first one is cut before.
_HOSTS = 2


def networked(bench: Bench) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was found, and what is not to be had here. Errors: StepFailed."""
    figures: list[str] = []
    missing: list[str] = []
    with ExitStack() as stack:
        why_not = why_no_network()
        network = stack.enter_context(open_network(_HOSTS)) if why_not is None else None
        address = network.coordinator if network is not None else "127.0.0.1"
        server = stack.enter_context(_serve(bench, address))
        if network is None:
            missing.append(f"a network, and several hosts: {why_not}")
        else:
            figures += _outage(bench, server, network)
            if DASK.exists():
                figures += _several_hosts(bench, server, network)
            else:
                missing.append("several hosts: dask is not installed")
        told, lacking = replayed(bench, server, url_of(server, ""))
    return (*figures, *told), (*missing, *lacking)


@contextmanager
def _serve(bench: Bench, address: str) -> Iterator[Instance]:
    """A server that listens on an address, and lets an account in from everywhere."""
    own = TELLS if bench.binary.flavour == "mariadb" else {}
    with listening(bench, "networked", address, own) as instance:
        instance.query(f"CREATE USER {_USER}@'%' IDENTIFIED BY '{_PASSWORD}'")
        instance.query(f"GRANT ALL ON *.* TO {_USER}@'%'")
        yield instance


def url_of(server: Instance, schema: str) -> str:
    """The address of a server on a network as users write it."""
    return f"mysql://{_USER}:{_PASSWORD}@{server.settings['bind_address']}:{server.settings['port']}/{schema}"


def _file(bench: Bench, server: Instance, schema: str, workload: Table, **more: Any) -> Path:
    """The file of a load in a schema of its own, which it fills."""
    server.query(f"CREATE DATABASE {schema}")
    database = {"kind": "server", "url": url_of(server, schema), "load": True}
    path = bench.folder / f"{schema}.toml"
    path.write_text(tomli_w.dumps({"workload": dict(workload), "database": database, **more}), encoding="utf-8")
    return path


def _outage(bench: Bench, server: Instance, network: Network) -> Sequence[str]:
    """The link is cut and mended under a load and an observation on another machine. Errors: StepFailed."""
    file = _file(bench, server, "over_a_network", {**oltp("read_write", ENDLESS_S), "warmup_s": 0})
    enter = network.enter(0)
    loading, observing = bench.folder / "network-load", bench.folder / "network-observed"
    with bench.running("run", file, out=loading, through=enter) as load:
        load.until(INTERVALS, "the third interval of the load")
        with bench.running("observe", url_of(server, ""), out=observing, through=enter) as watching:
            watching.until(INTERVALS, "the third interval of the observation")
            network.cut(0)
            for one in (load, watching):
                one.until(_CUT, "word of the link that was cut")
            network.mend(0)
            for one in (load, watching):
                one.until(_MENDED, "word of the link that was mended")
            _end(watching, 0, "complete", "observer_cpu_pct")
        _end(load, 130, "interrupted", "ops_per_s")
    return ("a link that is cut and mended is told by load and observation, and no second is lost",)


def _end(run: Running, code: int, status: str, name: str) -> None:
    """Ends it as Ctrl-C does: what its journal had is in this series of its result. Errors: StepFailed."""
    lines = (run.out / JOURNAL).read_text(encoding="utf-8").splitlines(keepends=True)
    intervals = [one for one in (json.loads(line) for line in lines if line.endswith("\n")) if "metrics" in one]
    ended = run.end(signal.SIGINT)
    require(ended == code, f"{run.out.name} ended with exit code {ended} after SIGINT, not with {code}: {run.said}")
    cell = open_result(run.out).cells[0]
    summary = cell.summary
    require(summary is not None and summary.status == status, f"{run.out.name} is not {status}")
    require(summary is not None and summary.operations, f"{run.out.name}: it did nothing")
    require_whole(intervals, cell.series("workload", name).time_s.tolist())


def require_whole(intervals: Sequence[Mapping[str, Any]], recorded_s: Sequence[float]) -> None:
    """No second is missing in a journal, and all of them are in the result. Errors: StepFailed."""
    require(intervals, "its journal has no interval")
    gaps = [after["start_s"] for before, after in itertools.pairwise(intervals) if before["time_s"] != after["start_s"]]
    require(not gaps, f"seconds are missing before {gaps}")
    lost = {one["time_s"] for one in intervals} - {*recorded_s}
    require(not lost, f"intervals of the journal are not in the result: {sorted(lost)}")


def _several_hosts(bench: Bench, server: Instance, network: Network) -> Sequence[str]:
    """One load from two hosts: both have done their part, and nothing failed. Errors: StepFailed."""
    workload: Table = {**oltp("read_write"), "connections": 2 * _HOSTS}
    file = _file(bench, server, "several_hosts", workload, load={"hosts": _HOSTS})
    out = bench.folder / "several-hosts"
    with closing(NetCluster(bench.folder / "cluster", network)) as cluster:
        for number in range(_HOSTS):
            cluster.load_host(number)
        bench.call("run", file, "--load-on", cluster.address, "--out", out)
    cell = open_result(out).cells[0]
    summary = cell.summary
    require(summary is not None and summary.status == "complete", "the load from several hosts is not complete")
    require(summary is not None and summary.errors == 0, "the load from several hosts had errors")
    rates = [cell.series("workload", f"host{number}_ops_per_s").value.mean() for number in range(_HOSTS)]
    require(all(rate > 0 for rate in rates), f"a host did nothing: {rates}")
    return (f"one oltp from {_HOSTS} hosts: {' and '.join(f'{rate:,.0f}/s' for rate in rates)}, 0 errors",)
