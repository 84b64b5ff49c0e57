"""Modelled devices in place of a run's storage, and how much of their capacity the twin gets.

The share of a card that is in use decides how fast it writes, and a model of a whole card takes much memory. So a twin
gets a part of a card. How large that part is follows from what the modelled server says it keeps on the device: tables
with the room that they grow into, redo log, binary log and doublewrite buffer. Their sizes depend on the settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flatwater.experiment import Experiment
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.device.load import load_device
from flatwater.what_if.twin import Twin, TwinFile

#: Bytes of a modelled card for each byte that is kept on it.
ROOM = 4


@dataclass(frozen=True)
class Placed:
    """A device that a change puts in place of a storage."""

    #: The tables of the twin that hold the storage's table: none, or the cache's.
    within: tuple[str, ...]
    device: str
    #: Bytes of the flash cache on it; 0 for the storage of the server.
    cache_bytes: int = 0


def put_device(data: TwinFile, placed: Placed) -> None:
    """Replaces a storage by the device, with all of its capacity."""
    _holder(data, placed)["storage"] = {"kind": load_device(placed.device).KIND}


def scale_devices(data: TwinFile, placed: Sequence[Placed], fields: Sequence[str], twin: Twin, where: str) -> list[str]:
    """Scales the SSDs that a change puts in, unless it says itself how much of them there is; gives a note of each.

    Errors: UserError at `where` for a changed twin that cannot be.
    """
    found = []
    for one in placed:
        device = load_device(one.device)
        if ".".join((*one.within, "storage", "capacity_scale")) in fields or device.KIND != "ssd":
            continue
        experiment = twin.checked(data, where)
        stored, *others = twin.used_bytes(experiment, where)
        share = ROOM * max(stored, one.cache_bytes) / device.capacity
        what = "the cache" if one.cache_bytes > stored else "what the server stores"
        # Devices of a part of the server alone have the same share of their capacity as its storage.
        shares = [] if one.within else _shares(experiment, others)
        if max([share, *shares]) >= 1:
            continue
        if shares and max(shares) > share:
            share, what = max(shares), "what the server stores on the fullest of its devices"
        _holder(data, one)["storage"]["capacity_scale"] = share
        found.append(f"{one.device} with {100 * share:.2g} % of its capacity, {ROOM} times {what}")
    return found


def _holder(data: TwinFile, placed: Placed) -> TwinFile:
    for table in placed.within:
        data = data[table]
    return data


def _shares(experiment: Experiment, others: Sequence[int]) -> list[float]:
    """The shares of their capacity that the devices beside the storage need.

    Storages that the server's parts are placed on come behind them, and say their own share.
    """
    assert isinstance(experiment.database, InnodbModel)
    devices = experiment.database.other_devices
    return [ROOM * needed / load_device(name).capacity for name, needed in zip(devices, others, strict=False)]
