"""The files of one cell that its workload uses, and what is known of them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import print_size
from flatwater.owned import Identity, Permit, write_atomic
from flatwater.place import claim, look_at
from flatwater.runner.stack.target.locks import Locks
from flatwater.runner.stack.target.manifest import Prepared, PreparedFile, read_manifest

#: What is left free on a file system for its own metadata when files are prepared.
RESERVE_BYTES = 16 * 1024 * 1024
#: A run's writes may be so much later than its last sign of life, seconds: a busy machine delays the sign.
SIGN_GRACE_S = 10


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
    #: What keeps others away, from this target and from the run's others.
    locks: Locks = field(default_factory=Locks)
    #: When the next sign of life is due, by the monotonic clock.
    _sign_at: float = 0.0

    @property
    def used_bytes(self) -> int:
        """Bytes that the workload uses of all files together."""
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
            return entry if entry.witness.knows(descriptor) and self._vouches_for(descriptor) else None
        finally:
            os.close(descriptor)

    def _vouches_for(self, descriptor: int) -> bool:
        """Whether the manifest's owner may say whose an open file is. Another user may write into a manifest what is
        seen of anybody's file, and give that its name by a link.
        """
        assert self.manifest is not None
        try:
            owner = self.manifest.lstat().st_uid
        except OSError:
            return False
        return owner in (0, os.geteuid(), os.fstat(descriptor).st_uid)

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
        self.locks.lock(self.path, exclusive=True)
        self.claim()

    def claim(self) -> None:
        """Keeps caches, other programs that lock files, and (of a device) mounts from what may be written."""
        if not self.writable or self.kind == "directory":
            return
        place = look_at(self.path, "storage.path")
        if place is not None:
            self.locks.keep(claim(place, "storage.path", alone=True))

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
        self.locks.release()

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
        if entry is not None and not entry.adopted and self.as_left(entry, path.lstat()):
            path.unlink()

    def as_left(self, entry: PreparedFile, info: os.stat_result) -> bool:
        """Whether a file of ours was left alone; an empty one holds nothing.

        A run that was killed could not say how it left a file: it must be as long as the workload needs it, and nothing
        may have written to it after the run's last sign of life.
        """
        assert self.prepared is not None
        if info.st_size == 0:
            return True
        if entry.settled_ns is None:
            late_ns = info.st_mtime_ns - self.alive_ns
            return info.st_size == self.prepared.file_bytes and late_ns <= SIGN_GRACE_S * 1_000_000_000
        if self.prepared.boot_id != boot_id():
            # A machine that went down may have forgotten the last times.
            return info.st_mtime_ns <= entry.settled_ns
        return info.st_mtime_ns == entry.settled_ns

    def is_whole(self, path: Path) -> bool:
        """Whether a file is still the one that was prepared: not deleted, replaced or cut short since."""
        assert self.prepared is not None
        return self.known(path) is not None and path.stat().st_size >= self.prepared.file_bytes


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
    if target.prepared is not None and all(target.is_whole(path) for path in target.paths):
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
