"""What a setting of the modelled InnoDB is: how it is read, and its default in each generation of servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flatwater.experiment.database.innodb_computed import Computed
from flatwater.experiment.database.innodb_values import Reader, Value
from flatwater.experiment.database.lineage import Generation, lineage

#: Says of a generation that it no longer has a setting.
GONE = "gone"
#: A default, or what computes it.
Default = Value | Computed


@dataclass(frozen=True)
class Definition:
    """What a setting is."""

    read: Reader
    #: The default of the generations that changed it: the others have what the one before them had.
    since: Mapping[Generation, Default]
    #: What the engine is told of servers that do not have the setting.
    without: Default = None

    def default(self, generation: str) -> Default:
        """The default of a generation. Raises KeyError where it does not have the setting."""
        for one in lineage(generation):
            if one in self.since:
                if self.since[one] == GONE:
                    break
                return self.since[one]
        raise KeyError(generation)
