"""The runs under way, as OpenMetrics (https://prometheus.io/docs/specs/om/open_metrics_spec/).

Latency is a classic histogram, cumulative over the measured time. It is merged from the histograms in the journal when
it is asked for, and then read on.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from flatwater._engine import Histogram
from flatwater.errors import FlatwaterError
from flatwater.results import Cell, open_result
from flatwater.results.latencies import SERVING
from flatwater.results.phases import MEASURE
from flatwater.results.stored import exists
from flatwater.serve.folders import Place
from flatwater.serve.tail import Lines
from flatwater.terminal import BUSY

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
#: Upper ends of the buckets, seconds: 1, 2 and 5 of each decade, from what memory takes to what a stall takes.
BUCKETS_S = tuple(step * 10.0**power for power in range(-5, 2) for step in (1, 2, 5))
#: Runs that are followed, the newest, and how long one that is not asked for any more is kept.
RUNS_MAX = 32
KEPT_S = 120.0


@dataclass(frozen=True)
class Family:
    """A family of metrics: its name without that of this program, its type, what it is."""

    short: str
    type: Literal["gauge", "histogram"]
    about: str
    #: Of a gauge of a run: the series of the journal, the first that it has, and the factor from its unit.
    series: tuple[str, ...] = ()
    factor: float = 1.0

    @property
    def name(self) -> str:
        """The name that is told."""
        return f"flatwater_{self.short}"


_AGE, _AGE_MAX = "database.checkpoint_age_bytes", "database.checkpoint_age_max_bytes"
#: All that is told.
FAMILIES = (
    Family("runs", "gauge", "Runs under way."),
    Family("throughput", "gauge", "That of the last interval, in the unit of the label.", ("workload.throughput",)),
    Family("checkpoint_age_bytes", "gauge", "Redo log since the last checkpoint.", (_AGE,)),
    Family("checkpoint_age_max_bytes", "gauge", "The limit of the checkpoint age.", (_AGE_MAX,)),
    Family("dirty_ratio", "gauge", "Dirty share of the buffer pool.", ("database.dirty_pct",), 0.01),
    Family("device_busy_ratio", "gauge", "Share of the time in which the device was busy.", BUSY, 0.01),
    Family("latency_seconds", "histogram", "Latency of all requests of the measured time."),
)


def family(short: str) -> Family:
    """The family of a short name. Errors: KeyError."""
    return {one.short: one for one in FAMILIES}[short]


class _Run:
    """One cell that is followed: its last interval, and its latencies so far."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.asked_s = time.monotonic()
        self._lines = Lines(cell.journal)
        self.last: dict[str, float | None] = {}
        self._begin()

    def _begin(self) -> None:
        self.latency = Histogram()
        #: Sum of the latencies in seconds, by the buckets of the histogram.
        self.sum_s = 0.0

    def close(self) -> None:
        self._lines.close()

    def advance(self) -> None:
        if self._lines.anew():
            self._lines.close()
            self._lines = Lines(self.cell.journal)
            self._begin()
        for line in self._lines.read():
            self.last = dict(line.get("metrics", self.last))
            if line.get("phase") != MEASURE:
                continue
            for kind, text in line.get("histograms", {}).items():
                if kind not in SERVING:
                    found = Histogram.from_v2(base64.b64decode(text))
                    self.sum_s += sum(at_ns * count for at_ns, count in found.buckets()) / 1e9
                    self.latency.merge(found)


class Metrics:
    """What is asked for at `/metrics`. It may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}

    def text(self, running: Sequence[Place]) -> str:
        """The runs under way. One that cannot be read is left out.

        The first `RUNS_MAX` have figures; all are counted.
        """
        with self._lock:
            now = time.monotonic()
            more = max(0, len(running) - RUNS_MAX)
            found = [(one, run) for one in running[:RUNS_MAX] if (run := self._follow(one)) is not None]
            for key, run in list(self._runs.items()):
                if now - run.asked_s > KEPT_S:
                    run.close()
                    del self._runs[key]
            return "".join(f"{line}\n" for line in _lines(found, more))

    def _follow(self, one: Place) -> _Run | None:
        key = one.key
        try:
            run = self._runs.get(key)
            if run is None or exists(run.cell.folder / "summary.json"):
                cells = open_result(one.path).cells
                under_way = [cell for cell in cells if exists(cell.journal) and cell.summary is None]
                if not under_way:
                    return None
                run = self._runs[key] = _Run(under_way[-1])
            run.advance()
        except (FlatwaterError, ValueError, OSError):  # ValueError: a histogram that is none
            self._runs.pop(key, None)
            return None
        run.asked_s = time.monotonic()
        return run


def _lines(found: Sequence[tuple[Place, _Run]], more: int) -> Iterator[str]:
    for one in FAMILIES:
        samples = list(_samples(one, found, more))
        if not samples:
            continue
        yield f"# TYPE {one.name} {one.type}"
        if one.name.endswith("_seconds"):
            yield f"# UNIT {one.name} seconds"
        yield f"# HELP {one.name} {one.about}"
        yield from samples
    yield "# EOF"


def _samples(one: Family, found: Sequence[tuple[Place, _Run]], more: int) -> Iterator[str]:
    if one.short == "runs":
        yield f"{one.name} {len(found) + more}"
    for place, run in found:
        if one.type == "histogram" and run.latency.count():
            yield from _histogram(one.name, _labels(place, run), run)
        elif (value := next((run.last[name] for name in one.series if name in run.last), None)) is not None:
            yield f"{one.name}{{{_labels(place, run)}}} {value * one.factor!r}"


def _histogram(name: str, labels: str, run: _Run) -> Iterator[str]:
    buckets, at, below = run.latency.buckets(), 0, 0
    for end_s in BUCKETS_S:
        while at < len(buckets) and buckets[at][0] <= end_s * 1e9:
            below += buckets[at][1]
            at += 1
        yield f'{name}_bucket{{{labels},le="{end_s:.6g}"}} {below}'
    yield f'{name}_bucket{{{labels},le="+Inf"}} {run.latency.count()}'
    yield f"{name}_count{{{labels}}} {run.latency.count()}"
    yield f"{name}_sum{{{labels}}} {run.sum_s!r}"


def _labels(one: Place, run: _Run) -> str:
    workload = run.cell.result.experiment.get("workload")
    unit = workload.get("unit") if isinstance(workload, dict) else None
    told = {"run": one.name, "cell": str(run.cell.index), "unit": unit if isinstance(unit, str) else ""}
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in told.items())


def _escaped(text: str) -> str:
    """A label's text: the three signs that the format escapes, and no half of a character."""
    whole = text.encode(errors="backslashreplace").decode()
    return whole.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
