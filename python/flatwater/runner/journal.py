"""Writing a cell's journal: one line for each interval, flushed at once, so that a kill loses less than a second."""

from __future__ import annotations

import base64
import json
import math
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from flatwater.owned import own_alone
from flatwater.probe import Probe
from flatwater.results import Event, Phase, Series
from flatwater.results.journal_phases import add_to_phases
from flatwater.results.long_intervals import GAP_TIMES, edges_s
from flatwater.results.phases import DRAIN, MEASURE, RECORDED
from flatwater.results.schema import JournalLine
from flatwater.results.series import PartWriter, read_journal
from flatwater.results.stored import validate
from flatwater.runner.tally import Tally, operations_of

if TYPE_CHECKING:
    from flatwater._engine import Interval

MIB = 2**20
#: Lines that are kept in memory for the analysis: to read them from Parquet takes longer than a small cell runs.
LINES_KEPT = 1000


class Journal:
    """Appends to `journal.jsonl`, and updates totals with each line, so that the end of a long run has little to do.

    `at_s` is the end of the last interval. `phases`, `events` and the `tally` of the measured phase cover the whole
    journal, including the lines of a killed run.
    """

    def __init__(
        self, path: Path, unit: str, cell: int = 0, *, interval_s: float = math.inf, durable: bool = True
    ) -> None:
        """`interval_s`: how long intervals should be. `durable`: the end waits until the journal is on the disk. A
        modelled cell needs no such wait.
        """
        self._path = path
        self._unit = unit
        self._interval_s = interval_s
        self._cell = cell
        self._durable = durable
        self.probes: Sequence[Probe] = ()
        self._begin()

    def _begin(self) -> None:
        self.at_s = 0.0
        #: What was done in all phases that this process wrote.
        self.operations = 0
        self.phases: list[Phase] = []
        self.events: list[Event] = []
        self.tally = Tally()
        #: The offset of a phase, and when the cell's time was 0 on the monotonic clock, by the intervals of that phase.
        #: It is the earliest that one of them says: on a busy machine intervals are written late.
        self._zero: tuple[float, float] | None = None
        path = self._path
        self._parts = PartWriter(self._cell, path.parent, path)
        #: The lines of the intervals; None once there are more than LINES_KEPT.
        self._lines: list[JournalLine] | None = []
        path.parent.mkdir(parents=True, exist_ok=True)
        own_alone(path)
        if path.exists():
            for line in read_journal(path):
                self._account(line)
            _trim(path)
        self._handle = path.open("a")

    @property
    def folder(self) -> Path:
        """The folder of the cell."""
        return self._path.parent

    def begin_anew(self) -> None:
        """Begins an empty journal, after the folder of the old one was moved away."""
        self._handle.close()
        self._begin()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._handle.flush()
            if self._durable:
                os.fsync(self._handle.fileno())
        finally:
            # On a full disk this fails again. The first error was raised already.
            with suppress(OSError):
                self._handle.close()

    def seal(self) -> None:
        """Writes the rest of the journal to Parquet."""
        self._parts.close()

    def series(self) -> dict[str, Series] | None:
        """The recorded series by `layer.metric`, if they are still in memory (a short cell); else None."""
        if self._lines is None:
            return None
        columns: dict[str, tuple[list[float], list[float]]] = {}
        for line in self._lines:
            for name, value in line["metrics"].items():
                if value is not None:
                    times, values = columns.setdefault(name, ([], []))
                    times.append(line["time_s"])
                    values.append(value)
        return {name: Series(np.array(times), np.array(values)) for name, (times, values) in columns.items()}

    def _account(self, line: JournalLine) -> None:
        self._parts.add(line)
        if line.get("event") is not None:
            self.events.append(validate(Event, line["event"], self._path))
            return
        add_to_phases(self.phases, line)
        if self._lines is not None:
            self._lines.append(line)
            if len(self._lines) > LINES_KEPT:
                self._lines = None
        self.at_s = float(line["time_s"])
        if line["phase"] == MEASURE:
            self.tally.add(line)
        elif line["phase"] == DRAIN:
            self.tally.add_drained(line)

    def interval(self, interval: Interval, offset_s: float, phase: str) -> dict[str, float]:
        """Writes an interval with the samples of the probes; returns its metrics."""
        assert phase in RECORDED, phase
        self.operations += operations_of(interval["totals"])
        metrics = {f"workload.{name}": value for name, value in interval["metrics"].items()}
        # A series of a modelled layer above the storage has the name of its layer already.
        metrics |= {name if "." in name else f"storage.{name}": value for name, value in interval["storage"].items()}
        _add_throughput(metrics, self._unit)
        sampled: dict[str, float] = {}
        for probe in self.probes:
            # A later probe is of a lower layer: a served device tells of itself what a disk tells of its mount.
            sampled |= probe.sample()
        # Hosts that make the load tell of themselves what a probe tells of this machine.
        metrics = sampled | metrics
        # Rounded as they are written, so that the analysis now and a later one use the same values.
        metrics = {name: float(f"{value:.7g}") for name, value in metrics.items()}
        start_s = self._spread(interval, offset_s, phase, metrics)
        self._write(
            {
                "time_s": round(offset_s + interval["end_s"], 6),
                "start_s": round(start_s, 6),
                "phase": phase,
                "cpu_s": interval["cpu_s"],
                "totals": interval["totals"],
                "counters": interval["counters"],
                "metrics": metrics,
                "histograms": {kind: base64.b64encode(hdr).decode() for kind, hdr in interval["histograms"].items()},
            }
        )
        if interval["cpu_s"] is not None:  # in virtual time, nothing happens between two intervals
            zero_s = time.monotonic() - self.at_s
            if self._zero is not None and self._zero[0] == offset_s:
                zero_s = min(zero_s, self._zero[1])
            self._zero = offset_s, zero_s
        for time_s, text in interval["incidents"]:
            self.event("incident", text, offset_s + time_s)
        return metrics

    def _spread(self, interval: Interval, offset_s: float, phase: str, metrics: dict[str, float]) -> float:
        """Writes a line with the rates of a long interval for each interval of its time but the last; returns the start
        of the last, seconds of the cell. While the program is stopped, or gets no processor, no interval ends.
        """
        start_s, end_s = offset_s + interval["start_s"], offset_s + interval["end_s"]
        edges = edges_s(start_s, end_s, self._interval_s)
        if len(edges) == 2:
            return start_s
        rates = {name: value for name, value in metrics.items() if _RATE.fullmatch(name)}
        cpu_s = None if interval["cpu_s"] is None else 0.0
        for begin_s, part_end_s in pairwise(edges[:-1]):
            line: JournalLine = {"phase": phase, "cpu_s": cpu_s, "totals": {}, "metrics": rates, "histograms": {}}
            line["start_s"], line["time_s"] = round(begin_s, 6), round(part_end_s, 6)
            self._write(line)
        if end_s - start_s > GAP_TIMES * self._interval_s:
            self.event("pause", f"nothing was recorded for {end_s - start_s:.3g} s: {_WHY_PAUSED}", end_s)
        return edges[-2]

    def event(self, kind: str, text: str, at_s: float | None = None) -> None:
        """Writes an event: now, or at a moment of the cell's time."""
        if at_s is None:
            at_s = self.at_s if self._zero is None else max(self.at_s, time.monotonic() - self._zero[1])
        self._write({"event": {"time_s": round(at_s, 6), "kind": kind, "text": text}})

    def _write(self, line: JournalLine) -> None:
        # One write for each line, so that a kill can tear only the last line.
        self._handle.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._handle.flush()
        self._account(line)


