"""A modelled device that is served as a file in real time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flatwater.owned import Identity
from flatwater.plan.device import Device


@dataclass(frozen=True)
class EmulatedDevice:
    """The served device and its files: `emulator::Spec` of crates/serve."""

    device: Device
    #: The displayed name.
    title: str
    seed: int
    #: Size of the served file.
    bytes: int
    #: Bytes from the start that count as used in the model.
    used_bytes: int
    #: Ranges (offset, bytes) that were trimmed in earlier uses of the backing file.
    trimmed: tuple[tuple[int, int], ...]
    #: The model reads from the backing file which blocks are written.
    replay: bool
    #: The file with the data.
    backing: str
    permit: tuple[Identity, ...]
    #: Whether its content is discarded.
    emptied: bool
    #: Flushed data survive a power failure.
    durable: bool
    #: The mount point.
    mount: str
    sidecar: str
    #: Fields that the sidecar has beside the state of the device. The engine does not read them.
    owner: Mapping[str, Any]
    readers: int
    interval_ms: int
