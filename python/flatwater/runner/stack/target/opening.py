"""Finds a workload's files, and guards the user's data against being overwritten.

A directory, a file or a block device becomes a *target*: the files that the workload uses. flatwater writes only to
files that it made itself (a manifest beside them has their witnesses), unless the experiment says `storage.overwrite`.
The files to write get a permit. The engine opens all others read-only.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.owned.mounted import (
    find_block_device,
    mount_of,
    require_no_data_directory,
    require_no_device_folder,
)
from flatwater.place import Place, contents, look_at, require_unused
from flatwater.runner.stack.target.locks import Locks
from flatwater.runner.stack.target.manifest import read_manifest
from flatwater.runner.stack.target.target import Target

#: The used size is a multiple of this, the largest sector size in use, so that O_DIRECT can reach every byte.
ALIGNMENT_BYTES = 4096

#: The largest share of the available memory for buffers: the page cache and other processes need the rest.
BUFFERS_SHARE_MAX = 0.5

_STEM = "flatwater-fileio"

#: Verification reads flatwater's own stamps. In flatwater's files, only the preparation of missing data writes them.
_STAMPS = "workload.verify stamps every block"
#: The settings that make a workload on files write, and the reason why existing data would be lost. A phase that is
#: not listed here gets no permit, and fails.
_WRITING: tuple[tuple[str, Callable[[Experiment], bool]], ...] = (
    ("the workload writes", lambda cell: cell.fileio.read_fraction < 1),
    ("workload.precondition_passes writes", lambda cell: cell.fileio.precondition_passes > 0),
    ("storage.purge discards", lambda cell: cell.files.purge),
    (_STAMPS, lambda cell: cell.fileio.verify),
)


def will_write(cell: Experiment) -> list[str]:
    """The reasons why a cell on files overwrites existing data; empty if it only reads."""
    return [why for why, applies in _WRITING if applies(cell)]


def open_target(experiment: Experiment, previous: Target | None = None) -> Target:
    """Finds the files of a cell and checks that it may use them. Writes nothing yet.

    `previous` is the target of the previous cell. Its lock (and, for a block device, its state) is taken over.
    Errors: UserError for a path that is missing, not writable, in use, or not flatwater's.
    """
    path = Path(experiment.storage.path or "")
    where = "storage.path"
    try:
        info = path.stat()
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise UserError(
                f"{path} does not exist, and neither does its directory", where=where, hint=f"mkdir -p {path}"
            ) from None
        info = None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot use {path}: {getattr(error, 'strerror', None) or error}", where=where) from None
    if info is not None and not any(kind(info.st_mode) for kind in (stat.S_ISREG, stat.S_ISDIR, stat.S_ISBLK)):
        # Before the lock, because opening a FIFO blocks until it has a writer.
        raise UserError(
            f"{path} is neither a directory nor a file nor a block device", where=where, hint="give a directory"
        )
    if info is None or not stat.S_ISBLK(info.st_mode):
        require_no_device_folder(path, where)
    if info is None or stat.S_ISDIR(info.st_mode):
        require_no_data_directory(path, where)
    if info is None and path.is_symlink():
        raise UserError(
            f"{path} is a link to {path.readlink()}, which is not there",
            where=where,
            hint="delete the link, or choose another path",
        )
    # All targets of a run share one list of locks, so that each of them can release all locks.
    locks = previous.locks if previous is not None else Locks()
    if previous is not None and previous.path != path:
        previous.release()
    if not locks.held:
        locks.lock(path if info is not None else path.parent, exclusive=info is not None)
    try:
        if info is None or stat.S_ISREG(info.st_mode):
            target = _file_target(experiment, path, exists=info is not None, claimed=locks.held > 1)
        elif stat.S_ISDIR(info.st_mode):
            target = _directory_target(experiment, path)
        else:
            target = _device_target(experiment, path, previous, claimed=locks.held > 1)
        target.locks = locks
        if locks.held == 1:
            target.claim()
        _check_alignment(experiment, path)
        _check_memory(experiment)
    except UserError:
        locks.release()
        raise
    return target


def _file_bytes(experiment: Experiment, size: int) -> int:
    """Used bytes of each file: the filled share of its size, in whole aligned blocks."""
    used = int(size * experiment.storage.fill) // experiment.fileio.files
    return used // ALIGNMENT_BYTES * ALIGNMENT_BYTES or used


def _directory_target(experiment: Experiment, path: Path) -> Target:
    files = experiment.fileio.files
    paths = [path / f"{_STEM}.{number:04}" for number in range(files)]
    target = Target(path, "directory", paths, _file_bytes(experiment, experiment.storage.size or 0), None, None)
    target.manifest = path / f"{_STEM}.json"
    target.prepared = read_manifest(target.manifest)
    if not os.access(path, os.W_OK | os.X_OK) or mount_is_read_only(path):
        raise UserError(
            f"{path} is not writable", where="storage.path", hint="choose a directory that you may write to"
        )
    for one in paths:
        if os.path.lexists(one):
            _guard(experiment, target, one)
    target.writable = True
    return target


def _file_target(experiment: Experiment, path: Path, *, exists: bool, claimed: bool) -> Target:
    if experiment.fileio.files != 1:
        raise UserError(
            f"{path} is one file, but workload.files = {experiment.fileio.files}",
            where="storage.path",
            hint="give a directory, or set workload.files = 1",
        )
    size = experiment.storage.size or (path.stat().st_size if exists else 0)
    target = Target(path, "file", [path], _file_bytes(experiment, size), None, None)
    target.manifest = path.with_name(f"{path.name}.flatwater.json")
    target.prepared = read_manifest(target.manifest)
    if not os.access(path.parent, os.W_OK | os.X_OK) or mount_is_read_only(path.parent):
        raise UserError(f"{path.parent} is not writable", where="storage.path", hint="choose another directory")
    foreign = exists and target.known(path) is None
    if foreign and not will_write(experiment) and path.stat().st_size >= target.used_bytes:
        # To read a file of somebody else does no harm: it is used as it is, without a manifest.
        target.manifest = None
        return target
    if exists:
        _guard(experiment, target, path, claimed=claimed)
    target.writable = True
    return target


def _guard(experiment: Experiment, target: Target, path: Path, *, claimed: bool = False) -> None:
    """Refuses to overwrite a file unless flatwater made it or the user allows it. Errors: UserError."""
    place = look_at(path, "storage.path")
    if place is not None:
        require_unused(place, "storage.path", claimed=claimed)
    entry = target.known(path)
    info = path.lstat() if target.kind == "directory" else path.stat()
    if entry is not None and target.as_left(entry, info):
        return
    if stat.S_ISLNK(info.st_mode):
        raise UserError(
            f"{path} is a link: what it leads to was not made by flatwater",
            where="storage.path",
            hint="delete the link, or choose another path",
        )
    if experiment.files.overwrite:
        return
    if entry is not None and set(will_write(experiment)) <= {_STAMPS}:
        target.changed.append(path)
        return
    raise _would_be_lost(path, "was not made by flatwater" if entry is None else _CHANGED)


_CHANGED = "something else wrote to it since flatwater used it last"


def _would_be_lost(path: Path, why: str) -> UserError:
    info = path.lstat()
    changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.st_mtime))
    return UserError(
        f"{path} exists ({print_size(info.st_size)}, changed {changed}) and {why}: its contents would be destroyed",
        where="storage.path",
        hint="choose another path, or storage.overwrite = true if they are not needed",
    )


def require_unchanged(target: Target) -> None:
    """Checks files that flatwater made before it writes to them. Errors: UserError if another program changed them."""
    if target.changed:
        raise _would_be_lost(target.changed[0], _CHANGED)


def _device_target(experiment: Experiment, path: Path, previous: Target | None, *, claimed: bool) -> Target:
    if experiment.fileio.files != 1:
        raise UserError(f"{path} is a block device: workload.files must be 1", where="workload.files")
    place = look_at(path, "storage.path")
    assert place is not None, "it was there"
    size = experiment.storage.size or place.bytes
    if size > place.bytes:
        raise UserError(
            f"{print_size(size)} are more than the {print_size(place.bytes)} of {path}", where="storage.size"
        )
    target = Target(path, "device", [path], _file_bytes(experiment, size), None, None)
    writing = will_write(experiment)
    if not writing:
        return target
    require_unused(place, "storage.path", claimed=claimed)
    if not experiment.files.overwrite:
        raise UserError(
            f"everything on {path} ({_size_and_contents(place)}) would be destroyed: {writing[0]}",
            where="storage.path",
            hint="storage.overwrite = true if it is not needed",
        )
    if not os.access(path, os.R_OK | os.W_OK):
        raise UserError(f"{path} is not writable", where="storage.path", hint="run as a user who may write to it")
    target.writable = True
    if previous is not None and previous.path == path:
        target.prepared = previous.prepared
    return target


def _size_and_contents(place: Place) -> str:
    held = contents(place)
    return print_size(place.bytes) if held is None else f"{print_size(place.bytes)}, holds {held}"


def mount_is_read_only(path: Path) -> bool:
    """Whether the file system of a path is mounted read-only, by its mount options."""
    return "ro" in mount_of(path).get("options", "").split(",")[:1]


def _check_alignment(experiment: Experiment, path: Path) -> None:
    """Checks the sizes for O_DIRECT: it needs whole sectors of the device. Errors: UserError."""
    if not experiment.fileio.direct:
        return
    device = find_block_device(path if path.exists() else path.parent)
    if device is None:
        return
    folder = Path(f"/sys/dev/block/{device[0]}:{device[1]}").resolve()
    disk = folder if (folder / "queue").exists() else folder.parent
    try:
        sector = int((disk / "queue/logical_block_size").read_text())
    except (OSError, ValueError):
        return
    for size in experiment.fileio.block_sizes:
        if size % sector:
            raise UserError(
                f"{size} B are no multiple of the {sector} B sectors of the device under {path} (O_DIRECT)",
                where="workload.block_size",
                hint="use whole sectors, or workload.direct = false",
            )


def _check_memory(experiment: Experiment) -> None:
    """Checks the memory for the buffers: each request in flight has its own. Errors: UserError."""
    workload = experiment.fileio
    depth = workload.queue_depth if workload.engine == "io_uring" else 1
    needed = workload.threads * depth * max(workload.block_sizes)
    available = psutil.virtual_memory().available
    if needed > available * BUFFERS_SHARE_MAX:
        raise UserError(
            f"{workload.threads} threads x {depth} requests of {print_size(max(workload.block_sizes))} need "
            f"{print_size(needed)} of buffers, and {print_size(available)} of memory are available",
            where="workload.queue_depth",
            hint="fewer threads, a smaller depth or smaller blocks",
        )
