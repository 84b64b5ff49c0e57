"""What one layer asks of another: fields that are each valid and do not go together.

mixture.py  which layer cannot stand on which
layers.py   workload, database and storage
cache.py    the flash cache and the others
thresholds.py  limits of what is not recorded
"""

from __future__ import annotations

from flatwater.experiment.conflicts.layers import layer_conflicts
from flatwater.experiment.conflicts.mixture import pairing_conflicts
from flatwater.experiment.conflicts.thresholds import threshold_conflicts

__all__ = ["layer_conflicts", "pairing_conflicts", "threshold_conflicts"]
