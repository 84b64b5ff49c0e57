"""No database: the workload uses the storage directly."""

from __future__ import annotations

from flatwater.runner.stack.layers.database import Database


class NoDatabase(Database):
    """An empty layer."""
