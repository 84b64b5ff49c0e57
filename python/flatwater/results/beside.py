"""Making a result under another name first: it is there as a whole, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.owned import random_name
from flatwater.owned.mounted import require_no_data_directory
from flatwater.results.create import in_the_way, make_folders, require_text, undo, unwritten_result

#: What makes a folder a result. It comes last.
_MANIFEST = "flatwater.json"


@contextmanager
def new_result_folder(out: Path) -> Iterator[Path]:
    """A folder to make a result in; behind the block, its content is at `out`. Deleted if the block raises anything.

    Errors: UserError where `out` is taken; FlatwaterError when the disk is full.
    """
    require_text(out)
    require_no_data_directory(out, "--out")
    made: list[Path] = []
    try:
        place = out.resolve()
        if is_empty := place.is_dir() and not any(place.iterdir()):
            # It may be somebody's working directory, or a mount: it stays, and gets the content.
            partial = place / random_name()
        elif os.path.lexists(place):
            raise in_the_way(out)
        else:
            made = make_folders(place.parent)
            partial = place.with_name(random_name())
        partial.mkdir()
    except (OSError, RuntimeError) as error:
        undo(made)
        circle = OSError(errno.ELOOP, os.strerror(errno.ELOOP))  # Path.resolve of Python 3.11 has no OSError for it
        raise unwritten_result(error if isinstance(error, OSError) else circle, out) from None
    moved: list[Path] = []
    try:
        yield partial
        if is_empty:
            names = sorted(entry.name for entry in partial.iterdir())
            for name in sorted(names, key=lambda one: one == _MANIFEST):
                (partial / name).rename(place / name)
                moved.append(place / name)
            partial.rmdir()
        else:
            partial.rename(place)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        undo([*made, *moved])
        if isinstance(error, OSError):
            raise unwritten_result(error, out) from None
        if isinstance(error, FlatwaterError) and (error.where or "").startswith(str(partial)):
            error.where = str(out)
        raise
