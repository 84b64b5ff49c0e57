"""A modelled device as a file: checks which file may be served, and plans it.

Beside the backing file is its sidecar, BACKING.flatwater.json. It names the device of the file, and stores the wear of
the device and which of its ranges were trimmed.
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

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from flatwater.engine_json import as_data
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import print_size
from flatwater.experiment.device import Device, Initial, Use
from flatwater.owned import FOLDER_FLAGS, Permit, Witness, create_file, publish, write_atomic
from flatwater.owned.mounted import require_no_device_folder
from flatwater.place import look_at, require_unused
from flatwater.plan.device import write_device
from flatwater.plan.emulation import EmulatedDevice

#: The file under the mount point that is the device.
DEVICE_FILE = "device"
#: Threads that take requests. IO on the backing file may block, and must not block other requests.
READERS = 4
#: An answer is late if it is more than 5 % of the request's latency and more than 50 us behind the model. An emulation
#: with a larger share of late answers than this could not keep up. The same limits are in crates/serve/src/lag.rs.
KEPT_UP_LATE_PCT = 5.0


class SidecarFile(BaseModel):
    """The content of a sidecar."""

    model_config = ConfigDict(extra="forbid")
    kind: str
    #: The version of this format. A file of a later version is not touched.
    version: int
    device: str
    #: Digest of the device's figures: it differs for another device and for another version of its file.
    digest: str
    size_bytes: int
    initial: Initial
    #: Identifies the backing file. A sidecar of an older flatwater has none: its file does not count as flatwater's.
    witness: Witness | None = None
    #: The wear state in the device's own format.
    state: Any = None
    #: Ranges (offset, bytes) that were ever trimmed. Where the backing file has data again, they were written since.
    trimmed: tuple[tuple[NonNegativeInt, NonNegativeInt], ...] = ()


_KIND, _VERSION = "flatwater-emulated", 1


@dataclass(frozen=True)
class Emulation:
    """A device to serve, and its backing file."""

    name: str
    device: Device
    use: Use
    backing: Path
    mount: Path
    #: Size of the served file; None for the full capacity of the device.
    size_bytes: int | None = None
    #: The bytes that `use.initial` counts as used; None for the served size.
    used_bytes: int | None = None
    #: None: the state of the sidecar, or fresh.
    initial: Initial | None = None
    #: Discards the content of the backing file, whoever made it.
    overwrite: bool = False
    #: Discards the content of a backing file that flatwater made.
    emptied: bool = False
    #: The model holds at first what the backing file holds, and nothing else.
    emptied_model: bool = False
    #: Keeps the data of another device, and discards its wear.
    reset: bool = False
    #: Flushed data survive a power failure; otherwise they survive only a crash of the emulator.
    durable: bool = True
    seed: int = 1
    interval_s: float = 1.0

    @property
    def sidecar(self) -> Path:
        """The path of the sidecar."""
        return sidecar_of(self.backing)

    @property
    def digest(self) -> str:
        """The digest of the device's figures, independent of its wear and its content."""
        figures = as_data(write_device(self.device, replace(self.use, initial="fresh", life_used=0.0, occupied=0.0)))
        # Content too; and the digests of before there was such a field stay what they are.
        figures.pop("occupied_bytes", None)
        figures.get("device", {}).pop("occupied_bytes", None)
        return hashlib.sha256(json.dumps(figures, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class _Checked:
    """The outcome of the checks of an emulation and its backing file."""

    size: int
    initial: Initial
    life_used: float
    #: The sidecar of a backing file that is used again; None if it is made anew.
    sidecar: SidecarFile | None


def check(emulation: Emulation) -> _Checked:
    """Checks the backing file without writing to it.

    Errors: UserError for a file that flatwater did not make, of another device, or for an impossible size.
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
    """The plan of an emulation. Makes the backing file and its sidecar if they are missing.

    Errors: as `check`; FlatwaterError when the file cannot be made.
    """
    checked = check(emulation)
    size, sidecar, initial = checked.size, checked.sidecar, checked.initial
    # What is occupied at first is said by `used_bytes`. Later the sidecar and the backing file say it.
    use = replace(emulation.use, initial=initial, life_used=checked.life_used, occupied=0.0)
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
        trimmed=_trimmed(emulation, sidecar, size),
        # A fresh device reads from the file which blocks are written. The other states are full anyway.
        replay=initial == "fresh",
        backing=str(emulation.backing.absolute()),
        permit=permit.files,
        emptied=emulation.emptied or (sidecar is None and emulation.overwrite),
        durable=emulation.durable,
        mount=str(emulation.mount.absolute()),
        sidecar=str(emulation.sidecar.absolute()),
        owner=owner.model_dump(exclude={"state", "trimmed", "witness"}) | {"witness": witness.model_dump()},
        readers=READERS,
        interval_ms=round(emulation.interval_s * 1000),
    )


def _trimmed(emulation: Emulation, sidecar: SidecarFile | None, size: int) -> tuple[tuple[int, int], ...]:
    """The ranges of the device that were trimmed."""
    if emulation.emptied_model:
        return ((0, size),)
    return sidecar.trimmed if sidecar is not None else ()


def _backing(emulation: Emulation, owner: SidecarFile) -> tuple[Witness, Permit]:
    """Makes the backing file if it is missing; its witness and the permit to write to it.

    Errors: UserError for a file that appeared after the check; FlatwaterError.
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
                    # The sidecar is written before the file has its name: a kill leaves no unknown file.
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
    """The used share of a device's life, 0..1; of a device with several modules, their mean."""
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
    """The sidecar of a backing file that is used again; None if it is made anew."""
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
        return None  # its device never started
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
    """Refuses a file of somebody else with the name of the sidecar. Errors: UserError."""
    sidecar = emulation.sidecar
    if os.path.lexists(sidecar) and _read_sidecar(sidecar) is None and not emulation.overwrite:
        what = f"{sidecar} is in the way: it was not made by flatwater"
        raise UserError(what, where="--file", hint="another file, or --overwrite if it is not needed")


def _is_of(sidecar: SidecarFile, backing: Path) -> bool:
    """Whether a sidecar was written for this backing file."""
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
    """Deletes the backing file of an emulated device and its sidecar, but no other files with these names."""
    beside = sidecar_of(backing)
    sidecar = _read_sidecar(beside)
    if sidecar is None:
        return
    if _is_of(sidecar, backing):
        backing.unlink()
    if not os.path.lexists(backing):
        beside.unlink(missing_ok=True)


def sidecar_of(backing: Path) -> Path:
    """The path of a backing file's sidecar."""
    return backing.with_name(f"{backing.name}.flatwater.json")


def lag_warning(late_pct: float, answers: int, p95_us: float | None) -> str | None:
    """The warning about an emulation that could not keep up; None if it could."""
    if not answers or late_pct <= KEPT_UP_LATE_PCT:
        return None
    behind = f" (in 95 % of all cases at most {p95_us:,.0f} us)" if p95_us is not None else ""
    return (
        f"the emulated device could not keep up: {late_pct:.1f} % of its answers were behind the model by more than "
        f"5 % and 50 us{behind}: fewer requests, a slower device, or more processors"
    )
