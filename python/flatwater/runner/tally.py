"""Totals of the measured phase, from the lines of the journal: while a cell runs, or of a killed cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from flatwater._engine import Histogram
from flatwater.results import LatencyUs
from flatwater.results.latencies import SERVING, Latencies
from flatwater.results.schema import JournalLine

#: How the engine begins the name of a counter of one error number of a server: error_1062.
ERROR_PREFIX = "error_"


def operations_of(totals: Mapping[str, Sequence[int]]) -> int:
    """How many operations there are among the totals of an interval, by kind."""
    return sum(moved[0] for kind, moved in totals.items() if kind not in SERVING)


class Tally:
    """Operations, bytes, errors, CPU and latency histograms."""

    def __init__(self) -> None:
        self.operations = 0
        self.bytes = 0
        self.errors = 0
        #: CPU time of the client; None in virtual time.
        self.cpu_s: float | None = 0.0
        self.counters: Counter[str] = Counter()
        self._latency = Latencies()

    def add(self, line: JournalLine) -> None:
        """Adds a journal line of the measured phase."""
        cpu_s = line["cpu_s"]
        self.cpu_s = None if cpu_s is None or self.cpu_s is None else self.cpu_s + cpu_s
        self.counters.update(line.get("counters", {}))
        for kind, (operations, moved, errors) in line["totals"].items():
            self.errors += errors
            if kind not in SERVING:
                self.operations += operations
                self.bytes += moved
        for kind in line["histograms"]:
            self._latency.add(line, kind)

    def add_drained(self, line: JournalLine) -> None:
        """Adds a line of the time after the measured phase: its errors, and the fsyncs that made the rest durable."""
        self.errors += sum(errors for _, _, errors in line["totals"].values())
        counters = line.get("counters", {})
        self.counters.update({name: count for name, count in counters.items() if name.startswith(ERROR_PREFIX)})
        if "fsync" in line["histograms"]:
            self._latency.add(line, "fsync")

    @property
    def cpu_us_per_op(self) -> float | None:
        """CPU time of this process per request, us; None in virtual time."""
        return self.cpu_s * 1e6 / self.operations if self.operations and self.cpu_s is not None else None

    def latencies(self) -> dict[str, LatencyUs]:
        """Percentiles by kind, and of all requests together as `all`."""
        return {kind: _percentiles(histogram) for kind, histogram in self._latency.merged().items()}

    def quantile_us(self, kind: str, share: float) -> float | None:
        """The latency that a share (0..1) of the requests of a kind did not exceed; None if there were none."""
        histogram = self._latency.by_kind.get(kind)
        return histogram.quantile_ns(share) / 1000 if histogram is not None else None

    def histograms(self) -> dict[str, str]:
        """Histograms by kind and of all requests, base64 of HdrHistogram V2+DEFLATE."""
        return self._latency.encoded()


def _percentiles(histogram: Histogram) -> LatencyUs:
    p50, p95, p99, p999 = (histogram.quantile_ns(q) / 1000 for q in (0.5, 0.95, 0.99, 0.999))
    return LatencyUs(p50=p50, p95=p95, p99=p99, p999=p999, max=histogram.max_ns() / 1000, count=histogram.count())
