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

    #: The tables of the twin that hold the storage's table: none, the cache's, or that of the other storages.
    within: tuple[str, ...]
    device: str
    #: The storage's table there.
    table: str = "storage"
    #: Bytes of the flash cache on it; 0 for a storage of the server.
    cache_bytes: int = 0

    @property
    def is_other(self) -> bool:
        """Whether it is a storage beside that of the data."""
        return self.table != "storage"


def put_device(data: TwinFile, placed: Placed) -> None:
    """Replaces a storage by the device, with all of its capacity."""
    _holder(data, placed)[placed.table] = {"kind": load_device(placed.device).KIND}


def scale_devices(data: TwinFile, placed: Sequence[Placed], fields: Sequence[str], twin: Twin, where: str) -> list[str]:
    """Scales the SSDs that a change puts in, unless it says itself how much of them there is; gives a note of each.

    Errors: UserError at `where` for a changed twin that cannot be.
    """
    found = []
    for one in placed:
        device = load_device(one.device)
        if ".".join((*one.within, one.table, "capacity_scale")) in fields or device.KIND != "ssd":
            continue
        experiment = twin.checked(data, where)
        stored, *others = twin.used_bytes(experiment, where)
        if one.is_other:
            stored = _stored_on(experiment, others, one.table)
        if not max(stored, one.cache_bytes):
            continue
        share = ROOM * max(stored, one.cache_bytes) / device.capacity
        what = "the cache" if one.cache_bytes > stored else "what the server stores"
        # Devices of a part of the server alone have the same share of their capacity as its storage.
        shares = [] if one.within else _shares(experiment, others)
        if max([share, *shares]) >= 1:
            continue
        if shares and max(shares) > share:
            share, what = max(shares), "what the server stores on the fullest of its devices"
        _holder(data, one)[one.table]["capacity_scale"] = share
        found.append(f"{one.device} with {100 * share:.2g} % of its capacity, {ROOM} times {what}")
    return found


def _holder(data: TwinFile, placed: Placed) -> TwinFile:
    for table in placed.within:
        data = data.setdefault(table, {})
    return data


def _stored_on(experiment: Experiment, others: Sequence[int], name: str) -> int:
    """Bytes on one of the other storages; 0 if nothing is placed on it. They follow the devices of parts alone."""
    assert isinstance(experiment.database, InnodbModel)
    placed = list(experiment.database.placed_storages)
    return others[len(experiment.database.other_devices) + placed.index(name)] if name in placed else 0


def _shares(experiment: Experiment, others: Sequence[int]) -> list[float]:
    """The shares of their capacity that the devices beside the storage need.

    Storages that the server's parts are placed on come behind them, and say their own share.
    """
    assert isinstance(experiment.database, InnodbModel)
    devices = experiment.database.other_devices
    return [ROOM * needed / load_device(name).capacity for name, needed in zip(devices, others, strict=False)]
