"""Where a workload's data lives, and the guard that nothing of the user's is destroyed.

A directory, a file or a block device becomes a *target*: the files that the workload uses. flatwater writes only to
files that it made itself (a manifest beside them says which), unless the experiment says `storage.overwrite`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment, print_size
from flatwater.probe.disk import find_block_device, mount_of, read_mounts
from flatwater.results.folder import write_atomic

#: Used sizes are whole multiples of this: the largest sector in use, so that O_DIRECT can reach every byte.
ALIGNMENT_BYTES = 4096
#: What is left free on a file system for its own metadata when files are prepared.
RESERVE_BYTES = 16 * 1024 * 1024

#: Most of the available memory that buffers may take: the page cache and the machine's other work need the rest.
BUFFERS_SHARE_MAX = 0.5

_STEM = "flatwater-fileio"


class PreparedFile(BaseModel):
    """A file that flatwater made, as the file system knows it: a replaced file is not ours any more."""

    model_config = ConfigDict(extra="forbid")
    name: str
    device: int
    inode: int


class Prepared(BaseModel):
    """The manifest: what was prepared, and how far."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["flatwater-prepared"] = "flatwater-prepared"
    set_id: int
    files: list[PreparedFile]
    file_bytes: int
    #: Bytes written without a gap, over all files in order.
    done_bytes: int = 0
    #: The boot in which they were written: before a sync, only that boot's page cache vouches for them.
    boot_id: str
    complete: bool = False
    compressible_pct: float
    #: Size of the blocks that carry verification headers; 0 for none.
    stamp_bytes: int = 0
    #: Verified runs on these files so far: each writes generations above those of the one before.
    runs: int = 0


@dataclass
class Target:
    """The files of one cell."""

    path: Path
    kind: Literal["directory", "file", "device"]
    paths: list[Path]
    #: Bytes of each file that the workload uses.
    file_bytes: int
    prepared: Prepared | None
    manifest: Path | None
    _locks: list[int] = field(default_factory=list)

    @property
    def used_bytes(self) -> int:
        return self.file_bytes * len(self.paths)

    def save(self) -> None:
        """Writes the manifest; a block device has none, and is prepared anew by each run."""
        if self.manifest is None or self.prepared is None:
            return
        try:
            write_atomic(self.manifest, self.prepared.model_dump_json())
        except OSError as error:
            raise FlatwaterError(f"cannot write {self.manifest}: {error.strerror}", where="storage.path") from None

    def release(self) -> None:
        """Lets other runs use the storage."""
        _unlock(self._locks)

    def remove(self) -> None:
        """Deletes what was prepared (`storage.keep = false`); devices and files of others stay."""
        if self.manifest is None or self.prepared is None:
            return
        for path in self.paths:
            path.unlink(missing_ok=True)
        self.manifest.unlink(missing_ok=True)
        self.prepared = None


def open_target(experiment: Experiment, previous: Target | None = None) -> Target:
    """Finds the files of a cell and makes sure that they may be used; nothing is written yet.

    `previous` is the target of the cell before, whose lock (and, on a block device, state) is taken over.
    Errors: UserError for a path that is missing, unwritable, in use, or not ours.
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
        # Before the lock: merely opening a FIFO waits for its writer.
        raise UserError(
            f"{path} is neither a directory nor a file nor a block device", where=where, hint="give a directory"
        )
    # All targets of a run share one list of locks: whoever holds any of them can release what is held now.
    locks = previous._locks if previous is not None else []
    if previous is not None and previous.path != path:
        previous.release()
    if not locks:
        locks.append(_lock(path if info is not None else path.parent, exclusive=info is not None))
    try:
        if info is None or stat.S_ISREG(info.st_mode):
            target = _file_target(experiment, path, exists=info is not None)
        elif stat.S_ISDIR(info.st_mode):
            target = _directory_target(experiment, path)
        else:
            target = _device_target(experiment, path, previous)
            if _needs_write(experiment) and len(locks) == 1:
                locks.append(_claim(path))
        _check_alignment(experiment, path)
        _check_memory(experiment)
    except UserError:
        _unlock(locks)
        raise
    target._locks = locks
    return target


def _lock(path: Path, *, exclusive: bool) -> int:
    """Keeps two runs from using the same storage at once."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", where="storage.path") from None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise UserError(
            f"another flatwater is using {path}", where="storage.path", hint="wait for it, or use another directory"
        ) from None
    return descriptor


