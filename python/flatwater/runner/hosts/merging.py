"""The intervals of several hosts as those of one load: counts and histograms are added, so nothing is rounded.

Each host ends its intervals at the multiples of their length after the common instant. A host that is late ends two of
them at once. The interval of all then covers both: it ends only where an interval of every host ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flatwater._engine import merge_parts

if TYPE_CHECKING:
    from flatwater._engine import Interval

#: A part that begins this share of an interval before a multiple of its length is counted as beginning there.
BEGUN_SLACK = 0.02
#: Of a host's own figures, those that become series: metric of the engine -> series.
_OWN = {
    "ops_per_s": "ops_per_s",
    "errors_per_s": "errors_per_s",
    "latency_p95_us": "latency_p95_us",
    "latency_p99_us": "latency_p99_us",
}


@dataclass(frozen=True)
class HostPart:
    """One interval of one host. Times are seconds of the common clock after the common instant."""

    start_s: float
    end_s: float
    #: As `Run.next_part` gives it.
    data: bytes
    #: What the host recorded of itself: `machine_idle_pct`, `client_cpu_wait_pct`.
    own: dict[str, float]


@dataclass
class _Host:
    """The parts of one host that wait for those of the others, each with the number of the interval that it ends."""

    waiting: list[tuple[int, HostPart]] = field(default_factory=list)
    over: bool = False

    def ends(self) -> set[int]:
        return {number for number, _ in self.waiting}

    def take_to(self, number: int) -> list[HostPart]:
        taken = [part for end, part in self.waiting if end <= number]
        self.waiting = [(end, part) for end, part in self.waiting if end > number]
        return taken


class Merger:
    """Collects the parts of all hosts, and gives the intervals of all together in their order."""

    def __init__(self, hosts: int, interval_s: float) -> None:
        self._hosts = [_Host() for _ in range(hosts)]
        self._interval_s = interval_s
        self._taken = 0
        #: The largest distance of an end from where it should have been, seconds, by host.
        self.late_s = [0.0] * hosts

    def add(self, host: int, part: HostPart) -> None:
        """Adds the next part of a host."""
        # The last part of a host begins where an interval ended, and may be short: it belongs to the next one.
        begun = math.floor(part.start_s / self._interval_s + BEGUN_SLACK)
        number = max(round(part.end_s / self._interval_s), begun + 1, self._taken + 1)
        whole = part.end_s - part.start_s >= self._interval_s / 2
        if whole:
            self.late_s[host] = max(self.late_s[host], abs(part.end_s - number * self._interval_s))
        self._hosts[host].waiting.append((number, part))

    def end(self, host: int) -> None:
        """Notes that a host has no more parts."""
        self._hosts[host].over = True

    @property
    def over(self) -> bool:
        """Whether all parts of all hosts were taken."""
        return all(host.over and not host.waiting for host in self._hosts)

    def take(self) -> Interval | None:
        """The next interval of all hosts; None while a part of it is missing. Errors: ValueError for damaged parts."""
        if all(host.over for host in self._hosts):
            # Hosts end their last requests at different times, so the last intervals have different lengths.
            ends = {number for host in self._hosts for number in host.ends()}
        else:
            ends = set.intersection(*(host.ends() for host in self._hosts if not (host.over and not host.waiting)))
        if not ends:
            return None
        number = min(ends)
        parts = [host.take_to(number) for host in self._hosts]
        start_s = self._taken * self._interval_s
        last_s = max(part.end_s for own in parts for part in own)
        self._taken = number
        end_s = number * self._interval_s
        if all(host.over and not host.waiting for host in self._hosts):
            # Nothing follows: the last interval ends when the last host did.
            end_s = max(min(end_s, last_s), start_s + 1e-3)
        return _together(parts, start_s, end_s)


def _together(parts: list[list[HostPart]], start_s: float, end_s: float) -> Interval:
    merged = merge_parts([[part.data for part in own] for own in parts], start_s, end_s)
    waits = []
    for host, own in enumerate(parts):
        if not own:
            continue
        alone = merge_parts([[part.data for part in own]], start_s, end_s)["metrics"]
        told = {series: alone[metric] for metric, series in _OWN.items() if metric in alone}
        told["client_cpu_pct"] = alone.get("client_cpu_user_pct", 0.0) + alone.get("client_cpu_system_pct", 0.0)
        told |= own[-1].own
        waits += [told["client_cpu_wait_pct"]] if "client_cpu_wait_pct" in told else []
        merged["metrics"] |= {f"host{host}_{name}": value for name, value in told.items()}
    if waits:
        merged["metrics"]["client_cpu_wait_pct"] = sum(waits)
    return merged
