"""No database."""

from __future__ import annotations

from typing import ClassVar, Literal

from flatwater.experiment.layer import Layer


class NoDatabase(Layer):
    """The workload talks to the storage itself."""

    LAYER: ClassVar[str] = "database"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "none"

    kind: Literal["none"] = "none"
