"""Writing an experiment back as TOML."""

from __future__ import annotations

from typing import Any

import tomli_w

from flatwater.experiment.experiment import Experiment
from flatwater.experiment.parse import Tables
from flatwater.experiment.units import AS_WRITTEN
from flatwater.experiment.workload import Timing


def to_toml(experiment: Experiment) -> str:
    """The resolved experiment with its defaults. Reading the text gives the same experiment, with its sweep.

    Sizes have binary units, settings of a server stay as they were written, and passwords are left out. A swept field
    has the first of its values in its layer.
    """
    data = experiment.model_dump(context=AS_WRITTEN)
    workload = data["workload"]
    # The timing fields, which all kinds have, come after the kind's own.
    data["workload"] = {name: workload[name] for name in sorted(workload, key=_is_timing)}
    settings = data["database"].pop("settings", {})
    written = _present(data)
    if settings:  # an empty text can be a meaningful value here (sql_mode)
        written["database"]["settings"] = settings
    return tomli_w.dumps(written)


def _is_timing(name: str) -> bool:
    return name != "kind" and name in Timing.model_fields


def _present(table: Tables) -> Tables:
    """Without what TOML cannot say (None) and what says nothing (empty text, tables, lists). A dotted name is a field
    with the value that names cells by it: there an empty one says something.
    """
    kept = {name: _within(value) for name, value in table.items()}
    return {
        name: value for name, value in kept.items() if value is not None and ("." in name or value not in ("", {}, []))
    }


def _within(value: Any) -> Any:
    if isinstance(value, dict):
        return _present(value)
    return [_within(one) for one in value] if isinstance(value, list) else value
