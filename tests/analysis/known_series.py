"""Series and results with known truths."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flatwater.analysis import analyse
from flatwater.experiment import make_experiment, to_toml
from flatwater.results import CellSummary, Phase, Result, Series, create_result, open_result
from flatwater.results.schema import CellPlan, Manifest

Values = np.ndarray[Any, np.dtype[np.float64]]


def series(values: Any, interval_s: float = 1.0, start_s: float = 0.0) -> Series:
    values = np.asarray(values, dtype=np.float64)
    return Series(start_s + interval_s * (np.arange(len(values)) + 1.0), values)


def autoregressive(phi: float, runs: int, length: int, rng: np.random.Generator) -> Values:
    """`runs` stationary AR(1) series of mean 100 and standard deviation 10, one a row."""
    noise = rng.normal(size=(runs, length))
    noise[:, 1:] *= (1 - phi * phi) ** 0.5
    values = noise
    for index in range(1, length):
        values[:, index] += phi * values[:, index - 1]
    return 100 + 10 * values


def make_result(
    path: Path,
    cells: Sequence[tuple[dict[str, Any], int, Any]],
    *,
    machine: dict[str, Any] | None = None,
    unit: str = "IOPS",
    layers: dict[str, str] | None = None,
    more: dict[str, list[Any]] | None = None,
    experiment: dict[str, Any] | None = None,
    version: str = "0",
) -> Result:
    """A result folder with cells (set, repeat, throughput a second); `more` adds series by `layer.metric`.

    `experiment`: tables that replace those of a plain experiment of random reads, which is written with every field.
    """
    tables = {"workload": {"kind": "fileio", "mode": "rndrd"}, "storage": {"size": "1GiB", "path": "/mnt"}}
    written = to_toml(make_experiment(tables | (experiment or {})))
    plans = [CellPlan(index=i, repeat=repeat, set=values, seed=i) for i, (values, repeat, _) in enumerate(cells)]
    manifest = Manifest(
        name=path.name, flatwater_version=version, status="running", created_at="2011-01-01", seed=1, cells=plans
    )
    result = create_result(path, manifest, written, machine if machine is not None else {"kernel": "6.1"})
    for cell, (_, _, values) in zip(result.cells, cells, strict=True):
        cell.folder.mkdir(parents=True)
        with cell.journal.open("w") as journal:
            for index, value in enumerate(values):
                metrics = {"workload.throughput": float(value)}
                metrics |= {name: column[index] for name, column in (more or {}).items()}
                journal.write(json.dumps({"time_s": index + 1.0, "phase": "measure", "metrics": metrics}) + "\n")
        phases = [Phase(name="measure", start_s=0, end_s=len(values))]
        found = vars(analyse(cell.series, cell.metrics(), phases, unit, 1.0))
        cell.finish(
            CellSummary(
                cell=cell.index,
                repeat=cell.plan.repeat,
                set=cell.set,
                seed=1,
                status="complete",
                unit=unit,
                layers=layers or {"storage": "real"},
                phases=phases,
                **found,
            ),
        )
    result.seal("complete")
    return open_result(path)
