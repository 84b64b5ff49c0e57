"""Servers that outlived the flatwater that started them. Two servers on one data directory would destroy it.

The kernel kills a server together with its flatwater (process.py), with two exceptions: a server that changed its user,
and a server that a tool started in turn to fill a new data directory.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from flatwater.errors import FlatwaterError

#: A killed process is gone after this long, seconds, unless its storage hangs.
GONE_S = 60.0
#: Options of a server that name its data directory.
_OPTIONS = ("--defaults-file=", "--datadir=")


def end_leftovers(folders: Sequence[Path]) -> None:
    """Kills the servers on data in and below these folders, which flatwater made, and which the caller has locked.

    Errors: FlatwaterError if one does not end.
    """
    if not folders:
        return
    left = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and _is_server_in(process, folders):
                process.kill()
                left.append(process)
    _, alive = psutil.wait_procs(left, GONE_S)
    if alive:
        what = f"a server of the run before (process {alive[0].pid}) does not end"
        raise FlatwaterError(what, where="storage.path", hint="its storage hangs: see dmesg")


def _is_server_in(process: psutil.Process, folders: Sequence[Path]) -> bool:
    given = [
        Path(argument.removeprefix(option))
        for argument in process.cmdline()
        for option in _OPTIONS
        if argument.startswith(option)
    ]
    # A process that is no server has no such option. The data directory may have been given by another path.
    places = [*given, Path(process.cwd())] if given else []
    return any(place.is_relative_to(folder) for place in places for folder in folders)
