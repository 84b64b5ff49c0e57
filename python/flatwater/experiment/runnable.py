"""What a template may leave open, and a run needs."""

from __future__ import annotations

import stat
from pathlib import Path

from flatwater.errors import UserError
from flatwater.experiment.experiment import Experiment


def require_runnable(experiment: Experiment) -> None:
    """Raises UserError unless the experiment says where its data goes, and how much there is.

    Whether the place can be written to, and is ours, is for the storage to check when it opens it.
    """
    swept = [values["storage.path"] for values in experiment.sweep.dimensions if "storage.path" in values]
    paths = swept[0] if swept else [experiment.storage.path]
    for path in paths:
        if path is None:
            hint = "--set storage.path=DIR (or a file, or a block device)"
            raise UserError("storage.path is missing", where=experiment.name or None, hint=hint)
        if experiment.storage.size is None and not _is_block_device(path):
            what = f"storage.size is missing, and {path} is not a block device that knows its own"
            raise UserError(what, where=experiment.name or None, hint="--set storage.size=4GiB")


def _is_block_device(path: str) -> bool:
    try:
        return stat.S_ISBLK(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False
