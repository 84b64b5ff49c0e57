"""What stands below a real cache: a file of this machine, or a modelled device in real time."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import ModelledStorage, print_size
from flatwater.experiment.storage import Storage
from flatwater.owned import Folder
from flatwater.runner.emulation import (
    DEVICE_FILE,
    Emulation,
    lag_warning,
    plan_of_emulation,
    release_mount,
    remove_backing,
)
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.served import ServedDevice

#: What the device holds, in its folder.
CONTENT = "content"
#: What is left free on a file system.
RESERVE_BYTES = 64 << 20


@dataclass
class Below:
    """One of the two devices."""

    #: What the cache is told to use, and how long it is.
    file: Path
    bytes: int
    #: Whether its content goes on from an earlier cell.
    begun: bool
    folder: Folder
    served: ServedDevice | None = None

    def wait_ready(self, interrupt: Interrupt) -> None:
        """Until it can be used. Errors: FlatwaterError, Interrupted."""
        if self.served is not None:
            self.served.wait_ready(lambda: interrupt.asked)

    @property
    def warning(self) -> str | None:
        """What is to be said of an emulation that could not keep up."""
        if self.served is None:
            return None
        lag = self.served.lag
        return lag_warning(lag.late_pct, lag.answers, None)

    def close(self) -> None:
        """Lets it go."""
        served, self.served = self.served, None
        try:
            if served is not None:
                served.close()
        finally:
            if served is not None:
                with suppress(OSError, UserError):
                    release_mount(self.folder.path / "mounted")
            self.folder.close()

    def remove(self) -> None:
        """Deletes its content."""
        owned = Folder.find(self.folder.path, where="storage.path")
        if owned is not None:
            remove_backing(owned.path / CONTENT)
            owned.remove_all()


def open_below(storage: Storage, role: str, size: int | None, seed: int, interval_s: float, *, kept: bool) -> Below:
    """Makes a device ready in its own folder under the storage's path, named by its `role`; what is on it goes on if
    `kept`.

    Errors: UserError, FlatwaterError.
    """
    where = "storage.path" if role == "cached" else "cache.storage.path"
    folder = Folder.open(Path(storage.path or "").absolute() / f"flatwater-{role}-device", where=where)
    try:
        if isinstance(storage, ModelledStorage):
            return _emulated(storage, folder, size, seed, interval_s, kept=kept)
        assert size is not None, "checked before anything runs"
        begun = kept and _has(folder, size)
        if not begun:
            _make(folder, size, "storage.size" if role == "cached" else "cache.size")
        return Below(folder.path / CONTENT, size, begun, folder)
    except BaseException:
        folder.close()
        raise


def _has(folder: Folder, size: int) -> bool:
    """Whether there is content of this size."""
    descriptor = folder.open_file(CONTENT, os.O_RDONLY)
    if descriptor is None:
        return False
    try:
        return os.fstat(descriptor).st_size == size
    finally:
        os.close(descriptor)


def _make(folder: Folder, size: int, where: str) -> None:
    folder.remove(CONTENT)
    free = os.statvfs(folder.path)
    if size + RESERVE_BYTES > free.f_bavail * free.f_frsize:
        what = f"{print_size(size)} do not fit the {print_size(free.f_bavail * free.f_frsize)} free in {folder.path}"
        raise UserError(what, where=where, hint="a smaller size")
    descriptor = folder.make_file(CONTENT)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        raise FlatwaterError(f"cannot make {folder.path / CONTENT}: {error.strerror}", where=where) from None
    finally:
        os.close(descriptor)


def _emulated(
    storage: ModelledStorage, folder: Folder, size: int | None, seed: int, interval_s: float, *, kept: bool
) -> Below:
    content, mount = folder.path / CONTENT, folder.path / "mounted"
    use = storage.use(asynchronous=True)
    emulation = Emulation(
        name=storage.device or "",
        device=storage.modelled_device,
        use=use,
        backing=content,
        mount=mount,
        size_bytes=size,
        used_bytes=size,
        initial=use.initial,
        emptied=not kept,
        durable=False,
        seed=seed,
        interval_s=interval_s,
    )
    release_mount(mount)
    folder.make_folder("mounted")
    begun = content.exists() and kept
    try:
        plan = plan_of_emulation(emulation)
    except UserError:
        if not kept:
            raise
        # It was made for a device that is used otherwise: it is made anew.
        begun = False
        plan = plan_of_emulation(replace(emulation, emptied=True))
    served = ServedDevice(plan, file_system=None, folder=folder.path, make=False)
    return Below(mount / DEVICE_FILE, plan.bytes, begun, folder, served)