_WHY_PAUSED = "flatwater was stopped, or got no processor. The mean of this time stands for each of its intervals"
#: What is counted in an interval, and no level at its end.
_RATE = re.compile(r"workload\.(?:\w+_per_s|(?:instance\d+_)?throughput)")
#: Unit -> the metric that it counts, and the factor from the metric to the unit.
_RATES = {
    "MiB/s": ("workload.bytes_per_s", 1 / MIB),
    "NOTPM": ("workload.new_order_ops_per_s", 60.0),
    "NOPM": ("workload.new_order_ops_per_s", 60.0),
    "tpm": ("workload.ops_per_s", 60.0),
    "qps": ("workload.queries_per_s", 1.0),
}


def _add_throughput(metrics: dict[str, float], unit: str) -> None:
    """Adds the throughput that is judged: that of all instances together, and of each."""
    rate, factor = _RATES.get(unit, ("workload.ops_per_s", 1.0))
    if rate not in metrics:
        return  # a server that is observed did not answer
    # HammerDB counts New-Orders by their numbers, which those that roll back have not taken. No other kind rolls back.
    taken_back = metrics.get("workload.rollbacks_per_s", 0.0) if unit == "NOPM" else 0.0
    metrics["workload.throughput"] = (metrics[rate] - taken_back) * factor
    for name in [name for name in metrics if _INSTANCE.fullmatch(name)]:
        operations = metrics.pop(name)
        if unit != "qps":  # of each instance, transactions are counted
            metrics[name.replace("_operations_per_s", "_throughput")] = operations * factor


_INSTANCE = re.compile(r"workload\.instance\d+_operations_per_s")


def _trim(path: Path) -> None:
    """Cuts off the last line if a kill has torn it."""
    with path.open("rb+") as handle:
        data_end = handle.seek(0, os.SEEK_END)
        while data_end > 0:
            handle.seek(data_end - 1)
            if handle.read(1) == b"\n":
                break
            data_end -= 1
        handle.truncate(data_end)
