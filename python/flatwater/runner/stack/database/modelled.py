"""A modelled InnoDB, in virtual time: the engine computes it with its workload and with what is below."""

from __future__ import annotations

from flatwater.experiment.database import InnodbModel
from flatwater.runner.stack.layers.database import Database


class ModelledInnodb(Database):
    """One or several modelled servers."""

    @property
    def ignored(self) -> list[str]:
        """Settings that change nothing in the model."""
        database = self._cell.database
        return list(database.ignored) if isinstance(database, InnodbModel) else []