def _claim(path: Path) -> int:
    """Claims a block device for this process alone, before anything is written to it and until the run ends.

    The kernel refuses it if anything holds the device (also what leaves no trace to look for, like a second member of a
    mounted btrfs), and refuses to mount it meanwhile.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        what = "the kernel says that something holds it" if error.errno == errno.EBUSY else error.strerror
        raise UserError(
            f"{path} is in use ({what}): it will not be written to"
            if error.errno == errno.EBUSY
            else f"{path}: {what}",
            where="storage.path",
            hint="unmount what is on it, or choose another device",
        ) from None


def _unlock(locks: list[int]) -> None:
    while locks:
        os.close(locks.pop())


def _file_bytes(experiment: Experiment, size: int) -> int:
    """Bytes used of each file: the filled share of the size, in whole aligned blocks."""
    used = int(size * experiment.storage.fill) // experiment.fileio.files
    return used // ALIGNMENT_BYTES * ALIGNMENT_BYTES or used


def _needs_write(experiment: Experiment) -> bool:
    return experiment.fileio.read_fraction < 1 or experiment.files.purge


def _directory_target(experiment: Experiment, path: Path) -> Target:
    files = experiment.fileio.files
    paths = [path / f"{_STEM}.{number:04}" for number in range(files)]
    target = Target(path, "directory", paths, _file_bytes(experiment, experiment.storage.size or 0), None, None)
    target.manifest = path / f"{_STEM}.json"
    target.prepared = _read_manifest(target.manifest)
    if not os.access(path, os.W_OK | os.X_OK) or mount_is_read_only(path):
        raise UserError(
            f"{path} is not writable", where="storage.path", hint="choose a directory that you may write to"
        )
    for stray in [p for p in paths if p.exists() and not _is_ours(target, p)]:
        _guard_existing(experiment, stray)
    return target


def _file_target(experiment: Experiment, path: Path, *, exists: bool) -> Target:
    if experiment.fileio.files != 1:
        raise UserError(
            f"{path} is one file, but workload.files = {experiment.fileio.files}",
            where="storage.path",
            hint="give a directory, or set workload.files = 1",
        )
    size = experiment.storage.size or (path.stat().st_size if exists else 0)
    target = Target(path, "file", [path], _file_bytes(experiment, size), None, None)
    target.manifest = path.with_name(f"{path.name}.flatwater.json")
    target.prepared = _read_manifest(target.manifest)
    if not os.access(path.parent, os.W_OK | os.X_OK) or mount_is_read_only(path.parent):
        raise UserError(f"{path.parent} is not writable", where="storage.path", hint="choose another directory")
    if exists and not _is_ours(target, path):
        if _needs_write(experiment) or path.stat().st_size < target.used_bytes:
            _guard_existing(experiment, path)
        else:
            # Reading what someone else made harms nothing: used as it is, with no manifest of ours.
            target.manifest = None
    return target


def _guard_existing(experiment: Experiment, path: Path) -> None:
    if experiment.files.overwrite:
        return
    info = path.stat()
    changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.st_mtime))
    raise UserError(
        f"{path} exists ({print_size(info.st_size)}, changed {changed}) and was not made by flatwater: "
        "its contents would be destroyed",
        where="storage.path",
        hint="choose another path, or storage.overwrite = true if they are not needed",
    )


def _device_target(experiment: Experiment, path: Path, previous: Target | None) -> Target:
    if experiment.fileio.files != 1:
        raise UserError(f"{path} is a block device: workload.files must be 1", where="workload.files")
    number = find_block_device(path)
    folder = Path(f"/sys/dev/block/{os.major(path.stat().st_rdev)}:{os.minor(path.stat().st_rdev)}").resolve()
    device_bytes = int((folder / "size").read_text()) * 512
    size = experiment.storage.size or device_bytes
    if size > device_bytes:
        raise UserError(
            f"{print_size(size)} are more than the {print_size(device_bytes)} of {path}", where="storage.size"
        )
    target = Target(path, "device", [path], _file_bytes(experiment, size), None, None)
    if not _needs_write(experiment):
        return target
    used_by = _device_users(folder)
    if used_by:
        raise UserError(
            f"{path} is in use ({'; '.join(used_by)}): it will not be written to",
            where="storage.path",
            hint="unmount it first, or choose another device",
        )
    if not experiment.files.overwrite:
        raise UserError(
            f"everything on {path} ({print_size(device_bytes)}{_contents(path)}) would be destroyed",
            where="storage.path",
            hint="storage.overwrite = true if it is not needed",
        )
    if not os.access(path, os.R_OK | os.W_OK):
        raise UserError(f"{path} is not writable", where="storage.path", hint="run as a user who may write to it")
    if previous is not None and previous.path == path:
        target.prepared = previous.prepared
    assert number is not None
    return target


def _device_users(folder: Path) -> list[str]:
    """What uses a block device or one of its partitions: mounts, swap, other devices on top of it."""
    parts = [folder, *(part.parent for part in folder.glob("*/partition"))]
    numbers = {part.joinpath("dev").read_text().strip(): part.name for part in parts if (part / "dev").exists()}
    found = [
        f"/dev/{numbers[mount['device']]} is mounted on {mount['target']}"
        for mount in read_mounts()
        if mount["device"] in numbers
    ]
    names = {f"/dev/{part.name}" for part in parts}
    # btrfs and the like mount with an anonymous device number: their source tells.
    found += [
        f"{mount['source']} is mounted on {mount['target']}"
        for mount in read_mounts()
        if mount["source"] in names and mount["device"] not in numbers
    ]
    swaps = Path("/proc/swaps").read_text().splitlines()[1:]
    found += [f"{line.split()[0]} is swap" for line in swaps if line.split()[0] in names]
    for part in parts:
        holders = part / "holders"
        found += [f"{holder.name} is built on it" for holder in holders.iterdir()] if holders.exists() else []
    return found


#: Where a file system's magic number stands: (name, offset, bytes). From each one's on-disk format.
_SIGNATURES = (
    ("ext2/3/4", 1080, b"\x53\xef"),
    ("XFS", 0, b"XFSB"),
    ("btrfs", 65600, b"_BHRfS_M"),
    ("LVM", 536, b"LVM2 001"),
    ("LUKS", 0, b"LUKS\xba\xbe"),
    ("NTFS", 3, b"NTFS"),
    ("swap", 4086, b"SWAPSPACE2"),
    ("a partition table", 510, b"\x55\xaa"),
)


def _contents(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            head = handle.read(65664)
    except OSError:
        return ""
    found = [name for name, at, magic in _SIGNATURES if head[at : at + len(magic)] == magic]
    return f", holds {found[0]}" if found else ""


def mount_is_read_only(path: Path) -> bool:
    return "ro" in mount_of(path).get("options", "").split(",")[:1]


def _check_alignment(experiment: Experiment, path: Path) -> None:
    """O_DIRECT needs whole sectors of the device under the path."""
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
    """Every request in flight has a buffer of its own."""
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


def _read_manifest(path: Path) -> Prepared | None:
    try:
        return Prepared.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError, UnicodeDecodeError):
        raise UserError(
            f"{path} is damaged, so it is not known which files flatwater made",
            where="storage.path",
            hint=f"delete {path} and the files that it stands for",
        ) from None


def _is_ours(target: Target, path: Path) -> bool:
    info = path.stat()
    return target.prepared is not None and any(
        (known.name, known.device, known.inode) == (path.name, info.st_dev, info.st_ino)
        for known in target.prepared.files
    )


def _is_whole(target: Target, path: Path) -> bool:
    """Whether a file is still the one that was prepared: not deleted, replaced or cut short since."""
    assert target.prepared is not None
    return path.exists() and _is_ours(target, path) and path.stat().st_size >= target.prepared.file_bytes


def _remove_others(target: Target) -> None:
    """Deletes files that an experiment with more of them left here: their space is needed, their data is not."""
    if target.kind != "directory" or target.prepared is None:
        return
    wanted = {path.name for path in target.paths}
    for known in target.prepared.files:
        path = target.path / known.name
        # The names are what a manifest says: nothing outside the directory is ours.
        if known.name not in wanted and path.parent == target.path and path.is_file() and _is_ours(target, path):
            path.unlink()


def boot_id() -> str:
    """Changes when the machine is started anew."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def plan_preparation(experiment: Experiment, target: Target) -> int | None:
    """Makes the target's files exist and says from which byte on they must be written; None when nothing is missing.

    Errors: UserError when there is not enough space.
    """
    workload = experiment.fileio
    if target.kind == "file" and target.manifest is None:
        return None
    if target.kind == "device" and not _needs_write(experiment):
        return None
    stamp = max(workload.block_sizes) if workload.verify else 0
    old = target.prepared
    keep = (
        old is not None
        and len(old.files) == len(target.paths)
        and old.compressible_pct == workload.compressible_pct
        and (stamp in (0, old.stamp_bytes))
        and (old.complete or old.boot_id == boot_id())
        and (old.file_bytes == target.file_bytes or len(target.paths) == 1)
        and (target.kind == "device" or all(_is_whole(target, path) for path in target.paths))
    )
    done = min(old.done_bytes, target.used_bytes) if keep and old is not None else 0
    _remove_others(target)
    check_space(target, target.used_bytes)
    _create_files(target)
    target.prepared = Prepared(
        set_id=old.set_id if keep and old is not None else uuid.uuid4().int >> 65,
        files=[
            PreparedFile(name=path.name, device=info.st_dev, inode=info.st_ino)
            for path, info in ((path, path.stat()) for path in target.paths)
        ],
        file_bytes=target.file_bytes,
        done_bytes=done,
        boot_id=boot_id(),
        complete=done == target.used_bytes,
        compressible_pct=workload.compressible_pct,
        stamp_bytes=stamp or (old.stamp_bytes if keep and old is not None else 0),
        runs=old.runs if keep and old is not None else 0,
    )
    if target.kind != "device":
        for path in target.paths:
            if path.stat().st_size != target.file_bytes:
                os.truncate(path, target.file_bytes)
    target.save()
    return None if done == target.used_bytes else done


