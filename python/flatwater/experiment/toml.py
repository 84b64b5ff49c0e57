"""Writing an experiment back as TOML."""

from __future__ import annotations

from typing import Any

import tomli_w

from flatwater.experiment.experiment import Experiment
from flatwater.experiment.units import AS_WRITTEN


def to_toml(experiment: Experiment) -> str:
    """The resolved experiment, defaults included: reading it gives the same experiment, sweep and all.

    Sizes carry binary units. Fields that are swept stand in their layer at the first of their values.
    """
    data = experiment.model_dump(context=AS_WRITTEN)
    return tomli_w.dumps(_present(data))


def _present(table: dict[str, Any]) -> dict[str, Any]:
    """Without what TOML cannot say (None) and what says nothing (empty text, tables and lists)."""
    kept = {name: _present(value) if isinstance(value, dict) else value for name, value in table.items()}
    return {name: value for name, value in kept.items() if value is not None and value not in ("", {}, [])}
