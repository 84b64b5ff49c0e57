"""The load generator: it runs, or waits for a processor that it uses itself, while the stack has nothing to do.

Of a modelled run it is the client's and the network's part of each round trip.
"""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Evidence, LoadHostUse
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.processors import processors
from flatwater.analysis.bound.sessions import SessionTime, client_waiting, session_time
from flatwater.analysis.bound.words import counted, duration, each_second, figure
from flatwater.experiment.database.innodb import InnodbModel


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time that the load generator took for itself."""
    if evidence.load.hosts:
        return _of_hosts(evidence)
    used = processors(evidence)
    if used is not None and evidence.layers.virtual:
        return _of_round_trips(evidence, used.time)
    if used is None or used.time.client_cpu is None:
        return None
    spent = used.time.client_cpu + used.waited(used.client)
    per_op = evidence.load.client_cpu_us_per_op
    return found(
        "client",
        used.time.of(spent),
        "time",
        f"the load generator used {figure(used.client)} cores"
        + (f", {duration(per_op)} of processor time for each of its operations" if per_op is not None else ""),
        used.busy_text,
    )


def _of_round_trips(evidence: Evidence, time: SessionTime) -> Finding | None:
    """A modelled client needs no processor, but a statement has to go to the server and back."""
    if not time.away:
        return None
    return found(
        "client",
        time.of(time.with_queue(time.away)),
        "time",
        f"{figure(time.away)} of {counted(time.sessions, 'session')} were between two statements: the network and the "
        f"client take {duration(_away_us(evidence))} of each round trip",
        each_second(evidence.load.queries_per_s, "statements"),
    )


def _away_us(evidence: Evidence) -> float:
    """The network's and the client's part of a modelled statement's round trip."""
    asked = evidence.experiment.database if evidence.experiment is not None else None
    if not isinstance(asked, InnodbModel):
        return 0.0
    own = asked.cpu.round_trip_us
    return own if own is not None else asked.hardware.round_trip_us


def _of_hosts(evidence: Evidence) -> Finding | None:
    """The same on hosts of its own: whatever it waits for there, it waits for its own host."""
    time = session_time(evidence)
    if time is None or time.client_cpu is None:
        return None
    spent = time.client_cpu + (client_waiting(evidence) or 0.0)
    busiest = sorted(evidence.load.hosts, key=lambda host: host.idle_pct.mean if host.idle_pct is not None else 100.0)
    return found("client", time.of(spent), "time", *(_told(host) for host in busiest))


def _told(host: LoadHostUse) -> str:
    cores = f" of its {host.cores}" if host.cores is not None else ""
    used = f"{figure(host.client_pct.mean / 100)}{cores} cores" if host.client_pct is not None else "an unknown share"
    idle = f", and its machine was idle for {host.idle_pct.mean:.0f} % of the time" if host.idle_pct is not None else ""
    return f"the load generator on {host.host} used {used}{idle}"
