"""Mount points of flatwater's served files: prepared, cleaned up, and never taken from another owner."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned.mounted import read_mounts

#: The source in the mount table of an emulated device, as crates/serve writes it.
MOUNT_SOURCE = "flatwater-emulate"


def require_fuse() -> None:
    """Refuses a machine that cannot mount. Errors: FlatwaterError."""
    if os.geteuid() != 0:
        raise FlatwaterError("mounting an emulated device needs root", hint="sudo, or a container with privileges")
    if not Path("/dev/fuse").exists():
        raise FlatwaterError("/dev/fuse is missing: this kernel serves no files", hint="modprobe fuse")


def clear_mount_point(mount: Path) -> str | None:
    """Prepares a directory as a mount point: makes it, or unmounts the rest of a killed emulator; returns what it did.

    Errors: UserError when something else is there.
    """
    done = release_mount(mount)
    where = "--mount"
    try:
        mount.mkdir(exist_ok=True)
        empty = not any(mount.iterdir())
    except OSError as error:
        raise UserError(f"cannot mount on {mount}: {error.strerror}", where=where, hint="give a directory") from None
    if not empty:
        raise UserError(f"{mount} is not empty: what is in it would be hidden", where=where, hint="an empty directory")
    return done


def release_mount(mount: Path) -> str | None:
    """Unmounts the rest of a killed emulator; returns what it did. Errors: UserError for a mount of another owner."""
    where, done = "--mount", None
    target = os.path.realpath(mount)
    found = [entry for entry in read_mounts() if entry["target"] == target]
    if found:
        if found[-1]["source"] != MOUNT_SOURCE:
            told = f"{mount} is a mount point already, of {found[-1]['source']}"
            raise UserError(told, where=where, hint="give an empty directory")
        if not is_dead(mount):
            told = f"another emulator serves {mount}"
            raise UserError(told, where=where, hint="end it with Ctrl-C, or give another directory")
        unmount(Path(target), lazily=True)
        done = f"unmounted what a killed emulator left on {mount}"
    return done


def is_dead(mount: Path) -> bool:
    """Whether the server of a mount point has died."""
    try:
        os.statvfs(mount)  # the kernel forwards this call to the server; names and lengths may be in its cache
    except OSError:
        return True
    return False


def unmount(path: Path, *, lazily: bool = False) -> bool:
    """Unmounts; returns False if the mount is in use."""
    return subprocess.run(["umount", *(["-l"] if lazily else []), str(path)], capture_output=True).returncode == 0


def loop_devices(file: Path) -> list[str]:
    """The loop devices of a file, also of a file that is no longer served."""
    listed = subprocess.run(
        ["losetup", "--list", "--noheadings", "--raw", "--output", "NAME,BACK-FILE"], capture_output=True, text=True
    )
    pairs = [line.split(" ", 1) for line in listed.stdout.splitlines()]
    return [pair[0] for pair in pairs if len(pair) == 2 and pair[1].strip() == str(file)]
