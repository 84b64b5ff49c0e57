"""The mount of a cache: checking its directory, mounting, finding its users, unmounting."""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress
from pathlib import Path

from flatwater.cache.state import CacheState
from flatwater.errors import FlatwaterError, UserError
from flatwater.owned.mounted import read_mounts

#: Prefix of the source of a cache's mount, before its name.
SOURCE = "flatwater-cache:"
#: The file under a mount that is the cached device, crates/serve/src/cache/files.rs.
DEVICE_FILE = "cached"
_MNT_DETACH = 2
#: The number of users that a message names.
_NAMED_MAX = 4

_libc = ctypes.CDLL(None, use_errno=True)


def require_fuse() -> None:
    """Errors: FlatwaterError if this machine or this user cannot mount through FUSE."""
    device = Path("/dev/fuse")
    if not device.exists():
        raise FlatwaterError(
            "/dev/fuse is missing: this kernel serves no files", hint="modprobe fuse, or serve with --nbd SOCKET only"
        )
    if os.geteuid() != 0 or not os.access(device, os.R_OK | os.W_OK):
        raise FlatwaterError("mounting a cache needs root", hint="sudo, or serve with --nbd SOCKET only")


def mount_at(path: Path) -> dict[str, str] | None:
    """The mount on a directory, given by its real path; None if there is none."""
    found = [entry for entry in read_mounts() if entry["target"] == str(path)]
    return found[-1] if found else None


def check_mount_point(path: Path, state: CacheState) -> str | None:
    """Checks that a directory can be mounted on. Unmounts what a killed server left there; gives a note of that.

    Errors: UserError.
    """
    where = "--mount"
    real = Path(os.path.realpath(path.parent)) / path.name if path.name else path
    entry, done = mount_at(real), None
    if entry is not None:
        if entry["source"] != SOURCE + state.name:
            told = f"{path} is a mount point already, of {entry['source']}"
            raise UserError(told, where=where, hint="give an empty directory")
        # No process serves this cache: the caller has checked that.
        unmount(real, lazily=True)
        done = f"unmounted what a killed server left on {path}"
    try:
        empty = not any(path.iterdir())
    except FileNotFoundError:
        raise UserError(f"{path} does not exist", where=where, hint=f"mkdir -p {path}") from None
    except OSError as error:
        raise UserError(f"cannot mount on {path}: {error.strerror}", where=where, hint="give a directory") from None
    if not empty:
        raise UserError(f"{path} is not empty: what is in it would be hidden", where=where, hint="an empty directory")
    for role, file in (("the cache device", state.fast), ("the backing device", state.backing)):
        if real in Path(file).parents:
            raise UserError(f"{role} {file} would be hidden by the mount", where=where, hint="another directory")
    return done


def mount(path: Path, name: str) -> tuple[int, str]:
    """Mounts, and negotiates the FUSE options with the kernel.

    Gives the descriptor, which keeps the mount alive, and the options, which the serving process needs. Errors:
    FlatwaterError.
    """
    from flatwater._engine import cache_mount

    try:
        return cache_mount(path, f"{SOURCE}{name}")
    except OSError as error:
        hint = None
        if error.errno in (errno.EPERM, errno.EACCES):
            hint = "it needs CAP_SYS_ADMIN: sudo, or a container with privileges; or --nbd SOCKET only"
        raise FlatwaterError(f"cannot mount on {path}: {error.strerror}", hint=hint) from None


def unmount(path: Path, *, lazily: bool = False) -> bool:
    """Unmounts; False if the mount is in use. Errors: FlatwaterError for any other failure."""
    if _libc.umount2(os.fsencode(str(path)), _MNT_DETACH if lazily else 0) == 0:
        return True
    error = ctypes.get_errno()
    if error == errno.EBUSY:
        return False
    if error == errno.EINVAL:  # nothing is mounted there any more
        return True
    raise FlatwaterError(f"cannot unmount {path}: {os.strerror(error)}")


def mount_users(path: Path) -> list[str]:
    """The users of a mount, in words: loop devices (with their mounts), other mounts and processes.

    Only the kernel's lists are read, and no file of the mount: the server of a dead mount would never answer.
    """
    found = [*_loops_under(path), *_mounts_under(path), *_processes_under(path)]
    more = len(found) - _NAMED_MAX
    return found if more <= 0 else [*found[:_NAMED_MAX], f"{more} more"]


def _loops_under(path: Path) -> list[str]:
    found = []
    mounts = read_mounts()
    for backing in sorted(Path("/sys/block").glob("loop*/loop/backing_file")):
        with suppress(OSError):
            if not _is_under(backing.read_text().rstrip("\n"), path):
                continue
            device = backing.parent.parent
            number = (device / "dev").read_text().strip()
            on = [entry["target"] for entry in mounts if entry["device"] == number]
            mounted = f", mounted on {on[0]}" if on else ""
            found.append(f"loop device /dev/{device.name}{mounted}")
    return found


def _mounts_under(path: Path) -> list[str]:
    targets = [entry["target"] for entry in read_mounts()]
    return [f"a mount on {target}" for target in targets if target != str(path) and _is_under(target, path)]


def _processes_under(path: Path) -> list[str]:
    found = []
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda process: int(process.name)):
        links = [folder / "cwd", folder / "root"]
        for kind in ("fd", "map_files"):
            with suppress(OSError):
                links += (folder / kind).iterdir()
        if any(_is_under(_target(link), path) for link in links):
            found.append(process_name(int(folder.name)))
    return found


def process_name(process: int) -> str:
    """A process in words: `fio (process 4711)`."""
    try:
        return f"{Path(f'/proc/{process}/comm').read_text().strip()} (process {process})"
    except OSError:
        return f"process {process}" if process else "a process that cannot be seen from here"


def _target(link: Path) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115 - as text: it may be no path at all
    except OSError:
        return ""


def _is_under(file: str, path: Path) -> bool:
    return file == str(path) or file.startswith(f"{path}/")
