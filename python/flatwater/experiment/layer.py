"""The common part of the four layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from flatwater.experiment.problem import Problem, Table


class Layer(Table):
    """One table of the file: a kind (`workload.kind`) and the fields of that kind."""

    #: The table's name.
    LAYER: ClassVar[str]
    #: Whether the kind is the real thing, a model of it, or nothing at all.
    REALITY: ClassVar[Literal["real", "modelled", "none"]]

    kind: str

    def conflicts(self) -> Iterator[Problem]:
        """Conflicts between fields of this layer that are each valid; names dotted from the experiment or the layer."""
        return iter(())
