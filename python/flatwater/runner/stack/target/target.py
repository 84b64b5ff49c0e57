"""The files of one cell that its workload uses, and their state."""

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

#: Free space that stays for the file system's metadata when files are prepared.
RESERVE_BYTES = 16 * 1024 * 1024
#: Seconds that a run's writes may be later than its last sign of life: a busy machine delays the sign.
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
    #: Whether the check allows writing: flatwater made the files, or the user allows it.
    writable: bool = False
    #: Files of flatwater that another program has changed. They may be read. Writing needs the user's permission.
    changed: list[Path] = field(default_factory=list)
    #: The engine's permit to write, given when the files exist.
    permit: Permit | None = None
    #: Locks of this target and of the run's other targets.
    locks: Locks = field(default_factory=Locks)
    #: Time of the next sign of life, on the monotonic clock.
    _sign_at: float = 0.0

    @property
    def used_bytes(self) -> int:
        """Bytes of all files together that the workload uses."""
        return self.file_bytes * len(self.paths)

    def save(self) -> None:
        """Writes the manifest. A block device has none: each run prepares it anew."""
        if self.manifest is None or self.prepared is None:
            return
        read_manifest(self.manifest)  # raises if somebody has replaced it
        try:
            write_atomic(self.manifest, self.prepared.model_dump_json())
        except OSError as error:
            raise FlatwaterError(f"cannot write {self.manifest}: {error.strerror}", where="storage.path") from None

    def keep_alive(self) -> None:
        """Gives a sign of life while a workload runs: touches the manifest, at most once a second."""
        if self.manifest is None or self.permit is None or time.monotonic() < self._sign_at:
            return
        self._sign_at = time.monotonic() + 1.0
        with suppress(OSError):
            os.utime(self.manifest, follow_symlinks=False)

    @property
    def alive_ns(self) -> int:
        """Time of the last sign of life of any run that uses the files, ns since 1970."""
        try:
            return self.manifest.lstat().st_mtime_ns if self.manifest is not None else 0
        except OSError:
            return 0

    def known(self, path: Path) -> PreparedFile | None:
        """The manifest's entry for the current file, if flatwater made it or was allowed to take it."""
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
        """Whether the manifest's owner may claim an open file. Another user could copy the facts of any file into a
        manifest, and link that file to the name.
        """
        assert self.manifest is not None
        try:
            owner = self.manifest.lstat().st_uid
        except OSError:
            return False
        return owner in (0, os.geteuid(), os.fstat(descriptor).st_uid)

    def open(self, path: Path, mode: int = os.O_RDONLY) -> int:
        """Opens a file to inspect it. In a user's directory, links are not followed. Errors: OSError."""
        follow = os.O_NOFOLLOW if self.kind == "directory" else 0
        return os.open(path, mode | os.O_NONBLOCK | os.O_CLOEXEC | follow)

    def require_known(self, path: Path, descriptor: int) -> None:
        """Errors: UserError when an open file is not the one in the manifest."""
        entry = self.prepared.entry(path.name) if self.prepared is not None else None
        if entry is not None and entry.witness is not None and not entry.witness.knows(descriptor):
            raise UserError(f"{path} was replaced while it was being used", where="storage.path")

    def grant(self) -> None:
        """Gives the permit to write, if the check allowed it, to exactly the current files.

        Errors: UserError for a file that was replaced since the check.
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
        """Locks a new file. Errors: UserError."""
        self.locks.lock(self.path, exclusive=True)
        self.claim()

    def claim(self) -> None:
        """Claims the files for writing, against caches, other programs that lock files, and (for a device) mounts."""
        if not self.writable or self.kind == "directory":
            return
        place = look_at(self.path, "storage.path")
        if place is not None:
            self.locks.keep(claim(place, "storage.path", alone=True))

    def release(self) -> None:
        """Releases the storage for other runs, and records its state."""
        if self.permit is not None and self.prepared is not None and self.manifest is not None:
            for entry in self.prepared.files:
                path = self.path / entry.name if self.kind == "directory" else self.path
                if path in self.changed:
                    continue  # the changes of another program are still in it
                entry.settled_ns = path.stat().st_mtime_ns if self.known(path) else None
            with suppress(FlatwaterError):  # without the save, the manifest claims less than there is
                self.save()
        self.permit = None
        self.locks.release()

    def remove(self) -> None:
        """Deletes the prepared files (`storage.keep = false`). Devices, files of others, and files that other programs
        changed stay.
        """
        if self.manifest is None or self.prepared is None:
            return
        for path in self.paths:
            if path not in self.changed:
                self.delete(path)
        with suppress(UserError):  # somebody has replaced the manifest: it stays
            read_manifest(self.manifest)
            self.manifest.unlink(missing_ok=True)
        self.prepared = None

    def delete(self, path: Path) -> None:
        """Deletes a file that flatwater made, unless another program has changed it."""
        entry = self.known(path)
        if entry is not None and not entry.adopted and self.as_left(entry, path.lstat()):
            path.unlink()

    def as_left(self, entry: PreparedFile, info: os.stat_result) -> bool:
        """Whether no other program has changed a file of flatwater. An empty file holds nothing.

        A killed run could not record the state of a file. Then the file must have the needed length, and no write to it
        may be later than the run's last sign of life.
        """
        assert self.prepared is not None
        if info.st_size == 0:
            return True
        if entry.settled_ns is None:
            late_ns = info.st_mtime_ns - self.alive_ns
            return info.st_size == self.prepared.file_bytes and late_ns <= SIGN_GRACE_S * 1_000_000_000
        if self.prepared.boot_id != boot_id():
            # After a power failure, the last modification times may be lost.
            return info.st_mtime_ns <= entry.settled_ns
        return info.st_mtime_ns == entry.settled_ns

    def is_whole(self, path: Path) -> bool:
        """Whether a prepared file is still the same: not deleted, replaced or truncated."""
        assert self.prepared is not None
        return self.known(path) is not None and path.stat().st_size >= self.prepared.file_bytes


def boot_id() -> str:
    """The id of the current boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def check_space(target: Target, used_bytes: int) -> None:
    """Errors: UserError when the file system has too little space for so many bytes of files in all."""
    if target.kind == "device":
        return
    folder = target.path if target.kind == "directory" else target.path.parent
    free = os.statvfs(folder)
    available = free.f_bavail * free.f_frsize
    held = sum(path.stat().st_blocks * 512 for path in target.paths if path.exists())
    if target.prepared is not None and all(target.is_whole(path) for path in target.paths):
        # On a file system with compression, files hold more bytes than their blocks.
        held = max(held, target.prepared.done_bytes)
    needed = max(0, used_bytes - held)
    if needed and needed + RESERVE_BYTES > available:
        raise UserError(
            f"{print_size(needed)} more are needed in {folder}, and {print_size(available)} are free "
            f"({print_size(RESERVE_BYTES)} of them are left alone)",
            where="storage.size",
            hint="a smaller storage.size, or another storage.path",
        )
