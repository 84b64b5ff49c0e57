"""Results of the library's experiments as a run left them that was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from servelab import write_seconds

from flatwater import __version__
from flatwater.experiment import count_cells, load, to_toml
from flatwater.experiment.library import library_files
from flatwater.results import Result, create_result
from flatwater.results.schema import Manifest
from flatwater.results.started import Started
from flatwater.runner.executors.bench import plan_cell

#: A modelled experiment, and lines that leave it one cell that takes a moment.
MODELLED = "fill-level-tachion-400"
SHORT = ("sweep.storage.fill=[0.5]", "workload.duration_s=2")


def stopped(
    path: Path,
    name: str = MODELLED,
    lines: Sequence[str] = SHORT,
    *,
    text: str | None = None,
    started: Started | None = None,
    seconds: int = 3,
    **said: Any,
) -> Result:
    """A result with seconds in the journal of its first cell. `text` replaces its experiment."""
    experiment = load(library_files()[name], lines)
    cells = [plan_cell(experiment, index) for index in range(count_cells(experiment))]
    manifest = Manifest(
        **{
            "name": name,
            "title": experiment.title,
            "flatwater_version": __version__,
            "status": "interrupted",
            "created_at": "2026-11-26T10:00:00+00:00",
            "seed": experiment.seed,
            "cells": cells,
        }
        | said
    )
    result = create_result(path, manifest, text or to_toml(experiment), {}, started=started or Started())
    write_seconds(result, 0, seconds)
    return result
