"""Whether a run may write into a result folder that may be anybody's.

Whoever made the folder decides what lies in it. A run that goes on there appends to files, replaces and deletes some,
and uploads what a file of it names. So nothing in it may lead elsewhere: no link, no second name of a file, nothing of
another user, who could change it meanwhile, and no place in a store.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.started import UPLOAD, resume_command

#: More entries than a thousand cells have with their servers' logs.
ENTRIES_MAX = 100_000


def require_nothing_leads_elsewhere(folder: Path, root: Path) -> None:
    """Errors: UserError that names the first entry that does, or that cannot be looked at.

    Looked at are also the folders between it and `root`: who may write to one puts another folder in its place.
    """
    for above in folder.parents[: len(folder.parts) - len(root.parts) - 1]:
        try:
            why = _why_not(above.lstat())
        except OSError as error:
            why = f"cannot be looked at: {error.strerror}"
        if why is not None:
            raise refused(folder, f"the folder {above} above it: {why}")
    for number, (name, info) in enumerate(_entries(folder)):
        why = _why_not(info)
        if name == UPLOAD:
            why = "it says that the result is uploaded to a store, which no page does"
        if number > ENTRIES_MAX:
            name, why = ".", f"it has more than {ENTRIES_MAX:,} files"
        if why is not None:
            raise refused(folder, f"{name}: {why}" if name != "." else why)


def refused(folder: Path, what: str) -> UserError:
    """What cannot be resumed from a page, and how to do so in a terminal."""
    hint = f"not from a page; if it is yours, in a terminal: {resume_command(folder)}"
    return UserError(what, where=str(folder), hint=hint)


def _entries(folder: Path) -> list[tuple[str, os.stat_result]]:
    """All entries with their names below the folder, the folder itself first. No link is followed."""
    try:
        found = [(".", folder.lstat())]
        for at, folders, files in os.walk(folder, onerror=_fail):
            inside = os.path.relpath(at, folder)
            for name in (*folders, *files):
                below = name if inside == "." else f"{inside}/{name}"
                found.append((below, os.lstat(os.path.join(at, name))))  # noqa: PTH118 - thousands of them
            if len(found) > ENTRIES_MAX + 1:
                break
    except OSError as error:
        raise refused(folder, f"cannot be looked through: {error.strerror}") from None
    return found


def _fail(error: OSError) -> None:
    raise error


def _why_not(info: os.stat_result) -> str | None:
    if stat.S_ISLNK(info.st_mode):
        return "it is a link, and no file of the result"
    if not stat.S_ISREG(info.st_mode) and not stat.S_ISDIR(info.st_mode):
        return "it is no file"
    if info.st_uid != os.geteuid():
        return "it belongs to another user"
    if info.st_mode & stat.S_IWOTH:
        return "every user may write to it"
    if info.st_mode & stat.S_IWGRP and info.st_gid != os.getegid():
        return "other users of its group may write to it"
    if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
        return "the file has another name, too, and would be changed there"
    return None
