"""The modelled twin of an experiment on real servers: each cell runs twice, the second time in virtual time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from flatwater.experiment.database import Database, Server
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.database.innodb_settings import has
from flatwater.experiment.parse import Tables
from flatwater.experiment.problem import Problem, Table

#: The field by which a cell and its twin differ.
FIELD = "twin.modelled"


class Twin(Table):
    """`[twin]`: the modelled server and its storage. The workload and the settings are those of the real server."""

    #: Whether a cell is the twin. It is swept automatically, the real cell first.
    modelled: bool = False
    #: `[database]` of the twin, of kind innodb-model. Other settings are those of the real server.
    database: Tables = Field(default_factory=dict)
    #: `[storage]` of the twin: a modelled kind, and its device.
    storage: Tables = Field(default_factory=dict)


def swept_with_twin(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of an experiment with its twin's field swept, if there is a `[twin]`."""
    sweep = data.get("sweep", {})
    if data.get("twin") is None or not isinstance(sweep, Mapping) or FIELD in sweep:
        return data
    return {**data, "sweep": {**sweep, FIELD: [False, True]}}


def as_twin(tables: Mapping[str, Any], twin: Twin) -> Tables:
    """The tables of a modelled twin that replace those of the real cell: server and storage, without a cache."""
    real = tables.get("database", {})
    asked = dict(real.get("settings", {})) if isinstance(real, Mapping) else {}
    # A server that flatwater starts has an empty pool, whatever it has been: it starts on a copy of a snapshot.
    warm = isinstance(real, Mapping) and real.get("url") is not None
    model = {"kind": "innodb-model", "warm": warm, **twin.database}
    generation = model.get("generation", InnodbModel.model_fields["generation"].default)
    known = {name: value for name, value in asked.items() if has(str(generation), name)}
    model["settings"] = known | dict(model.get("settings", {}))
    return {"database": model, "storage": dict(twin.storage), "cache": {"kind": "none"}}


def twin_conflicts(twin: Twin | None, database: Database) -> Iterator[Problem]:
    """Reasons why a twin does not fit: it needs a real server, and a modelled storage for itself."""
    if twin is None:
        return
    about = ("database.kind", "storage.kind")
    if database.REALITY != "real":
        yield Problem("twin", "is of a real server", 'database.kind = "server", or take out [twin]', about)
    elif not twin.storage.get("device"):
        what = "is missing: the device of the twin's modelled storage"
        yield Problem("twin.storage.device", what, '[twin.storage] kind = "ssd", device = "..."', about)
    if isinstance(database, Server) and database.others and "placement" not in twin.database:
        what = "is missing: the server has parts on other storages, and its twin would have them with its data"
        hint = "[twin.database.placement], with modelled [twin.database.storages.NAME]"
        yield Problem("twin.database.placement", what, hint, ("database.placement", "database.storages"))
