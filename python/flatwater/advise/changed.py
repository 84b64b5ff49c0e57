"""The experiment of a measured cell, with a change."""

from __future__ import annotations

import json
from collections.abc import Sequence

from flatwater.experiment import Experiment, load
from flatwater.results import Cell


def changed_experiment(cell: Cell, overrides: Sequence[str] = (), seed: int | None = None) -> Experiment:
    """The experiment of one cell, with `overrides` as `--set` takes them. `seed`: None for that of the cell.

    Errors: UserError if the changed experiment is not valid.
    """
    fixed = [f"{name}={json.dumps(value)}" for name, value in cell.set.items()]
    return load(cell.result.path / "experiment.toml", [*fixed, *overrides], cell.plan.seed if seed is None else seed)