def forget_contents(target: Target) -> None:
    """After a purge: the files are there, but nothing is in them."""
    if target.prepared is not None:
        target.prepared = target.prepared.model_copy(update={"done_bytes": 0, "complete": False})
        target.save()


def check_space(target: Target, used_bytes: int) -> None:
    """Raises UserError when the file system has no room for files of so many bytes in all."""
    if target.kind == "device":
        return
    folder = target.path if target.kind == "directory" else target.path.parent
    free = os.statvfs(folder)
    available = free.f_bavail * free.f_frsize
    held = sum(path.stat().st_blocks * 512 for path in target.paths if path.exists())
    if target.prepared is not None and all(_is_whole(target, path) for path in target.paths):
        # A file system that compresses holds more than its blocks tell.
        held = max(held, target.prepared.done_bytes)
    needed = max(0, used_bytes - held)
    if needed and needed + RESERVE_BYTES > available:
        raise UserError(
            f"{print_size(needed)} more are needed in {folder}, and {print_size(available)} are free "
            f"({print_size(RESERVE_BYTES)} of them are left alone)",
            where="storage.size",
            hint="a smaller storage.size, or another storage.path",
        )


def _create_files(target: Target) -> None:
    for path in target.paths:
        if path.exists():
            continue
        try:
            path.touch(mode=0o600)
        except OSError as error:
            raise FlatwaterError(f"cannot create {path}: {error.strerror}", where="storage.path") from None
        if target.kind == "file":
            # Until now only its directory was locked, which others may use too.
            target._locks.append(_lock(path, exclusive=True))
