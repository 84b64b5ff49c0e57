"""A result folder in which nothing was measured: the next run with the same --out takes it over.

A run that failed in its preparation (no server started, no room for the data) leaves such a folder. Nothing measured is
deleted, and nothing that flatwater does not write itself: one unknown entry, and the folder is refused as before.
"""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path

from flatwater.errors import UserError
from flatwater.owned import is_random_name
from flatwater.results.journal_phases import phases_of_journal
from flatwater.results.lock import LOCK
from flatwater.results.phases import measured_s
from flatwater.results.result import EARLIER, SET_ASIDE, is_cell_file, remove_cell
from flatwater.results.schema import CellSummary, Manifest
from flatwater.results.started import STARTED, UPLOAD
from flatwater.results.stored import read_json, validate

#: Files that each run writes anew, and the summary, which says that nothing was measured.
_FILES = {"flatwater.json", "experiment.toml", "machine.json", STARTED, UPLOAD, "summary.json", LOCK}
#: Logs and option files of the servers of each cell. They tell why the run failed, so they are kept.
_SERVERS = "servers"
_CELL = re.compile(r"\d{4,}")
#: A run of this status has ended. One that was killed is "running", and may be running: `flatwater resume` is for it.
_ENDED = ("failed", "interrupted")
#: A run that failed in less time and did nothing has only begun: the server refused its connections.
BEGUN_S = 1.0


def is_unmeasured(path: Path) -> bool:
    """Whether a folder is the result of a run that has ended and measured nothing, and holds nothing else."""
    try:
        manifest = validate(Manifest, read_json(path / "flatwater.json"), path)
        if manifest.status not in _ENDED or manifest.source != "run":
            return False
        return all(_is_known(entry) for entry in path.iterdir())
    except (UserError, OSError):
        return False


def clear_unmeasured(path: Path) -> None:
    """Deletes the cells of such a folder and its summary, and moves the servers' logs to `set-aside/`.

    Errors: OSError.
    """
    for cell in sorted((path / "cells").glob("*")):
        remove_cell(cell)
    (path / "summary.json").unlink(missing_ok=True)
    if not (path / _SERVERS).exists():
        return
    place = path / SET_ASIDE
    place.mkdir(exist_ok=True)
    free = (place / f"{_SERVERS}-{number}" for number in count(1))
    (path / _SERVERS).rename(next(target for target in free if not os.path.lexists(target)))


def _is_known(entry: Path) -> bool:
    """Whether flatwater wrote an entry of the folder, and it holds no measurement. Errors: UserError, OSError."""
    if entry.is_symlink():
        return False
    if entry.name in _FILES or is_random_name(entry.name):
        return entry.is_file()
    if not entry.is_dir():
        return False
    if entry.name == "cells":
        return all(_is_unmeasured_cell(cell) for cell in entry.iterdir())
    if entry.name == SET_ASIDE:
        return all(inner.name.startswith(f"{_SERVERS}-") and not inner.is_symlink() for inner in entry.iterdir())
    return entry.name == _SERVERS and all(_CELL.fullmatch(inner.name) for inner in entry.iterdir())


def _is_unmeasured_cell(cell: Path) -> bool:
    if not _CELL.fullmatch(cell.name) or cell.is_symlink() or not cell.is_dir():
        return False
    names = {entry.name for entry in cell.iterdir() if entry.is_file() and not entry.is_symlink()}
    if EARLIER in names or len(names) < sum(1 for _ in cell.iterdir()):
        return False
    if not all(map(is_cell_file, names)):
        return False
    begun_s = 0.0
    if "summary.json" in names:
        summary = validate(CellSummary, read_json(cell / "summary.json"), cell)
        begun_s = 0.0 if summary.operations or summary.errors else BEGUN_S
        if summary.status == "complete" or _is_longer(measured_s(summary.phases), begun_s):
            return False
    elif any(name.endswith(".parquet") for name in names):
        return False  # a journal was sealed, and nothing says what was in it
    if "journal.jsonl" not in names:
        return True
    return not _is_longer(measured_s(phases_of_journal(cell / "journal.jsonl")), begun_s)


def _is_longer(length_s: float, begun_s: float) -> bool:
    return length_s > 0 and length_s >= begun_s
