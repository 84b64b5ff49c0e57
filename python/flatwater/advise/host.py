"""The host and the storage of a run, as far as advice may speak of them.

`machine.json` tells of the machine that flatwater ran on, and of the place of the first cell. A rule must not take it
for the server's machine, or for another cell's place, so every rule of the host asks here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from flatwater.advise.rule import Case
from flatwater.analysis.bound import Evidence
from flatwater.errors import UserError
from flatwater.experiment import ModelledStorage
from flatwater.experiment.device import Device
from flatwater.experiment.device.hdd import HddDevice
from flatwater.experiment.device.memory import MemoryDevice
from flatwater.experiment.device.raid import RaidDevice
from flatwater.experiment.device.ssd import SsdDevice
from flatwater.results.facts import MachineFacts, StorageFacts

#: What answers the requests.
Medium = Literal["flash", "disks"]


def machine_facts(case: Case) -> MachineFacts:
    """The machine on which workload and server ran; empty if they ran in virtual time, or the server elsewhere."""
    evidence = case.evidence
    if evidence.layers.virtual:
        return {}
    # Only processes of this machine are sampled.
    if evidence.database is not None and evidence.layers.database == "real" and evidence.database.cpu_user_pct is None:
        return {}
    return evidence.machine.facts


def storage_facts(case: Case) -> StorageFacts:
    """The mount and the block device under the data; empty of modelled storage, or where they are another cell's."""
    if case.evidence.layers.storage != "real":
        return {}
    facts = machine_facts(case).get("storage", {})
    return facts if _is_of_cell(case.evidence, facts.get("path")) else {}


def _is_of_cell(evidence: Evidence, recorded: str | None) -> bool:
    """Whether the recorded place is this cell's: a sweep may visit several."""
    asked = getattr(evidence.experiment.storage, "path", None) if evidence.experiment is not None else None
    if not asked or not recorded:
        return True
    here, there = Path(asked).resolve(), Path(recorded).resolve()
    return here == there or here in there.parents or there in here.parents


def mount_options(case: Case) -> frozenset[str]:
    """The options of the mount; empty if they are unknown."""
    return frozenset(word for word in storage_facts(case).get("mount_options", "").split(",") if word)


def modelled_device(evidence: Evidence) -> Device | None:
    """The model of the storage; None of a real one, or if its file is not there."""
    storage = evidence.experiment.storage if evidence.experiment is not None else None
    if not isinstance(storage, ModelledStorage):
        return None
    try:
        return storage.modelled_device
    except UserError:
        return None


def medium(case: Case) -> Medium | None:
    """Whether flash or disks are below; None where that is not known.

    A virtual disk calls itself rotational whatever is behind it (virtio has no say), so it is believed in a machine of
    iron only.
    """
    device = modelled_device(case.evidence)
    if isinstance(device, RaidDevice):
        try:
            device = device.member()
        except UserError:
            return None
    if isinstance(device, SsdDevice | MemoryDevice):
        return "flash"
    if isinstance(device, HddDevice):
        return "disks"
    if device is not None:
        return None
    rotational = storage_facts(case).get("rotational")
    if rotational is None:
        return None
    if not rotational:
        return "flash"
    return "disks" if machine_facts(case).get("hypervisor") is False else None


def scheduler(case: Case) -> str:
    """The IO scheduler in use; empty if it is unknown."""
    words = storage_facts(case).get("scheduler", "")
    chosen = re.search(r"\[([\w-]+)\]", words)
    return chosen[1] if chosen else ""


def disk_name(case: Case) -> str:
    """The block device without `/dev/`; `DISK` where its name would not be a safe part of a command."""
    name = storage_facts(case).get("device", "").removeprefix("/dev/")
    return name if re.fullmatch(r"[a-z0-9]+", name) else "DISK"
