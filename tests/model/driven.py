"""Drives a modelled device through the engine, as the runner does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from flatwater import _engine
from flatwater.engine_json import as_data
from flatwater.experiment.device import Device, Use
from flatwater.plan.device import write_device

BLOCK_BYTES = 16384


@dataclass
class Driven:
    """What a run told, interval by interval."""

    #: Requests a second of each interval, those that succeeded.
    rates: list[float] = field(default_factory=list)
    errors: int = 0
    storage: list[dict[str, float]] = field(default_factory=list)
    incidents: list[tuple[float, str]] = field(default_factory=list)
    intervals: list[_engine.Interval] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return sum(self.rates) / len(self.rates)


def drive(
    spec: dict[str, Any],
    *,
    reads: bool,
    size_bytes: int,
    seconds: int,
    warmup_s: int = 0,
    threads: int = 1,
    files: int = 1,
    block_bytes: int = BLOCK_BYTES,
    sequential: bool = False,
    interval_s: float = 1.0,
    exclusive_writes: bool = False,
    seed: int = 1,
    until: str | None = None,
    distribution: dict[str, Any] | None = None,
    rate_per_s: float = 0.0,
) -> Driven:
    """Random (or sequential) requests on a device's spec; what came before `warmup_s` is not told. It ends
    early with the interval in which an incident has `until` in it."""
    workload = {
        "sequential": sequential,
        "read_pct": 100.0 if reads else 0.0,
        "block_sizes": [[block_bytes, 100.0]],
        "files": files,
        "file_bytes": size_bytes // files // block_bytes * block_bytes,
        "fsync_every": 0,
        "fsync": "none",
        "distribution": distribution or {"kind": "uniform"},
        "limit_bytes": 0,
        "seed": seed,
    }
    told = {
        "workload": workload,
        "device": spec,
        "threads": threads,
        "queue_depth": 1,
        "sync": False,
        "exclusive_writes": exclusive_writes,
        "rate_per_s": rate_per_s,
        "poisson": False,
        "continue_on_error": True,
        "interval_ms": round(interval_s * 1000),
    }
    run, driven = _engine.Run.modelled(json.dumps(told)), Driven()
    for number in range(round((warmup_s + seconds) / interval_s)):
        interval = run.next_interval(60)
        assert interval is not None
        driven.incidents += interval["incidents"]
        if number * interval_s < warmup_s:
            continue
        length_s = interval["end_s"] - interval["start_s"]
        driven.rates.append(sum(total[0] for total in interval["totals"].values()) / length_s)
        driven.errors += sum(total[2] for total in interval["totals"].values())
        driven.storage.append(interval["storage"])
        driven.intervals.append(interval)
        if until is not None and any(until in text for _, text in interval["incidents"]):
            break
    return driven


def spec_of(device: Device, **use: Any) -> dict[str, Any]:
    """A device's spec for requests of whole 16 KiB blocks."""
    spec: dict[str, Any] = as_data(write_device(device, Use(**{"align_bytes": BLOCK_BYTES, **use})))
    return spec
