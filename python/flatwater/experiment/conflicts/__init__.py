"""What one layer asks of another: fields that are each valid and do not go together.

layers.py   workload, database and storage
cache.py    the flash cache and the others
"""

from __future__ import annotations

from flatwater.experiment.conflicts.layers import layer_conflicts, pairing_conflicts

__all__ = ["layer_conflicts", "pairing_conflicts"]
