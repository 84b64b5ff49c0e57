"""No cache."""

from __future__ import annotations

from typing import ClassVar, Literal

from flatwater.experiment.layer import Layer


class NoCache(Layer):
    """Requests go straight to the storage."""

    LAYER: ClassVar[str] = "cache"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "none"

    kind: Literal["none"] = "none"
