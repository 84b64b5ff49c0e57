"""Devices as evidence: that of the data, and those that parts of a server have to themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from flatwater.analysis.bound.line import Line
from flatwater.errors import UserError
from flatwater.experiment import ModelledStorage
from flatwater.experiment.database.placed import MAIN, Other
from flatwater.experiment.database.placement import Holding
from flatwater.experiment.device import Device as DeviceFile
from flatwater.experiment.device.load import load_device


@dataclass(frozen=True)
class Device:
    """The storage. Layer `storage`."""

    #: `file` for what is real, else the kind of model: ssd, hdd, raid, volume, memory.
    kind: str
    #: Of a real file, the share of the time in which the device had a request; of a model, the share of its busiest
    #: part: dies or link of a card, arm of a disk, mean of an array's members, link of a volume or an appliance.
    busy_pct: Line | None = None
    #: Requests in flight, a mean over the interval for a real device and a moment's number for a model.
    queue_depth: Annotated[Line | None, "queue_depth"] = None
    read_await_us: Annotated[Line | None, "read_await_us"] = None
    write_await_us: Annotated[Line | None, "write_await_us"] = None
    #: How long a flush of the device's own cache took; None for a device without one.
    flush_await_us: Annotated[Line | None, "flush_await_us"] = None
    read_ops_per_s: Annotated[Line | None, "read_ops_per_s", "reads_per_s"] = None
    write_ops_per_s: Annotated[Line | None, "write_ops_per_s", "writes_per_s"] = None
    flush_ops_per_s: Annotated[Line | None, "flush_ops_per_s", "flushes_per_s"] = None
    discard_ops_per_s: Annotated[Line | None, "discard_ops_per_s", "trims_per_s"] = None
    read_bytes_per_s: Annotated[Line | None, "read_bytes_per_s"] = None
    write_bytes_per_s: Annotated[Line | None, "write_bytes_per_s", "host_written_bytes_per_s"] = None
    #: Of a modelled card: bytes programmed for each byte of the host, and the share of the time in which the collector
    #: keeps writes of the host waiting.
    write_amplification: Annotated[Line | None, "write_amplification"] = None
    gc_share_pct: Annotated[Line | None, "gc_share_pct"] = None
    relocated_bytes_per_s: Annotated[Line | None, "relocated_bytes_per_s"] = None
    #: Valid pages of a modelled card, percent of the usable ones. Not a load.
    valid_pct: Line | None = None
    dies_busy_pct: Annotated[Line | None, "dies_busy_pct"] = None
    link_busy_pct: Annotated[Line | None, "link_busy_pct"] = None
    media_wearout: Annotated[Line | None, "media_wearout"] = None
    available_reserve_pct: Annotated[Line | None, "available_reserve_pct"] = None
    #: Requests and bytes that a network volume may still serve above its baseline.
    credits: Annotated[Line | None, "credits"] = None
    byte_credits: Annotated[Line | None, "byte_credits"] = None
    #: Of a modelled array: 1 while the controller's cache writes back; its dirty bytes; working members. Progress of
    #: its own work: of a software array (md) below a real run, too. There is a value only while it is under way.
    write_back: Annotated[Line | None, "write_back"] = None
    cache_dirty_bytes: Annotated[Line | None, "cache_dirty_bytes"] = None
    members_working: Annotated[Line | None, "members_working"] = None
    patrol_pct: Annotated[Line | None, "patrol_pct"] = None
    rebuild_pct: Annotated[Line | None, "rebuild_pct"] = None
    check_pct: Annotated[Line | None, "check_pct"] = None
    #: Of the warmest real drive below.
    temperature_c: Annotated[Line | None, "temperature_c"] = None
    #: Of a served model: answers that came later than the model said.
    lag_late_pct: Annotated[Line | None, "lag_late_pct"] = None
    lag_p95_us: Annotated[Line | None, "lag_p95_us"] = None


@dataclass(frozen=True)
class OwnDevice:
    """A device that parts of a server have to themselves. Series of layer `storage`, with a prefix."""

    #: Its name in `devices/`, or its path; of `database.storages`, its name there.
    name: str
    holds: Holding
    device: Device
    #: What `database.placement` puts on it; None for a device that only the model gives to parts of a server.
    other: Other | None = None

    @property
    def text(self) -> str:
        """`the device of the doublewrite buffer (disk-7200)`, `the storage of the redo log, table stock (array)`"""
        if self.other is not None:
            return f"the storage of the {self.other.text} ({self.name})"
        words = {"log": "the redo log", "doublewrite": "the doublewrite buffer", "binlog": "the binary log"}
        held = [*(words[part] for part in self.holds.parts), *(f"table {table}" for table in self.holds.tables)]
        return f"the device of {' and '.join(held)} ({self.name})"

    @property
    def model(self) -> DeviceFile | None:
        """How it is modelled; None for a real one, and for one whose file is not on this machine."""
        if self.other is not None:
            return self.other.storage.modelled_device if isinstance(self.other.storage, ModelledStorage) else None
        try:
            return load_device(self.name)
        except UserError:
            return None

    @property
    def put_back(self) -> tuple[str, ...]:
        """The overrides of an experiment with which its parts are with the data."""
        if self.other is not None:
            fields = [*self.other.items, *(f"tables.{table}" for table in self.other.tables)]
            return tuple(f'database.placement.{field}="{MAIN}"' for field in fields)
        parts = [f"{part}_device" for part in self.holds.parts]
        return tuple(f'database.{field}="none"' for field in [*parts, *(f"tables.{one}" for one in self.holds.tables)])
