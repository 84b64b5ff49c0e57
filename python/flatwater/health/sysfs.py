"""What the kernel tells of a disk to everybody: its name, its size, its temperature; of eMMC also its wear."""

from __future__ import annotations

import re
from pathlib import Path

from flatwater.health.disks import Disk, folder_of
from flatwater.health.drive import Gauges, Identity, Protocol, Reading
from flatwater.health.machine import Machine
from flatwater.health.untrusted import one_line

NAME = "sysfs"
#: The kernel counts sectors of 512 B, whatever the device's sector size is.
_SECTOR_BYTES = 512
#: JEDEC eMMC 5.0, EXT_CSD registers 268 and 269: 1 is 0 to 10 % of the life used, 10 is 90 to 100 %, 11 is over.
_MMC_STEP_PCT, _MMC_OVER = 10, 11
#: How vendors and models of disks begin that hypervisors and clouds make. Their NVMe volumes answer with zeros.
_HYPERVISORS = (
    *("qemu", "vmware", "msft", "vbox", "google", "nutanix"),
    *("amazon elastic block store", "nvme_card-pd", "oracle blockvolume"),
)
#: Where a disk's hwmon device is, below its folder.
_HWMON = ("device/hwmon*", "device/hwmon/hwmon*", "device/device/hwmon/hwmon*")
_STEP = re.compile(r"0x[0-9a-fA-F]{1,2}")


def read_sysfs(machine: Machine, disk: Disk, at_s: float) -> Reading:
    """What needs no right beyond reading: always there, often little."""
    folder = folder_of(machine, disk)
    if disk.way:
        # The disk is what the controller makes of its drives; none of its figures are a drive's.
        return Reading(disk.called, at_s)
    sectors = machine.read(folder / "size") or ""
    rotational = machine.read(folder / "queue/rotational")
    identity = Identity(
        model=_model(machine, folder),
        firmware=one_line(_first(machine, folder, ("device/firmware_rev", "device/rev", "device/fwrev")) or ""),
        protocol=_protocol(disk),
        capacity_bytes=int(sectors) * _SECTOR_BYTES if sectors.isdecimal() and len(sectors) < 20 else None,
        rotational=None if rotational not in ("0", "1") or _is_virtual(disk) else rotational == "1",
    )
    warm = _temperatures(machine, folder)
    gauges = Gauges(
        used_pct=_mmc_used_pct(machine, folder),
        temperature_c=warm.get("input"),
        temperature_warning_c=warm.get("max"),
        temperature_critical_c=warm.get("crit"),
    )
    return Reading(disk.called, at_s, (NAME,), identity, gauges)


def _model(machine: Machine, folder: Path) -> str:
    """Vendor and model. The vendor of a virtio disk is a number of PCI's."""
    vendor = machine.read(folder / "device/vendor") or ""
    if vendor.startswith("0x"):
        return "virtio disk"
    return one_line(f"{vendor} {_first(machine, folder, ('device/model', 'device/name')) or ''}")


def _first(machine: Machine, folder: Path, names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := machine.read(folder / name))), None)


def _protocol(disk: Disk) -> Protocol:
    if disk.is_nvme:
        return "NVMe"
    return "MMC" if disk.name.startswith("mmcblk") else "unknown"


def _is_virtual(disk: Disk) -> bool:
    """A disk of a virtual machine says that it does not rotate, or that it does: neither tells of the drive below."""
    return disk.name.startswith(("vd", "xvd"))


def is_virtual(machine: Machine, disk: Disk) -> bool:
    """Whether it is a disk that a hypervisor makes, which has no gauges of its own."""
    names = (machine.read(folder_of(machine, disk) / f"device/{name}") or "" for name in ("vendor", "model"))
    return _is_virtual(disk) or any(name.lower().startswith(_HYPERVISORS) for name in names)


def _temperatures(machine: Machine, folder: Path) -> dict[str, float]:
    """The first sensor of the disk's hwmon device, degrees Celsius: of NVMe drives since Linux 5.5, of SATA drives with
    the module drivetemp (Documentation/hwmon/).
    """
    found: dict[str, float] = {}
    for pattern in _HWMON:
        for path in sorted(folder.glob(f"{pattern}/temp1_*")):
            text = machine.read(path) or ""
            kind = path.name.removeprefix("temp1_")
            if text.removeprefix("-").isdecimal() and len(text) < 10 and kind not in found:
                found[kind] = int(text) / 1000
    # A drive that knows no limit tells 0 K, or all ones, of it.
    return {kind: value for kind, value in found.items() if -60 <= value <= 150}


def temperature_files(machine: Machine, disk: Disk) -> list[Path]:
    """The file of the sensor that is read as the disk's temperature; none where there is no sensor."""
    folder = folder_of(machine, disk)
    found = [path for pattern in _HWMON for path in sorted(folder.glob(f"{pattern}/temp1_input"))]
    return found[:1]


def _mmc_used_pct(machine: Machine, folder: Path) -> float | None:
    """The worse of both kinds of memory that an eMMC has; at the end of the step that it tells."""
    words = (machine.read(folder / "device/life_time") or "").split()
    steps = [int(word, 16) for word in words if _STEP.fullmatch(word)]
    worst = max(steps, default=0)
    return float(_MMC_STEP_PCT * worst) if 1 <= worst <= _MMC_OVER else None
