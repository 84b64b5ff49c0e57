"""Writing a cell's journal: one line an interval, flushed as it happens, so that a kill loses less than a second."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from flatwater.probe import Probe
from flatwater.results import Event, Phase
from flatwater.results.folder import add_to_phases, validate
from flatwater.results.series import PartWriter, read_journal
from flatwater.runner.schedule import DRAIN, MEASURE
from flatwater.runner.tally import Tally

if TYPE_CHECKING:
    from flatwater._engine import Interval

MIB = 2**20


class Journal:
    """Appends to `journal.jsonl`, and keeps account of what is in it, so that the end of a long run has little to do.

    `at_s` is the end of the last interval; `phases`, `events` and the `tally` of the measured phase cover the whole
    journal, also what a killed run left in it.
    """

    def __init__(self, path: Path, unit: str, cell: int = 0) -> None:
        self.at_s = 0.0
        self.phases: list[Phase] = []
        self.events: list[Event] = []
        self.tally = Tally()
        self.probes: Sequence[Probe] = ()
        #: When this process wrote its last interval, by its monotonic clock.
        self._interval_at: float | None = None
        self._path = path
        self._unit = unit
        self._parts = PartWriter(cell, path.parent, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            for line in read_journal(path):
                self._account(line)
            _trim(path)
        self._handle = path.open("a")

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.flush()
        os.fsync(self._handle.fileno())
        self._handle.close()

    def seal(self) -> None:
        """Turns what is left of the journal into Parquet."""
        self._parts.close()

    def _account(self, line: dict[str, Any]) -> None:
        self._parts.add(line)
        if line.get("event") is not None:
            self.events.append(validate(Event, line["event"], self._path))
            return
        add_to_phases(self.phases, line)
        self.at_s = float(line["time_s"])
        if line["phase"] == MEASURE:
            self.tally.add(line)
        elif line["phase"] == DRAIN:
            self.tally.add_drained(line)

    def interval(self, interval: Interval, offset_s: float, phase: str) -> dict[str, float]:
        """Writes an interval with what the probes tell of it; returns its metrics."""
        metrics = {f"workload.{name}": value for name, value in interval["metrics"].items()}
        _add_throughput(metrics, self._unit)
        for probe in self.probes:
            metrics |= probe.sample()
        self._write(
            {
                "time_s": round(offset_s + interval["end_s"], 6),
                "start_s": round(offset_s + interval["start_s"], 6),
                "phase": phase,
                "cpu_s": interval["cpu_s"],
                "totals": interval["totals"],
                "counters": interval["counters"],
                "metrics": {name: float(f"{value:.7g}") for name, value in metrics.items()},
                "histograms": {kind: base64.b64encode(hdr).decode() for kind, hdr in interval["histograms"].items()},
            }
        )
        self._interval_at = time.monotonic()
        return metrics

    def event(self, kind: str, text: str) -> None:
        """Writes something that happened now."""
        since_s = 0.0 if self._interval_at is None else time.monotonic() - self._interval_at
        self._write({"event": {"time_s": round(self.at_s + since_s, 6), "kind": kind, "text": text}})

    def _write(self, line: dict[str, Any]) -> None:
        # One write a line: a kill can tear the last line only.
        self._handle.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._handle.flush()
        self._account(line)


#: Unit -> the rate that it counts, and by how much a second's rate is multiplied.
_RATES = {
    "MiB/s": ("workload.bytes_per_s", 1 / MIB),
    "NOTPM": ("workload.new_order_ops_per_s", 60.0),
    "qps": ("workload.queries_per_s", 1.0),
}


def _add_throughput(metrics: dict[str, float], unit: str) -> None:
    """Adds what is judged, of all instances together and of each."""
    rate, factor = _RATES.get(unit, ("workload.ops_per_s", 1.0))
    metrics["workload.throughput"] = metrics[rate] * factor
    for name in [name for name in metrics if _INSTANCE.fullmatch(name)]:
        operations = metrics.pop(name)
        if unit != "qps":  # of each instance, transactions are counted
            metrics[name.replace("_operations_per_s", "_throughput")] = operations * factor


_INSTANCE = re.compile(r"workload\.instance\d+_operations_per_s")


def _trim(path: Path) -> None:
    """Cuts off a line that a kill tore."""
    with path.open("rb+") as handle:
        data_end = handle.seek(0, os.SEEK_END)
        while data_end > 0:
            handle.seek(data_end - 1)
            if handle.read(1) == b"\n":
                break
            data_end -= 1
        handle.truncate(data_end)
