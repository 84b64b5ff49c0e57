"""Files and directories that an experiment names and this machine has not: a run on it would end at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.database.server import Server
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.runnable import places_of


def list_absent(experiment: Experiment) -> list[str]:
    """What is not there, a text for each: the field with its place in the file, and the path.

    Other machines may run the cells, so this is no mistake of the file.
    """
    return [experiment.placed(text) for text in (*_absent_directories(experiment), *_absent_tls_files(experiment))]


def _absent_directories(experiment: Experiment) -> Iterator[str]:
    # Files of fileio are made at the path; servers and caches make theirs in a directory that is there.
    made = not isinstance(experiment.database, PlacedLayer) and experiment.flash_cache is None
    for field, _, path in places_of(experiment):
        needed = Path(path).parent if made else Path(path)
        if not _exists(needed):
            yield f"{field}: {needed} is not on this machine, and a run here needs it: mkdir -p {needed}"


def _absent_tls_files(experiment: Experiment) -> Iterator[str]:
    if not isinstance(experiment.database, Server):
        return
    for name, path in experiment.database.tls_files():
        if not _exists(Path(path)):
            yield f"database.{name}: {path} is not on this machine, and a run here needs it"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
