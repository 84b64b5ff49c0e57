"""Writing a cell's journal: one line an interval, flushed as it happens, so that a kill loses less than a second."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from flatwater.probe import Probe
from flatwater.results.series import read_journal

if TYPE_CHECKING:
    from flatwater._engine import Interval

MIB = 2**20


class Journal:
    """Appends to `journal.jsonl`. `at_s` is the end of the last interval in it."""

    def __init__(self, path: Path, probes: Iterable[Probe], unit: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.at_s = _trim(path)
        self._handle = path.open("a")
        self._probes = list(probes)
        self._unit = unit

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.flush()
        os.fsync(self._handle.fileno())
        self._handle.close()

    def interval(self, interval: Interval, offset_s: float, phase: str) -> dict[str, float]:
        """Writes an interval with what the probes tell of it; returns its metrics."""
        metrics = {f"workload.{name}": value for name, value in interval["metrics"].items()}
        if self._unit == "MiB/s":
            metrics["workload.throughput"] = metrics["workload.bytes_per_s"] / MIB
        else:
            metrics["workload.throughput"] = metrics["workload.ops_per_s"]
        for probe in self._probes:
            metrics |= probe.sample()
        self.at_s = offset_s + interval["end_s"]
        self._write(
            {
                "time_s": round(self.at_s, 6),
                "start_s": round(offset_s + interval["start_s"], 6),
                "phase": phase,
                "cpu_s": interval["cpu_s"],
                "totals": interval["totals"],
                "metrics": {name: float(f"{value:.7g}") for name, value in metrics.items()},
                "histograms": {kind: base64.b64encode(hdr).decode() for kind, hdr in interval["histograms"].items()},
            }
        )
        return metrics

    def event(self, kind: str, text: str) -> None:
        """Writes something that happened now."""
        self._write({"event": {"time_s": round(self.at_s, 6), "kind": kind, "text": text}})

    def _write(self, line: dict[str, Any]) -> None:
        # One write a line: a kill can tear the last line only.
        self._handle.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._handle.flush()


def _trim(path: Path) -> float:
    """Cuts off a line that a kill tore; returns the end of the last interval."""
    if not path.exists():
        return 0.0
    at_s = max((float(line.get("time_s", 0.0)) for line in read_journal(path)), default=0.0)
    with path.open("rb+") as handle:
        data_end = handle.seek(0, os.SEEK_END)
        while data_end > 0:
            handle.seek(data_end - 1)
            if handle.read(1) == b"\n":
                break
            data_end -= 1
        handle.truncate(data_end)
    return at_s
