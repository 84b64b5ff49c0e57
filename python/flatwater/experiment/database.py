"""The database layer: what sits between the workload and the storage. One class a kind, met in KINDS."""

from __future__ import annotations

from typing import ClassVar, Literal

from flatwater.experiment.layer import Layer


class NoDatabase(Layer):
    """The workload talks to the storage itself."""

    LAYER: ClassVar[str] = "database"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "none"

    kind: Literal["none"] = "none"


#: Every kind of database that works.
KINDS: dict[str, type[Layer]] = {"none": NoDatabase}
#: Kinds of the design that are not built yet.
PLANNED = ("server", "innodb")
