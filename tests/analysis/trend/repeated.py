"""Folders with the results of repeated runs, written without running: a day apart, with figures that are given."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flatwater.experiment import make_experiment, to_toml
from flatwater.results import SCHEMA_VERSION, CellSummary, LatencyUs, MetricSummary
from flatwater.results.health import CellHealth
from flatwater.results.schema import CellPlan, Manifest, ServerFacts

MACHINE: dict[str, Any] = {
    "cpu": "Example Xeon 2.4 GHz",
    "cores": 16,
    "memory_bytes": 68719476736,
    "kernel": "6.1.0-18-amd64",
    "storage": {
        "path": "/mnt/card",
        "device": "/dev/nvme0n1",
        "model": "EXAMPLE 960",
        "device_bytes": 960197124096,
        "file_system": "xfs",
        "file_system_bytes": 100 * 2**30,
        "file_system_free_bytes": 60 * 2**30,
    },
}
EXPERIMENT: dict[str, Any] = {
    "name": "nightly",
    "workload": {"kind": "fileio", "mode": "rndrd", "duration_s": 60},
    "storage": {"size": "1GiB", "path": "/mnt/card/one"},
}
FIRST = datetime.datetime(2026, 1, 1, 3, tzinfo=datetime.UTC)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Tables with those of `changes` in them, entry by entry."""
    found = dict(base)
    for name, value in changes.items():
        inner = found.get(name)
        found[name] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return found


@functools.cache
def _experiment(tables: str) -> str:
    return to_toml(make_experiment(json.loads(tables)))


def make_run(
    folder: Path,
    number: int,
    mean: float | Sequence[float],
    *,
    name: str = "nightly",
    experiment: Mapping[str, Any] | None = None,
    machine: Mapping[str, Any] | None = None,
    sets: Sequence[dict[str, Any]] = ({},),
    p99_us: float | None = None,
    cpu_us: float | None = None,
    metrics: Mapping[str, float] | None = None,
    server: str = "",
    variables: Mapping[str, str] | None = None,
    health: CellHealth | None = None,
    schema_version: int = SCHEMA_VERSION,
    **manifest: Any,
) -> Path:
    """One result folder, of day `number`; a mean for all cells, or for each."""
    path = folder / f"run-{number:03}"
    path.mkdir(parents=True)
    at = (FIRST + datetime.timedelta(days=number)).isoformat()
    means = list(mean) if isinstance(mean, Sequence) else [mean] * len(sets)
    plans = [CellPlan(index=index, repeat=0, set=values, seed=number) for index, values in enumerate(sets)]
    told = {"status": "complete", "flatwater_version": "0.1.0", "created_at": at, "seed": number} | manifest
    tables = merged(EXPERIMENT, {"name": name} | dict(experiment or {}))
    cells = [
        CellSummary(
            cell=plan.index,
            set=plan.set,
            seed=number,
            status="complete",
            unit="IOPS",
            mean=value,
            verdict="flat",
            latency_us=LatencyUs(p99=p99_us) if p99_us is not None else None,
            client_cpu_us_per_op=cpu_us,
            servers=[ServerFacts(flavour="mysql", version=server)] if server else [],
            metrics={key: MetricSummary(mean=one, max=one) for key, one in (metrics or {}).items()},
            health=health,
        ).model_dump(mode="json")
        for plan, value in zip(plans, means, strict=True)
    ]
    written = {
        "flatwater.json": Manifest(name=name, cells=plans, schema_version=schema_version, **told).model_dump_json(),
        "experiment.toml": _experiment(json.dumps(tables, sort_keys=True)),
        "machine.json": json.dumps(merged(MACHINE, machine or {})),
        "summary.json": json.dumps({"schema_version": schema_version, "cells": cells}),
    }
    for file, text in written.items():
        (path / file).write_text(text)
    if variables is not None:
        for plan in plans:
            (path / f"servers/{plan.index:04}").mkdir(parents=True)
            (path / f"servers/{plan.index:04}/variables.json").write_text(json.dumps(variables))
    return path
