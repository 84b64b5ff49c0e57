"""A modelled device as a file: what may be served where, and its plan.

Beside the backing file stands its sidecar, BACKING.flatwater.json: it says which device the file belongs to, and keeps
the device's wear.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from flatwater.engine_json import as_data
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import print_size
from flatwater.experiment.device import Device, Initial, Use
from flatwater.owned import FOLDER_FLAGS, Permit, Witness, create_file, publish, write_atomic
from flatwater.owned.mounted import require_no_device_folder
from flatwater.place import look_at, require_unused
from flatwater.plan.device import write_device
from flatwater.plan.emulation import EmulatedDevice

#: The file under the mount that is the device.
DEVICE_FILE = "device"
#: Threads that take requests: IO on the backing file may wait, and others must not wait with it.
READERS = 4
#: An answer is late that is behind the model by more than 5 % of the request's latency and by more than 50 us; an
#: emulation with a larger share of late answers than this could not keep up. As in crates/serve/src/lag.rs.
KEPT_UP_LATE_PCT = 5.0


class SidecarFile(BaseModel):
    """What stands in a sidecar."""

    model_config = ConfigDict(extra="forbid")
    kind: str
    #: Of this file; one of a later version is left alone.
    version: int
    device: str
    #: Of the device's figures: those of another device, or of another version of its file, are others.
    digest: str
    size_bytes: int
    initial: Initial
    #: What tells the backing file from another one of its name; one of an older flatwater has none, and is not ours.
    witness: Witness | None = None
    #: What the device tells of its wear; its own affair.
    state: Any = None


_KIND, _VERSION = "flatwater-emulated", 1


@dataclass(frozen=True)
class Emulation:
    """What to serve, and where."""

    name: str
    device: Device
    use: Use
    backing: Path
    mount: Path
    #: Of the file that is served; all that the device has if None.
    size_bytes: int | None = None
    #: What `use.initial` means by used; the served size if None.
    used_bytes: int | None = None
    #: None: as it was left, or fresh.
    initial: Initial | None = None
    #: Throw away what is in the backing file, whoever made it.
    overwrite: bool = False
    #: Throw away what is in a backing file of ours.
    emptied: bool = False
    #: Take over the data of another device, and forget its wear.
    reset: bool = False
    #: What is flushed survives a power cut; otherwise only the emulator's death.
    durable: bool = True
    seed: int = 1
    interval_s: float = 1.0

    @property
    def sidecar(self) -> Path:
        """The file beside the backing file."""
        return sidecar_of(self.backing)

    @property
    def digest(self) -> str:
        """Of the device's figures, whatever its wear and content are."""
        figures = as_data(write_device(self.device, replace(self.use, initial="fresh", life_used=0.0)))
        return hashlib.sha256(json.dumps(figures, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class _Checked:
    """What an emulation may be, after all about its backing file was asked."""

    size: int
    initial: Initial
    life_used: float
    #: Of a backing file that goes on; None of one that begins.
    sidecar: SidecarFile | None


def check(emulation: Emulation) -> _Checked:
    """Asks everything about the backing file; nothing is written.

    Errors: UserError for a file that is not ours, of another device, or for a size that the device has not.
    """
    capacity = emulation.device.usable_bytes(emulation.use)
    size = (emulation.size_bytes or capacity) // 4096 * 4096
    if size > capacity or size <= 0:
        told = f"{print_size(emulation.size_bytes or 0)} do not fit the {print_size(capacity)} of {emulation.name}"
        raise UserError(told, where="--size", hint="a smaller size")
    sidecar = _check_backing(emulation, size)
    initial = emulation.initial or (sidecar.initial if sidecar else "fresh")
    if sidecar is not None and initial != sidecar.initial:
        what = f"{emulation.backing} was begun as a {sidecar.initial} device, not as a {initial} one"
        raise UserError(what, where="--initial", hint="leave it out, or --overwrite begins anew")
    life_used = emulation.use.life_used
    if sidecar is not None and not emulation.reset:
        life_used = max(life_used, min(1.0, find_life_used(sidecar.state)))
    return _Checked(size, initial, life_used, sidecar)


def plan_of_emulation(emulation: Emulation) -> EmulatedDevice:
    """The plan of an emulation. The backing file is made, if it is not there, with a sidecar that says whose it is.

    Errors: as `check`; FlatwaterError when the file cannot be made.
    """
    checked = check(emulation)
    size, sidecar, initial = checked.size, checked.sidecar, checked.initial
    use = replace(emulation.use, initial=initial, life_used=checked.life_used)
    used = size if emulation.used_bytes is None else min(size, emulation.used_bytes)
    owner = SidecarFile(
        kind=_KIND,
        version=_VERSION,
        device=emulation.name,
        digest=emulation.digest,
        size_bytes=size,
        initial=initial,
    )
    witness, permit = _backing(emulation, owner)
    return EmulatedDevice(
        device=write_device(emulation.device, use),
        title=emulation.device.title,
        seed=emulation.seed,
        bytes=size,
        used_bytes=0 if initial == "fresh" else used,
        # A fresh device learns from the file what it holds; the others are full of what they hold.
        replay=initial == "fresh",
        backing=str(emulation.backing.absolute()),
        permit=permit.files,
        emptied=emulation.emptied or (sidecar is None and emulation.overwrite),
        durable=emulation.durable,
        mount=str(emulation.mount.absolute()),
        sidecar=str(emulation.sidecar.absolute()),
        owner=owner.model_dump(exclude={"state", "witness"}) | {"witness": witness.model_dump()},
        readers=READERS,
        interval_ms=round(emulation.interval_s * 1000),
    )


def _backing(emulation: Emulation, owner: SidecarFile) -> tuple[Witness, Permit]:
    """Makes the backing file if it is not there; what tells it from others, and the permit to write it.

    Errors: UserError for one that came after the check; FlatwaterError.
    """
    backing = emulation.backing
    try:
        folder = os.open(backing.parent, FOLDER_FLAGS)
        try:
            partial = None
            try:
                descriptor = os.open(backing, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                partial, descriptor = create_file(folder)
            try:
                known = _read_sidecar(emulation.sidecar)
                if known is not None and known.witness is not None and known.witness.knows(descriptor):
                    return known.witness, Permit.of(descriptor)
                if partial is None and not emulation.overwrite:
                    what = f"{backing} was made by something else a moment ago: it will not be touched"
                    raise UserError(what, where="--file", hint="move it, or name another file")
                witness = Witness.put(descriptor)
                if partial is not None:
                    # Known before it has its name: a kill leaves no file that nobody knows.
                    told = owner.model_copy(update={"witness": witness})
                    write_atomic(emulation.sidecar, told.model_dump_json(indent=1))
                    publish(folder, partial, backing.name)
                return witness, Permit.of(descriptor)
            except BaseException:
                if partial is not None:
                    with suppress(OSError):
                        os.unlink(partial, dir_fd=folder)
                raise
            finally:
                os.close(descriptor)
        finally:
            os.close(folder)
    except OSError as error:
        raise FlatwaterError(f"cannot use {backing}: {error.strerror}", where="--file") from None


def find_life_used(state: object) -> float:
    """The share of its life that a device says to have used up, 0..1; of one with several modules, their mean."""
    found = list(_lives(state))
    return sum(found) / len(found) if found else 0.0


def _lives(state: object) -> Iterator[float]:
    if isinstance(state, Mapping):
        life = state.get("life_used")
        if isinstance(life, int | float):
            yield float(life)
            return
        state = list(state.values())
    if isinstance(state, list):
        for part in state:
            yield from _lives(part)


def _check_backing(emulation: Emulation, size: int) -> SidecarFile | None:
    """The sidecar of a backing file that goes on; None of one that begins."""
    backing, where = emulation.backing, "--file"
    try:
        info = backing.stat()
    except FileNotFoundError:
        if not backing.parent.is_dir():
            what = f"{backing} does not exist, and neither does its directory"
            raise UserError(what, where=where, hint=f"mkdir -p {backing.parent}") from None
        require_no_device_folder(backing, where)
        _require_no_other(emulation)
        return None
    except OSError as error:
        raise UserError(f"cannot use {backing}: {error.strerror}", where=where) from None
    if not stat.S_ISREG(info.st_mode):
        raise UserError(f"{backing} is not a file", where=where, hint="name a file that does not exist yet")
    place = look_at(backing, where)
    if place is not None:
        require_unused(place, where)
    if emulation.overwrite:
        return None
    sidecar = _read_sidecar(emulation.sidecar)
    if sidecar is None or not _is_of(sidecar, backing):
        what = f"{backing} exists ({print_size(info.st_size)}) and is no emulated device's: its contents would be lost"
        raise UserError(what, where=where, hint="another file, or --overwrite if they are not needed")
    if info.st_size == 0:
        return None  # made for a device that never began
    if sidecar.size_bytes != size and not emulation.emptied:
        told = f"{backing} is {print_size(sidecar.size_bytes)} long, and the device {print_size(size)}"
        raise UserError(told, where=where, hint=f"--size {sidecar.size_bytes}, or --overwrite to begin anew")
    if emulation.emptied:
        return None
    if sidecar.digest != emulation.digest and not emulation.reset:
        same = "with other figures" if sidecar.device == emulation.name else f"and not to {emulation.name}"
        told = f"{backing} belongs to {sidecar.device} {same}"
        raise UserError(told, where=where, hint="--reset keeps its data and forgets its wear")
    return sidecar


def _require_no_other(emulation: Emulation) -> None:
    """A file that has the sidecar's name, and is somebody else's. Errors: UserError."""
    sidecar = emulation.sidecar
    if os.path.lexists(sidecar) and _read_sidecar(sidecar) is None and not emulation.overwrite:
        what = f"{sidecar} is in the way: it was not made by flatwater"
        raise UserError(what, where="--file", hint="another file, or --overwrite if it is not needed")


def _is_of(sidecar: SidecarFile, backing: Path) -> bool:
    """Whether a backing file is the one that a sidecar was written for."""
    if sidecar.witness is None:
        return False
    try:
        descriptor = os.open(backing, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return sidecar.witness.knows(descriptor)
    finally:
        os.close(descriptor)


def _read_sidecar(path: Path) -> SidecarFile | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as handle:
            found = SidecarFile.model_validate_json(handle.read())
    except (OSError, ValidationError):
        return None
    return found if found.kind == _KIND and found.version == _VERSION else None


def remove_backing(backing: Path) -> None:
    """Deletes the backing file of an emulated device, with its sidecar; nothing else that may have their names."""
    beside = sidecar_of(backing)
    sidecar = _read_sidecar(beside)
    if sidecar is None:
        return
    if _is_of(sidecar, backing):
        backing.unlink()
    if not os.path.lexists(backing):
        beside.unlink(missing_ok=True)


def sidecar_of(backing: Path) -> Path:
    """The file beside a backing file."""
    return backing.with_name(f"{backing.name}.flatwater.json")


def lag_warning(late_pct: float, answers: int, p95_us: float | None) -> str | None:
    """What is to be said of an emulation that could not keep up."""
    if not answers or late_pct <= KEPT_UP_LATE_PCT:
        return None
    behind = f" (in 95 % of all cases at most {p95_us:,.0f} us)" if p95_us is not None else ""
    return (
        f"the emulated device could not keep up: {late_pct:.1f} % of its answers were behind the model by more than "
        f"5 % and 50 us{behind}: fewer requests, a slower device, or more processors"
    )
