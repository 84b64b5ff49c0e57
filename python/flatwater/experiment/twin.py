"""The modelled twin of an experiment on real servers: each cell runs twice, the second time in virtual time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.database.innodb_settings import has
from flatwater.experiment.problem import Problem, Table
from flatwater.experiment.tables import Tables

#: The field by which a cell and its twin differ.
FIELD = "twin.modelled"


class Twin(Table):
    """`[twin]`: what the modelled server and its storage are; the workload, and the settings, are the real one's."""

    #: Which of the two a cell is: swept by itself, the real one first.
    modelled: bool = False
    #: `[database]` of the twin, whose kind is innodb-model. Settings that are not in it are those of the real server.
    database: Tables = Field(default_factory=dict)
    #: `[storage]` of the twin: a modelled kind, and its device.
    storage: Tables = Field(default_factory=dict)


def swept_with_twin(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """An experiment's data in which `[twin]`, if there is one, sweeps its field."""
    sweep = data.get("sweep", {})
    if data.get("twin") is None or not isinstance(sweep, Mapping) or FIELD in sweep:
        return data
    return {**data, "sweep": {**sweep, FIELD: [False, True]}}


def as_twin(tables: Mapping[str, Any], twin: Twin) -> Tables:
    """What a modelled twin has in the place of the tables of a real cell: its server and its storage, and no cache."""
    real = tables.get("database", {})
    asked = dict(real.get("settings", {})) if isinstance(real, Mapping) else {}
    model = {"kind": "innodb-model", **twin.database}
    generation = model.get("generation", InnodbModel.model_fields["generation"].default)
    known = {name: value for name, value in asked.items() if has(str(generation), name)}
    model["settings"] = known | dict(model.get("settings", {}))
    return {"database": model, "storage": dict(twin.storage), "cache": {"kind": "none"}}


def twin_conflicts(twin: Twin | None, reality: str) -> Iterator[Problem]:
    """What keeps a twin from being one of a real server, on a modelled storage."""
    if twin is None:
        return
    about = ("database.kind", "storage.kind")
    if reality != "real":
        yield Problem("twin", "is of a real server", 'database.kind = "server", or take out [twin]', about)
    elif not twin.storage.get("device"):
        what = "is missing: the device of the twin's modelled storage"
        yield Problem("twin.storage.device", what, '[twin.storage] kind = "ssd", device = "..."', about)
