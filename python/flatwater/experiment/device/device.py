"""What all modelled devices share: their file, and what of it the engine is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from flatwater.experiment.device.event import ArrayEvent
from flatwater.experiment.problem import Problem, Table, raise_problems
from flatwater.experiment.units import Size

#: By the end of a figure's name: the least and the most that the engine's clock, which counts nanoseconds in 64 bits,
#: can follow, and how that is said. 0 is for the field to refuse. No device comes near either: 1000 s a request is for
#: tape libraries, 100 GiB/s more than any link has, and under 1 KiB/s there is none.
_LIMITS: dict[str, tuple[float, float, str]] = {
    "_us": (0, 1e9, "at most 1e9 (1000 s)"),
    "_ms": (0, 1e6, "at most 1e6 (1000 s)"),
    "_s": (0, 1e9, "at most 1e9 (30 years)"),
    "_mib_per_s": (0.001, 1e5, "0.001 to 100000"),
    "rpm": (1, 1e5, "1 to 100000"),
    "baseline": (0.001, 1e9, "0.001 to 1e9"),
}


def _none_if_zero(value: Any) -> Any:
    return None if value == 0 and not isinstance(value, bool) else value


#: A memory that may not be there: 0 switches it off, also where the device's file has it (`storage.parameters`).
Memory = Annotated[Size | None, BeforeValidator(_none_if_zero)]

#: What is on a device when a run begins.
Initial = Literal["fresh", "filled", "preconditioned"]


@dataclass(frozen=True)
class Use:
    """How an experiment uses a device."""

    #: Requests that wait in a queue of the kernel's (io_uring) rather than each in a thread of its own (psync).
    asynchronous: bool = False
    #: Every request begins and ends at a multiple of this many bytes: a model may keep account in units that large.
    align_bytes: int = 4096
    #: fresh: never written; filled: the used bytes written once, in order; preconditioned: as uniform random writes
    #: over the used bytes leave it in the long run.
    initial: Initial = "preconditioned"
    #: Get to `preconditioned` by simulating the writes rather than by the theory's distribution.
    simulate_initial: bool = False
    #: Share of the capacity, 0..1, that its user formatted away.
    reserve: float = 0.0
    #: Share of the usable capacity, 0..1, that holds data at first, of whatever program; 0: only the workload's.
    occupied: float = 0.0
    #: Share of the rated life, 0..1, that is used up when the run begins.
    life_used: float = 0.0
    #: The device with this share of its capacity: everything that takes capacity takes this much less, speeds stay.
    scale: float = 1.0
    #: What happens while it is used: the experiment's `storage.events`.
    events: tuple[ArrayEvent, ...] = ()


class Device(Table):
    """One device of `devices/`: its figures, each with its source."""

    #: The device's kind, which is its storage's kind too.
    KIND: ClassVar[str]

    kind: str
    title: str = Field(min_length=1)
    about: str = ""
    #: Bytes that its host can use.
    capacity: Size
    #: Where each figure comes from: a field's dotted name, or a table's for all of its fields -> the source.
    sources: dict[str, str] = Field(default_factory=dict)

    def usable_bytes(self, use: Use) -> int:
        """Bytes that the host can use of it when used like this."""
        return int(self.capacity * use.scale * (1 - use.reserve))

    def notes(self, use: Use) -> list[str]:
        """What the model does differently from the device as its file has it, in sentences: told with the results."""
        return []

    def memory_bytes(self, use: Use) -> int:
        """Memory that the model of it needs, where that goes with its capacity."""
        return 0

    def conflicts(self) -> Iterator[Problem]:
        """Figures that are each valid but do not go together; fields are dotted from the device's file."""
        return iter(())

    @model_validator(mode="after")
    def _no_conflicts(self) -> Self:
        # Figures that do not go together are looked for among those that can be at all.
        raise_problems(self.kind, _beyond_limits(self))
        raise_problems(self.kind, self.conflicts())
        return self


def _beyond_limits(table: Table, prefix: str = "") -> Iterator[Problem]:
    """Times and rates that would overflow the engine's clock, or take longer than anybody waits."""
    for name in type(table).model_fields:
        value = getattr(table, name)
        if isinstance(value, Table):
            yield from _beyond_limits(value, f"{prefix}{name}.")
            continue
        # The longest end is the one that counts: a rate is no time.
        end = max((one for one in _LIMITS if name.endswith(one)), key=len, default=None)
        if end is None or not isinstance(value, int | float) or value == 0:
            continue
        least, most, told = _LIMITS[end]
        if not least <= value <= most:
            yield Problem(f"{prefix}{name}", f"must be {told}, not {value:g}")
