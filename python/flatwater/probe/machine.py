"""The machine and the storage of a result: the contents of `machine.json`."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from pathlib import Path
from typing import cast

import psutil

from flatwater import __version__
from flatwater.owned.mounted import find_block_device, mount_of
from flatwater.results.facts import MachineFacts, StorageFacts


def _first_line(path: str | Path) -> str | None:
    try:
        return Path(path).read_text(errors="replace").strip("\0\n ").split("\n", 1)[0] or None
    except OSError:
        return None


def _cpu_model() -> str | None:
    for line in (Path("/proc/cpuinfo").read_text(errors="replace")).splitlines():
        if line.startswith(("model name", "Model", "Hardware")):
            return line.partition(":")[2].strip()
    return None


def _number(path: str | Path) -> int | None:
    """A file with one whole number; None if it is missing or holds something else."""
    word = _first_line(path) or ""
    return int(word) if word.isascii() and word.isdecimal() else None


def _chosen(path: str) -> str | None:
    """The word that the kernel puts into brackets: `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", _first_line(path) or "")
    return found[1] if found else None


def _numa_nodes(root: Path = Path("/sys/devices/system/node")) -> list[int] | None:
    """Memory of each NUMA node, bytes (Linux, ABI/stable/sysfs-devices-node)."""
    found = []
    for file in sorted(root.glob("node[0-9]*/meminfo")):
        with suppress(OSError):
            total = re.search(r"MemTotal:\s+(\d+) kB", file.read_text(errors="replace"))
            found.append(1024 * int(total[1]) if total else 0)
    return found or None


def describe_machine() -> MachineFacts:
    """Hardware, kernel and versions. No host name, no user: results are made to be shared."""
    os_release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    found = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "system": os_release.get("PRETTY_NAME"),
        "hardware": _first_line("/sys/class/dmi/id/product_name"),
        "hypervisor": "hypervisor" in Path("/proc/cpuinfo").read_text(errors="replace"),
        "clock_source": _first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "cpu_governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "transparent_huge_pages": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "swappiness": _number("/proc/sys/vm/swappiness"),
        "swap_bytes": psutil.swap_memory().total,
        "numa_node_bytes": _numa_nodes(),
        "python": platform.python_version(),
        "flatwater": __version__,
    }
    return cast("MachineFacts", {name: value for name, value in found.items() if value is not None})


def describe_storage(path: Path) -> StorageFacts:
    """The mount and the block device under a path, as far as the kernel reports them."""
    found: dict[str, str | int | None] = {"path": str(path)}
    if not path.is_block_device():
        mount = mount_of(path)
        found |= {
            "file_system": mount.get("type"),
            "mount_options": mount.get("options"),
            "mount_source": mount.get("source"),
        }
        found |= _file_system(path)
    device = find_block_device(path)
    if device is not None:
        folder = (Path("/sys/dev/block") / f"{device[0]}:{device[1]}").resolve()
        # A partition's queue is its disk's.
        disk = folder if (folder / "queue").exists() else folder.parent
        start, read_ahead = _number(folder / "start"), _number(disk / "queue/read_ahead_kb")
        found |= {
            "device": f"/dev/{folder.name}",
            "device_bytes": int(_first_line(folder / "size") or 0) * 512,
            "model": _first_line(disk / "device/model"),
            "rotational": _first_line(disk / "queue/rotational") == "1",
            "scheduler": _first_line(disk / "queue/scheduler"),
            "write_cache": _first_line(disk / "queue/write_cache"),
            "logical_block_bytes": int(_first_line(disk / "queue/logical_block_size") or 512),
            "physical_block_bytes": int(_first_line(disk / "queue/physical_block_size") or 512),
            "queue_requests": int(_first_line(disk / "queue/nr_requests") or 0),
            "discard_bytes_max": int(_first_line(disk / "queue/discard_max_bytes") or 0),
            "read_ahead_bytes": read_ahead * 1024 if read_ahead is not None else None,
            "partition_start_bytes": start * 512 if start is not None else None,
        }
    return cast("StorageFacts", {name: value for name, value in found.items() if value is not None})


def _file_system(path: Path) -> dict[str, int]:
    """Blocks of the file system of a path; {} if it does not tell."""
    try:
        told = os.statvfs(path)
    except OSError:
        return {}
    return {
        "file_system_block_bytes": told.f_bsize,
        "file_system_bytes": told.f_blocks * told.f_frsize,
        "file_system_free_bytes": told.f_bfree * told.f_frsize,
    }


def device_text(path: Path) -> str:
    """The storage in a few words: `/dev/nvme0n1 (MODEL), ext4`."""
    found = describe_storage(path)
    device = found.get("device", found.get("mount_source", "?"))
    model = f" ({found['model']})" if found.get("model") else ""
    return f"{device}{model}" + (f", {found['file_system']}" if found.get("file_system") else "")
