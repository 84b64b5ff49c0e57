"""An appliance of memory."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from flatwater.experiment.device.device import Device


class MemoryDevice(Device):
    """A box of memory behind a link: a fixed latency, then as many bytes a second as the link moves."""

    KIND: ClassVar[str] = "memory"

    kind: Literal["memory"]
    #: From a command to its answer, without the transfer.
    latency_us: float = Field(ge=0)
    read_mib_per_s: float = Field(gt=0)
    write_mib_per_s: float = Field(gt=0)
