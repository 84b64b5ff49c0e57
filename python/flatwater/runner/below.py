"""What stands below a real cache: a file of this machine, or a modelled device in real time."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import ModelledStorage, print_size
from flatwater.experiment.storage import Storage
from flatwater.runner.emulation import DEVICE_FILE, Emulation, clear_mount_point, engine_spec, lag_warning
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.served import ServedDevice

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
    folder: Path
    served: ServedDevice | None = None
    _files: list[Path] = field(default_factory=list)

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
        if served is not None:
            try:
                served.close()
            finally:
                with suppress(OSError, UserError):
                    clear_mount_point(self.folder / "mounted")

    def remove(self) -> None:
        """Deletes its content."""
        for path in self._files:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            (self.folder / "mounted").rmdir()
        with suppress(OSError):
            self.folder.rmdir()


def open_below(storage: Storage, role: str, size: int | None, seed: int, interval_s: float, *, kept: bool) -> Below:
    """Makes a device ready in its own folder under the storage's path, named by its `role`; what is on it goes on if
    `kept`.

    Errors: UserError, FlatwaterError.
    """
    folder = Path(storage.path or "").absolute() / f"flatwater-{role}-device"
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FlatwaterError(f"cannot make {folder}: {error.strerror}", where="storage.path") from None
    content = folder / "content"
    if isinstance(storage, ModelledStorage):
        return _emulated(storage, folder, content, size, seed, interval_s, kept=kept)
    assert size is not None, "checked before anything runs"
    begun = kept and content.exists() and content.stat().st_size == size
    if not begun:
        content.unlink(missing_ok=True)
        free = os.statvfs(folder)
        if size + RESERVE_BYTES > free.f_bavail * free.f_frsize:
            what = f"{print_size(size)} do not fit the {print_size(free.f_bavail * free.f_frsize)} free in {folder}"
            raise UserError(what, where="storage.size" if role == "cached" else "cache.size", hint="a smaller size")
        with content.open("wb") as handle:
            os.posix_fallocate(handle.fileno(), 0, size)
    return Below(content, size, begun, folder, _files=[content])


def _emulated(
    storage: ModelledStorage, folder: Path, content: Path, size: int | None, seed: int, interval_s: float, *, kept: bool
) -> Below:
    use = storage.use(asynchronous=True)
    emulation = Emulation(
        name=storage.device or "",
        device=storage.modelled_device,
        use=use,
        backing=content,
        mount=folder / "mounted",
        size_bytes=size,
        used_bytes=size,
        initial=use.initial,
        emptied=not kept,
        durable=False,
        seed=seed,
        interval_s=interval_s,
    )
    clear_mount_point(emulation.mount)
    begun = content.exists() and kept
    try:
        spec = engine_spec(emulation)
    except UserError:
        if not kept:
            raise
        # It was made for a device that is used otherwise: it is made anew.
        begun = False
        spec = engine_spec(replace(emulation, emptied=True))
    served = ServedDevice(spec, file_system=None, folder=folder, make=False)
    file = emulation.mount / DEVICE_FILE
    return Below(file, spec["bytes"], begun, folder, served, [content, emulation.sidecar])
