"""Conflicts between layers: fields that are each valid but conflict.

mixture.py  which layer cannot stand on which
layers.py   workload, database and storage
cache.py    the flash cache and the others
load_hosts.py  a load that several hosts make
placed_tables.py  tables elsewhere that the workload does not have
sql.py      the user's own statements on a server of the user's
thresholds.py  limits for figures that are not recorded
"""

from __future__ import annotations

from flatwater.experiment.conflicts.layers import layer_conflicts
from flatwater.experiment.conflicts.mixture import pairing_conflicts
from flatwater.experiment.conflicts.thresholds import threshold_conflicts

__all__ = ["layer_conflicts", "pairing_conflicts", "threshold_conflicts"]
