"""The cache layer: a fast device in front of a slow one. One class a kind, met in KINDS."""

from __future__ import annotations

from typing import ClassVar, Literal

from flatwater.experiment.layer import Layer


class NoCache(Layer):
    """Requests go straight to the storage."""

    LAYER: ClassVar[str] = "cache"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "none"

    kind: Literal["none"] = "none"


#: Every kind of cache that works.
KINDS: dict[str, type[Layer]] = {"none": NoCache}
#: Kinds of the design that are not built yet.
PLANNED = ("flash",)
