"""A file system on an emulated device: loop device, mkfs, mount, and their undoing."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned.mounted import read_mounts
from flatwater.runner.stack.served.mounts import loop_devices, unmount

#: Seconds that other users of the volume have to release it.
PATIENCE_S = 20.0

#: The mkfs commands. They leave no initialisation for later: it would run in the background of the measurement.
MAKERS: dict[str, list[str]] = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
}


class Volume:
    """A mounted file system on a file."""

    def __init__(self, file: Path, folder: Path, file_system: str) -> None:
        self._file = file
        self._folder = folder
        self._kind = file_system
        self._loop: str | None = None
        self._mounted = False

    def open(self, *, make: bool) -> None:
        """Attaches the loop device, makes the file system if `make`, and mounts it. Errors: FlatwaterError."""
        # The sector size of the device, and direct IO, so that there is no second page cache below the file system.
        device = _run("losetup", "--find", "--show", "--direct-io=on", "--sector-size", "4096", str(self._file))
        self._loop = device.strip()
        if make:
            _run(*MAKERS[self._kind], self._loop)
        _run("mount", "-t", self._kind, "-o", "noatime", self._loop, str(self._folder))
        self._mounted = True

    def close(self) -> None:
        """Undoes `open`. A file system that is still in use is detached when its last user releases it."""
        deadline = time.monotonic() + PATIENCE_S
        while self._mounted:
            late = time.monotonic() > deadline
            if unmount(self._folder, lazily=late) or late:
                self._mounted = False
            else:
                time.sleep(0.2)
        if self._loop is not None:
            subprocess.run(["losetup", "--detach", self._loop], capture_output=True)
            self._loop = None


def require_file_system(name: str) -> None:
    """Refuses a file system without its mkfs program on this machine. Errors: UserError."""
    where = "storage.file_system"
    if name not in MAKERS:
        raise UserError(f"{name!r} is none that can be made", where=where, hint=" or ".join(sorted(MAKERS)))
    missing = [tool for tool in (MAKERS[name][0], "losetup", "mount") if shutil.which(tool) is None]
    if missing:
        raise UserError(f"{missing[0]} is not installed", where=where, hint="e2fsprogs, xfsprogs and mount have it")


def clear_volume(file: Path, folder: Path) -> None:
    """Undoes what a killed run left: the loop devices of `file`, and the file system of a loop device on `folder`.
    Mounts of others stay.
    """
    loops = loop_devices(file)
    found = [entry["source"] for entry in read_mounts() if entry["target"] == os.path.realpath(folder)]
    # After a kill, the loop device may no longer show the name of its file.
    if found and found[-1].startswith("/dev/loop"):
        unmount(folder, lazily=True)
    for loop in loops:
        subprocess.run(["losetup", "--detach", loop], capture_output=True)


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise FlatwaterError(f"{command[0]} cannot be run: {error.strerror}", where="storage.file_system") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise FlatwaterError(f"{command[0]} failed: {said[-1] if said else done.returncode}", where="storage.path")
    return done.stdout
