"""Making a result folder."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import is_random_name, read_record, unwritten, write_atomic
from flatwater.owned.mounted import require_no_data_directory
from flatwater.results.collection import INDEX
from flatwater.results.facts import MachineFacts
from flatwater.results.lock import require_not_run
from flatwater.results.opening import open_result
from flatwater.results.result import Result
from flatwater.results.schema import Manifest
from flatwater.results.started import STARTED, UPLOAD, Started, resume_command
from flatwater.results.stored import exists
from flatwater.results.unmeasured import clear_unmeasured, is_unmeasured

#: Errors of a write to a disk that is full, or that fails.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def create_result(
    path: Path,
    manifest: Manifest,
    experiment_toml: str,
    machine: MachineFacts,
    *,
    exist_ok: bool = False,
    started: Started | None = None,
) -> Result:
    """Makes a result folder. Refuses one that exists and is not empty, unless a run was killed while it made it, or
    failed before it measured anything.

    Errors: UserError; FlatwaterError when the disk is full. Everything that this call made is deleted then.
    """
    require_text(path)
    require_no_data_directory(path, "--out")
    made: list[Path] = []
    try:
        if is_unmeasured(path):
            clear_unmeasured(path)
        elif path.exists() and not exist_ok and not _is_half_made(path, experiment_toml):
            raise in_the_way(path)
        made += make_folders(path / "cells")
        # The manifest comes last: a folder with a manifest is a result.
        texts = {
            "experiment.toml": experiment_toml,
            **({STARTED: started.to_json(path)} if started is not None else {}),
            "machine.json": json.dumps(machine, indent=1),
            "flatwater.json": manifest.model_dump_json(indent=1),
        }
        for name, text in texts.items():
            if not (path / name).exists():
                made.append(path / name)
            write_atomic(path / name, text)
    except OSError as error:
        undo(made)
        raise unwritten_result(error, path) from None
    return open_result(path)


def require_text(path: Path) -> None:
    """Errors: UserError for a path that is not UTF-8: the Parquet library takes no other."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise UserError("the path of a result must be UTF-8 text", where=repr(str(path))) from None


def in_the_way(path: Path) -> UserError:
    """The error for what is where a new result should be: whose it is, and what can be done."""
    another = "choose another --out"
    if not path.is_dir():
        return UserError("this is a file, and no folder", where=str(path), hint=another)
    try:
        require_not_run(path)
    except UserError as error:
        return UserError(error.what, where=error.where, hint=f"{another}, or {error.hint}")
    what, manifest = "the result folder exists and is not empty", read_record(path / "flatwater.json")
    if manifest.get("status") != "complete" and (manifest or exists(path / INDEX)):
        another += f", or to go on: {resume_command(path)}"
    return UserError(what, where=str(path), hint=another)


def unwritten_result(error: OSError, path: Path) -> FlatwaterError:
    """The error for a result folder that could not be written: the run failed if the disk did, else the path is bad."""
    told = unwritten("cannot write the result folder", error, str(path))
    return FlatwaterError(told.what, where=told.where, hint=told.hint) if error.errno in FULL else told


def _is_half_made(path: Path, experiment_toml: str) -> bool:
    """Whether a folder is empty, or is what a killed run left while it made the folder for this very experiment.

    The experiment is written first: a folder of somebody else's has another `experiment.toml`, or none.
    """
    if not path.is_dir():
        return False
    names = {entry.name for entry in path.iterdir()} - {UPLOAD}
    if not names:
        return True
    partial = {name for name in names if is_random_name(name)}
    others = names - {"cells", "experiment.toml", STARTED, "machine.json"} - partial
    if others or "cells" not in names or any((path / "cells").iterdir()):
        return False
    written = path / "experiment.toml"
    return names - partial == {"cells"} or (
        written.is_file() and written.read_text(errors="replace") == experiment_toml
    )


def make_folders(path: Path) -> list[Path]:
    """Makes a folder and its parents; gives those that did not exist before, the topmost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def undo(made: Iterable[Path]) -> None:
    """Deletes files and empty folders that were just made, the last first."""
    for path in reversed(list(made)):
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
