"""Where a workload's data lives, and the guard that nothing of the user's is destroyed.

A directory, a file or a block device becomes a *target*: the files that the workload uses. flatwater writes only to
files that it made itself (a manifest beside them has their witnesses), unless the experiment says `storage.overwrite`.
What may be written gets a permit; the engine opens everything else read-only.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment, print_size
from flatwater.owned import Identity, Permit, write_atomic
from flatwater.place import Place, claim, contents, look_at, require_unused
from flatwater.probe.disk import find_block_device, mount_of, require_no_device_folder
from flatwater.runner.manifest import Prepared, PreparedFile, read_manifest

#: Used sizes are whole multiples of this: the largest sector in use, so that O_DIRECT can reach every byte.
ALIGNMENT_BYTES = 4096
#: What is left free on a file system for its own metadata when files are prepared.
RESERVE_BYTES = 16 * 1024 * 1024

#: Most of the available memory that buffers may take: the page cache and the machine's other work need the rest.
BUFFERS_SHARE_MAX = 0.5

#: A run's writes may be so much later than its last sign of life, seconds: a busy machine delays the sign.
SIGN_GRACE_S = 10

_STEM = "flatwater-fileio"

#: Verification reads what flatwater stamped: of its own files, only the preparation of what is missing writes.
_STAMPS = "workload.verify stamps every block"
#: Everything about a workload on files that writes where it reads: why what is there would be lost. A phase that is not
#: named here gets no permit, and fails.
_WRITING: tuple[tuple[str, Callable[[Experiment], bool]], ...] = (
    ("the workload writes", lambda cell: cell.fileio.read_fraction < 1),
    ("workload.precondition_passes writes", lambda cell: cell.fileio.precondition_passes > 0),
    ("storage.purge discards", lambda cell: cell.files.purge),
    (_STAMPS, lambda cell: cell.fileio.verify),
)


def will_write(cell: Experiment) -> list[str]:
    """What of a cell on files writes to what is there, in words; empty when it is only read."""
    return [why for why, applies in _WRITING if applies(cell)]


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
    #: The check found that it may be written: it is ours, or the user said so.
    writable: bool = False
    #: Files of ours that something else wrote to since: they may be read, and be written only where the user says so.
    changed: list[Path] = field(default_factory=list)
    #: What the engine may write to; given when the files are there.
    permit: Permit | None = None
    _locks: list[int] = field(default_factory=list)
    #: When the next sign of life is due, by the monotonic clock.
    _sign_at: float = 0.0

    @property
    def used_bytes(self) -> int:
        return self.file_bytes * len(self.paths)

    def save(self) -> None:
        """Writes the manifest; a block device has none, and is prepared anew by each run."""
        if self.manifest is None or self.prepared is None:
            return
        read_manifest(self.manifest)  # somebody may have put something else there since
        try:
            write_atomic(self.manifest, self.prepared.model_dump_json())
        except OSError as error:
            raise FlatwaterError(f"cannot write {self.manifest}: {error.strerror}", where="storage.path") from None

    def keep_alive(self) -> None:
        """A sign of life while a workload runs: the manifest's time of change, once a second at most."""
        if self.manifest is None or self.permit is None or time.monotonic() < self._sign_at:
            return
        self._sign_at = time.monotonic() + 1.0
        with suppress(OSError):
            os.utime(self.manifest, follow_symlinks=False)

    @property
    def alive_ns(self) -> int:
        """When a run that uses the files gave its last sign of life, ns since 1970."""
        try:
            return self.manifest.lstat().st_mtime_ns if self.manifest is not None else 0
        except OSError:
            return 0

    def known(self, path: Path) -> PreparedFile | None:
        """What the manifest says of the file that is there now, if flatwater made it or was given it."""
        entry = self.prepared.entry(path.name) if self.prepared is not None else None
        if entry is None or entry.witness is None:
            return None
        try:
            descriptor = self.open(path)
        except OSError:
            return None
        try:
            return entry if entry.witness.knows(descriptor) else None
        finally:
            os.close(descriptor)

    def open(self, path: Path, mode: int = os.O_RDONLY) -> int:
        """A descriptor of a file, to look at it. In a directory of the user's, no link is followed. Errors: OSError."""
        follow = os.O_NOFOLLOW if self.kind == "directory" else 0
        return os.open(path, mode | os.O_NONBLOCK | os.O_CLOEXEC | follow)

    def require_known(self, path: Path, descriptor: int) -> None:
        """Errors: UserError when what was opened is not the file that the manifest knows by this name."""
        entry = self.prepared.entry(path.name) if self.prepared is not None else None
        if entry is not None and entry.witness is not None and not entry.witness.knows(descriptor):
            raise UserError(f"{path} was replaced while it was being used", where="storage.path")

    def grant(self) -> None:
        """Gives the permit to write, if the check found that it may be, to just the files that are there now.

        Errors: UserError for a file that was replaced since.
        """
        if not self.writable:
            return
        identities: list[Identity] = []
        for path in self.paths:
            try:
                descriptor = self.open(path)
            except OSError as error:
                raise UserError(f"cannot use {path}: {error.strerror}", where="storage.path") from None
            try:
                self.require_known(path, descriptor)
                identities.append(Identity.of(os.fstat(descriptor)))
            finally:
                os.close(descriptor)
        self.permit = Permit(tuple(identities))

    def lock_file(self) -> None:
        """Keeps others from a file that was just made. Errors: UserError."""
        self._locks.append(_lock(self.path, exclusive=True))
        _claim(self, self._locks)

    def release(self) -> None:
        """Lets other runs use the storage; remembers how it was left."""
        if self.permit is not None and self.prepared is not None and self.manifest is not None:
            for entry in self.prepared.files:
                path = self.path / entry.name if self.kind == "directory" else self.path
                if path in self.changed:
                    continue  # what somebody wrote to it is still in it
                entry.settled_ns = path.stat().st_mtime_ns if self.known(path) else None
            with suppress(FlatwaterError):  # then it claims less
                self.save()
        self.permit = None
        _unlock(self._locks)

    def remove(self) -> None:
        """Deletes what was prepared (`storage.keep = false`); devices and files of others stay, and so do files of ours
        that others wrote to.
        """
        if self.manifest is None or self.prepared is None:
            return
        for path in self.paths:
            if path not in self.changed:
                self.delete(path)
        with suppress(UserError):  # not one that somebody else put there
            read_manifest(self.manifest)
            self.manifest.unlink(missing_ok=True)
        self.prepared = None

    def delete(self, path: Path) -> None:
        """Deletes a file that flatwater made, and that nobody wrote to since flatwater left it."""
        entry = self.known(path)
        if entry is not None and not entry.adopted and _as_left(self, entry, path.lstat()):
            path.unlink()


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
    if info is None or not stat.S_ISBLK(info.st_mode):
        require_no_device_folder(path, where)
    if info is None and path.is_symlink():
        raise UserError(
            f"{path} is a link to {path.readlink()}, which is not there",
            where=where,
            hint="delete the link, or choose another path",
        )
    # All targets of a run share one list of locks: whoever holds any of them can release what is held now.
    locks = previous._locks if previous is not None else []
    if previous is not None and previous.path != path:
        previous.release()
    if not locks:
        locks.append(_lock(path if info is not None else path.parent, exclusive=info is not None))
    try:
        if info is None or stat.S_ISREG(info.st_mode):
            target = _file_target(experiment, path, exists=info is not None, claimed=len(locks) > 1)
        elif stat.S_ISDIR(info.st_mode):
            target = _directory_target(experiment, path)
        else:
            target = _device_target(experiment, path, previous, claimed=len(locks) > 1)
        if len(locks) == 1:
            _claim(target, locks)
        _check_alignment(experiment, path)
        _check_memory(experiment)
    except UserError:
        _unlock(locks)
        raise
    target._locks = locks
    return target


