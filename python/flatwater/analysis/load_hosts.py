"""Did the hosts that made the load keep up, and keep together?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flatwater.analysis.noise import IDLE_PCT_MIN, OTHERS_CPU_PCT_MAX, STEAL_PCT_MAX
from flatwater.results.load_host import LoadHost
from flatwater.results.schema import MetricSummary

#: Hosts whose seconds lie further apart than this share of an interval are told: what one of them calls a stall may
#: lie in the next interval of the other.
APART_MAX = 0.1


def load_host_warnings(hosts: Sequence[LoadHost], metrics: Mapping[str, MetricSummary], interval_s: float) -> list[str]:
    """Doubts about a load that several hosts made; `metrics` are those of the measured phase."""
    return [text for number, host in enumerate(hosts) for text in _of_host(number, host, metrics, interval_s)]


def _of_host(number: int, host: LoadHost, metrics: Mapping[str, MetricSummary], interval_s: float) -> Iterator[str]:
    def mean(name: str) -> float | None:
        found = metrics.get(f"workload.host{number}_{name}")
        return found.mean if found is not None else None

    idle, steal, others = mean("machine_idle_pct"), mean("machine_steal_pct"), mean("machine_others_cpu_pct")
    if idle is not None and idle < IDLE_PCT_MIN:
        yield (
            f"load host {host.host} was idle for {idle:.1f} % of the time: its processors limited the load, so this "
            "measures them, not the server. Use more hosts, or fewer connections"
        )
    if steal is not None and steal > STEAL_PCT_MAX:
        yield (
            f"on load host {host.host} CPU steal was {steal:.1f} %: a neighbour took its CPU. Repeat at a quiet time"
        )
    if others is not None and others > OTHERS_CPU_PCT_MAX:
        yield (
            f"on load host {host.host} other processes used {others / 100:.1f} cores: something else was running. "
            "Find it with top, stop it and repeat"
        )
    apart_us = max(host.interval_late_us, host.began_late_us or 0.0) + (host.instant_bound_us or 0.0)
    if apart_us > APART_MAX * interval_s * 1e6:
        yield (
            f"the intervals of load host {host.host} lie up to {apart_us / 1e3:.1f} ms beside those of the machine "
            f"that ran the experiment, more than a tenth of an interval: short stalls may be in the interval beside "
            "theirs. Use a longer record.interval_s, or a faster network"
        )
