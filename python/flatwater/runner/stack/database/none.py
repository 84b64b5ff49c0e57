"""No database: the workload itself stands on what is below."""

from __future__ import annotations

from flatwater.runner.stack.layers.database import Database


class NoDatabase(Database):
    """Nothing between the workload and what is below."""
