"""What a run makes outside its result, before it is made."""

from __future__ import annotations

from pathlib import Path

from flatwater.experiment.experiment import Experiment
from flatwater.experiment.storage import FileStorage
from flatwater.experiment.units import print_size


def written_text(experiment: Experiment) -> str | None:
    """What a run of fileio makes in a file system, how large it is, and whether it stays; None of other runs."""
    storage, swept = experiment.storage, experiment.sweep.fields
    if not isinstance(storage, FileStorage) or storage.path is None or experiment.workload.kind != "fileio":
        return None
    if storage.size is None or any(field in swept for field in ("storage.path", "storage.size", "workload.files")):
        return None
    place = Path(storage.path)
    if place.is_block_device() or place.is_file():
        return None
    files = experiment.fileio.files
    what = "a file" if files == 1 else f"{files:,} files that have together"
    size = f"{'of ' if files == 1 else ''}{print_size(storage.size)}"
    return f"needs and writes {what} {size} in {storage.path}; {_fate_text(experiment)}"


def _fate_text(experiment: Experiment) -> str:
    """Whether what is written is still there when the run is over."""
    field = "storage.keep"
    last = experiment.sweep.values_at(experiment.sweep.positions - 1).get(field, experiment.files.keep)
    if field in experiment.sweep.fields and experiment.repeat > 1:
        return "some cells delete that, and the cells of each repeat run in another order"
    return "that stays for the next run" if last else "the last cell deletes that"
