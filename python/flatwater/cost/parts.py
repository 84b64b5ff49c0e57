"""The parts that an experiment's cell stands on: what of it costs money, and how much of it there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

from flatwater.errors import UserError
from flatwater.experiment import Experiment, FileStorage, ModelledStorage
from flatwater.experiment.database import Server
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.database.settings import spell
from flatwater.experiment.device import Device
from flatwater.experiment.device.load import load_device
from flatwater.experiment.device.raid import RaidDevice
from flatwater.experiment.device.ssd import SsdDevice
from flatwater.experiment.device.volume import VolumeDevice
from flatwater.experiment.units import parse_size, print_size

#: What a part is for.
Role = Literal["storage", "cache", "log", "doublewrite", "binlog", "tables", "memory", "server"]
#: Roles of devices that data is written to.
DEVICE_ROLES = ("storage", "cache", "log", "doublewrite", "binlog", "tables")
#: InnoDB's default pool (MySQL's manual): what a server has whose experiment says nothing.
POOL_DEFAULT = 128 << 20


@dataclass(frozen=True)
class Part:
    """So many of one thing. `name`: of `devices/` or `machines/`, a text about it, or empty for memory."""

    role: Role
    name: str
    count: int = 1
    #: Of one: bytes of a drive or of memory; of a volume what is provisioned, with its requests and MiB a second.
    size_bytes: float | None = None
    iops: float | None = None
    mib_per_s: float | None = None
    #: Raw flash times rated erases of one drive; None where it is no flash, or not known.
    cell_bytes: float | None = None
    #: What the maker allows a host to write to one drive, where the device's file tells it.
    rated_bytes: float | None = None
    #: The array of whose members these are: whoever sells it whole has a line of its name.
    array: str = ""
    #: Why there is no name that a price line could have.
    unknown: str = ""


@dataclass(frozen=True)
class Parts:
    """All parts of a cell, and what a reader must know of how they were found."""

    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()

    @property
    def devices(self) -> list[str]:
        """The names of the devices that data is written to."""
        return [part.name for part in self.parts if part.role in DEVICE_ROLES and part.name]


#: Part of a server -> what its storage is called.
_PLACED: dict[str, Role] = {"redo_log": "log", "binary_log": "binlog", "doublewrite": "doublewrite"}


def parts_of(experiment: Experiment) -> Parts:
    """The parts of a cell's experiment. Errors: UserError for a device's file that is not there any more."""
    notes: list[str] = []
    parts = [*_storage(experiment.storage, "storage")]
    if experiment.any_cache is not None:
        parts += _storage(experiment.any_cache.fast, "cache")
    database = experiment.database
    if isinstance(database, InnodbModel):
        for device, holding in database.other_devices.items():
            parts += _device_parts(device, load_device(device), holding.parts[0] if holding.parts else "tables")
    if isinstance(database, PlacedLayer):
        for other in database.others.values():
            parts += _storage(other.storage, _PLACED.get(other.items[0], "tables") if other.items else "tables")
    memory = _memory(experiment, notes)
    if memory is not None:
        parts.append(memory)
    if isinstance(database, InnodbModel) and database.machine is not None:
        parts.append(Part("server", _stem(database.machine)))
    return Parts(tuple(parts), tuple(notes))


def _storage(storage: FileStorage | ModelledStorage, role: Role) -> Iterator[Part]:
    if isinstance(storage, ModelledStorage):
        if storage.device is None:
            raise UserError("is missing: nothing tells what storage it is", where="storage.device")
        yield from _device_parts(storage.device, storage.modelled_device, role)
    else:
        place = f"at {storage.path}, on" if storage.path is not None else "on"
        yield Part(role, "", unknown=f"the files are {place} a drive that no experiment names")


def _device_parts(written: str, device: Device, role: Role) -> Iterator[Part]:
    """An array is its members; whoever sells it whole has a line of the array's name."""
    name = _stem(written)
    if isinstance(device, RaidDevice):
        member = device.member()
        drive = Part(role, _stem(device.device), device.members, member.capacity, array=name)
        yield _with_wear(drive, member)
    elif isinstance(device, VolumeDevice):
        yield Part(role, name, 1, device.capacity, device.iops.baseline, device.throughput.baseline_mib_per_s)
    else:
        yield _with_wear(Part(role, name, 1, device.capacity), device)


def _with_wear(part: Part, device: Device) -> Part:
    """The part with what its flash is good for."""
    if not isinstance(device, SsdDevice):
        return part
    cell_bytes = float(device.geometry.raw * device.modules) * device.cell.rated_cycles
    terabytes = device.wear.endurance_tbw
    return replace(
        part, cell_bytes=cell_bytes, rated_bytes=None if terabytes is None else terabytes * 1e12 * device.modules
    )


def _memory(experiment: Experiment, notes: list[str]) -> Part | None:
    """The server's memory: what the experiment says that the machine has, or else the pool."""
    database = experiment.database
    if isinstance(database, InnodbModel):
        memory = database.host.memory_bytes
        size = float(memory or database.resolved.innodb_buffer_pool_size)
        what = "memory" if memory else "pool"
    elif isinstance(database, Server):
        written = {spell(name): value for name, value in database.settings.items()}
        pool = written.get("innodb_buffer_pool_size", POOL_DEFAULT)
        size, what = float(parse_size(pool)) * database.instances, "pool"
    else:
        return None
    scale = experiment.storage.capacity_scale if isinstance(experiment.storage, ModelledStorage) else 1.0
    if scale < 1:
        notes.append(
            f"the experiment has {scale:g} of its device's capacity: memory is priced for the whole device too, "
            f"{print_size(size / scale)} for the {what} of {print_size(size)}"
        )
    return Part("memory", "", 1, size / scale)


def _stem(written: str) -> str:
    """A device's or a machine's name, also where it was given by the path of its file."""
    return PurePath(written).stem if written.endswith(".toml") else written
