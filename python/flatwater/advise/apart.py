"""Which parts of a server are not on the storage of its data."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Evidence
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.database.placement import placed


def parts_apart(evidence: Evidence) -> frozenset[str]:
    """The parts, of `PARTS`, that the experiment puts on another device or storage than the data.

    What has no files of its own goes along with the system tablespace. Of a server that flatwater did not place nothing
    is known.
    """
    database = evidence.experiment.database if evidence.experiment is not None else None
    holdings = [*database.other_devices.values()] if isinstance(database, InnodbModel) else []
    if isinstance(database, PlacedLayer) and evidence.database is not None:
        holdings += placed(database, evidence.database.own_files).values()
    return frozenset(part for holding in holdings for part in holding.parts)
