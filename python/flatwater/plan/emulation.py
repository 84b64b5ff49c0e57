"""A modelled device that is served as a file, in real time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flatwater.owned import Identity
from flatwater.plan.device import Device


@dataclass(frozen=True)
class EmulatedDevice:
    """What is served, and where: `emulator::Spec` of crates/serve."""

    device: Device
    #: Its name, for people.
    title: str
    seed: int
    #: Of the file that is served.
    bytes: int
    #: Bytes from the beginning that the model takes as used.
    used_bytes: int
    #: The model learns from the backing file what it holds.
    replay: bool
    #: The file that holds what is written.
    backing: str
    permit: tuple[Identity, ...]
    #: What is in it is thrown away.
    emptied: bool
    #: What is flushed survives a power cut.
    durable: bool
    #: The folder that it is mounted on.
    mount: str
    sidecar: str
    #: What stands in the sidecar beside the state of the device: only the sidecar's owner reads it.
    owner: Mapping[str, Any]
    readers: int
    interval_ms: int
