"""Modelled storage: a device of `devices/`, in virtual time, or served in real time. One small class for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from flatwater.errors import UserError
from flatwater.experiment.device import ArrayEvent, Device, Initial, Use
from flatwater.experiment.device.check import InvalidDeviceError
from flatwater.experiment.device.load import load_device
from flatwater.experiment.device.parameters import Parameter, read_parameters
from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import Problem
from flatwater.experiment.storage.file import LocalPath
from flatwater.experiment.units import Size, print_size

_LIST = "`flatwater list --devices` shows them; or the path of a device's file"


class ModelledStorage(Layer):
    """The fields of every kind of modelled storage."""

    LAYER: ClassVar[str] = "storage"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "modelled"

    kind: str
    #: A name of `devices/`, or the path of a device's file. A template may leave it out; a run needs it.
    device: Annotated[str, Field(min_length=1)] | None = None
    #: Changed figures of the device's file, by their dotted names.
    parameters: Annotated[dict[str, Parameter], BeforeValidator(read_parameters)] = Field(default_factory=dict)
    #: The device with this share of its capacity: everything that uses capacity is smaller by it, speeds are unchanged.
    capacity_scale: float = Field(default=1.0, gt=0, le=1)
    #: Bytes of all files together. Default: the device's usable capacity.
    size: Size | None = None
    #: Share of the size that the workload uses.
    fill: float = Field(default=1.0, gt=0, le=1)
    #: One write a file at a time, as Linux's file systems did with O_DIRECT before XFS and ext4 let several in.
    exclusive_writes: bool = False
    #: Serve the device as a file, with the model's time for every request.
    real_time: bool = False
    #: With real_time: the directory for the device's content.
    path: LocalPath | None = None
    #: With real_time: the file system on the served device. Default: none, the device itself is used.
    file_system: Annotated[str, Field(pattern=r"^[a-z0-9]+$")] | None = None
    #: With real_time: keep the content after the run.
    keep: bool = True

    @property
    def modelled_device(self) -> Device:
        """The device with its parameters. Raises UserError if the experiment names none, or an invalid one."""
        if self.device is None:
            raise UserError("is missing", where="storage.device", hint=_LIST)
        return load_device(self.device, self.parameters)

    def use(self, *, asynchronous: bool = False, align_bytes: int = 4096) -> Use:
        """How the experiment uses the device; what the workload knows of it is given."""
        return Use(
            asynchronous=asynchronous,
            align_bytes=align_bytes,
            initial=getattr(self, "initial", "preconditioned"),
            simulate_initial=getattr(self, "simulate_initial", False),
            reserve=getattr(self, "reserve_pct", 0.0) / 100,
            occupied=self.occupied or 0.0,
            life_used=getattr(self, "life_used_pct", 0.0) / 100,
            scale=self.capacity_scale,
            events=tuple(getattr(self, "events", ())),
        )

    @property
    def occupied(self) -> float | None:
        """The share of the device that holds data at first, of whatever program; None: what the workload uses."""
        percent = getattr(self, "occupied_pct", None)
        return None if percent is None else percent / 100

    @property
    def used_bytes(self) -> int | None:
        """Bytes that a workload uses; None if the experiment names no device."""
        if self.size is not None:
            return int(self.size * self.fill)
        return None if self.device is None else int(self.modelled_device.usable_bytes(self.use()) * self.fill)

    def conflicts(self) -> Iterator[Problem]:
        """A device that is missing, of another kind or too small, or has invalid parameters."""
        yield from super().conflicts()
        if not self.real_time:
            for name, what in (("path", "nothing is written"), ("file_system", "nothing is mounted")):
                if getattr(self, name) is not None:
                    yield _problem(name, f"has no meaning in virtual time: {what}", "take it out", "real_time")
            if not self.keep:
                yield _problem("keep", "has no meaning in virtual time: nothing is written", "take it out", "real_time")
        if self.device is None:
            if self.parameters:
                yield _problem("device", "is missing: parameters are some device's", _LIST, "parameters")
            return
        try:
            device = self.modelled_device
        except InvalidDeviceError as error:
            yield from error.problems
            return
        except UserError as error:
            where = "" if error.where in (None, "storage.device") else f"{error.where}: "
            yield _problem("device", f"{where}{error.what}", error.hint)
            return
        yield from self._device_conflicts(device)

    def _device_conflicts(self, device: Device) -> Iterator[Problem]:
        if self.kind != device.KIND:
            what = f'{self.device} is of kind "{device.KIND}"'
            yield _problem("device", what, f'storage.kind = "{device.KIND}"', "kind")
            return
        room = device.usable_bytes(self.use())
        about = ("device", "capacity_scale", "reserve_pct")
        if room <= 0:
            yield _problem("capacity_scale", "leaves nothing of the device", "a larger share", *about)
        elif self.size is not None and int(self.size * self.fill) > room:
            told = print_size(int(self.size * self.fill))
            what = f"{told} of data do not fit the {print_size(room)} that {self.device} has for them"
            yield _problem("size", what, "a smaller size or fill, or a larger device", "fill", *about)


def _problem(field: str, what: str, hint: str | None, *others: str) -> Problem:
    names = tuple(f"storage.{name}" for name in (field, *others))
    return Problem(names[0], what, hint, names)


class _Flash(ModelledStorage):
    """Additional fields of storage that is flash, or may contain flash."""

    #: fresh: never written; filled: the used bytes written once, in order; preconditioned: as uniform random writes
    #: over the used bytes leave it in the long run.
    initial: Initial = "preconditioned"
    #: Simulate the writes to reach `preconditioned`, instead of drawing from the theory's distribution.
    simulate_initial: bool = False
    #: Share of the capacity that the user left unformatted.
    reserve_pct: float = Field(default=0.0, ge=0, lt=100)
    #: Used share of the rated life at the start of the run.
    life_used_pct: float = Field(default=0.0, ge=0, lt=100)

    def conflicts(self) -> Iterator[Problem]:
        """A simulation without the state that it simulates."""
        if self.simulate_initial and self.initial != "preconditioned":
            what = f'"{self.initial}" needs no simulation'
            yield _problem("simulate_initial", what, 'initial = "preconditioned"', "initial")
        yield from super().conflicts()


class SsdStorage(_Flash):
    """A flash card or drive."""

    kind: Literal["ssd"] = "ssd"
    #: Share of the card that holds data when the run begins, of whatever program; 100: nothing was ever trimmed.
    #: Default: what the workload uses, or a server and its file system.
    occupied_pct: Annotated[float, Field(gt=0, le=100)] | None = None

    def conflicts(self) -> Iterator[Problem]:
        """A card with data that was never written."""
        if self.occupied_pct is not None and self.initial == "fresh":
            what = "has no meaning for a fresh card: it holds nothing"
            yield _problem("occupied_pct", what, 'initial = "preconditioned" or "filled"', "initial")
        yield from super().conflicts()


class HddStorage(ModelledStorage):
    """A hard disk."""

    kind: Literal["hdd"] = "hdd"


class RaidStorage(_Flash):
    """An array of disks or drives behind a controller."""

    kind: Literal["raid"] = "raid"
    #: Events of the array during its use.
    events: list[ArrayEvent] = Field(default_factory=list)

    def _device_conflicts(self, device: Device) -> Iterator[Problem]:
        members = getattr(device, "members", None)
        for number, event in enumerate(self.events):
            if members is not None and event.member is not None and event.member >= members:
                what = f"{self.device} has no member {event.member}, but 0 to {members - 1}"
                yield _problem(f"events.{number}.member", what, None, "device", "events")
        yield from super()._device_conflicts(device)


class MemoryStorage(ModelledStorage):
    """A memory appliance."""

    kind: Literal["memory"] = "memory"


class VolumeStorage(ModelledStorage):
    """A network volume of a cloud."""

    kind: Literal["volume"] = "volume"