def _claim(target: Target, locks: list[int]) -> None:
    """Keeps caches, other programs that lock files, and (of a device) mounts from what may be written."""
    if not target.writable or target.kind == "directory":
        return
    place = look_at(target.path, "storage.path")
    if place is not None:
        locks.append(claim(place, "storage.path", alone=True))


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


def _unlock(locks: list[int]) -> None:
    while locks:
        os.close(locks.pop())


def _file_bytes(experiment: Experiment, size: int) -> int:
    """Bytes used of each file: the filled share of the size, in whole aligned blocks."""
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
        # Reading what someone else made harms nothing: used as it is, with no manifest of ours.
        target.manifest = None
        return target
    if exists:
        _guard(experiment, target, path, claimed=claimed)
    target.writable = True
    return target


def _guard(experiment: Experiment, target: Target, path: Path, *, claimed: bool = False) -> None:
    """Refuses a file that would be lost, unless it is ours or the user says so. Errors: UserError."""
    place = look_at(path, "storage.path")
    if place is not None:
        require_unused(place, "storage.path", claimed=claimed)
    entry = target.known(path)
    info = path.lstat() if target.kind == "directory" else path.stat()
    if entry is not None and _as_left(target, entry, info):
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
    """Before anything is written to files that were only to be read. Errors: UserError."""
    if target.changed:
        raise _would_be_lost(target.changed[0], _CHANGED)


def _as_left(target: Target, entry: PreparedFile, info: os.stat_result) -> bool:
    """Whether a file of ours was left alone; an empty one holds nothing.

    A run that was killed could not say how it left a file: it must be as long as the workload needs it, and nothing may
    have written to it after the run's last sign of life.
    """
    assert target.prepared is not None
    if info.st_size == 0:
        return True
    if entry.settled_ns is None:
        late_ns = info.st_mtime_ns - target.alive_ns
        return info.st_size == target.prepared.file_bytes and late_ns <= SIGN_GRACE_S * 1_000_000_000
    if target.prepared.boot_id != boot_id():
        # A machine that went down may have forgotten the last times.
        return info.st_mtime_ns <= entry.settled_ns
    return info.st_mtime_ns == entry.settled_ns


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
            f"everything on {path} ({_told(place)}) would be destroyed: {writing[0]}",
            where="storage.path",
            hint="storage.overwrite = true if it is not needed",
        )
    if not os.access(path, os.R_OK | os.W_OK):
        raise UserError(f"{path} is not writable", where="storage.path", hint="run as a user who may write to it")
    target.writable = True
    if previous is not None and previous.path == path:
        target.prepared = previous.prepared
    return target


def _told(place: Place) -> str:
    held = contents(place)
    return print_size(place.bytes) if held is None else f"{print_size(place.bytes)}, holds {held}"


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


def is_whole(target: Target, path: Path) -> bool:
    """Whether a file is still the one that was prepared: not deleted, replaced or cut short since."""
    assert target.prepared is not None
    return target.known(path) is not None and path.stat().st_size >= target.prepared.file_bytes


def boot_id() -> str:
    """Changes when the machine is started anew."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def check_space(target: Target, used_bytes: int) -> None:
    """Raises UserError when the file system has no room for files of so many bytes in all."""
    if target.kind == "device":
        return
    folder = target.path if target.kind == "directory" else target.path.parent
    free = os.statvfs(folder)
    available = free.f_bavail * free.f_frsize
    held = sum(path.stat().st_blocks * 512 for path in target.paths if path.exists())
    if target.prepared is not None and all(is_whole(target, path) for path in target.paths):
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
