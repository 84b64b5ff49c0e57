"""The block device under a file, from /proc/diskstats: utilisation, await, queue."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from flatwater.errors import UserError
from flatwater.owned.mounted import unescape

#: Columns after major, minor and name (Documentation/admin-guide/iostats.rst of Linux).
_READS, _READ_SECTORS, _READ_MS = 0, 2, 3
_WRITES, _WRITE_SECTORS, _WRITE_MS = 4, 6, 7
_BUSY_MS, _QUEUE_MS = 9, 10
_DISCARDS, _FLUSHES, _FLUSH_MS = 11, 15, 16
#: The kernel counts sectors of 512 B, whatever the device's sector size is.
_SECTOR_BYTES = 512


def find_block_device(path: Path) -> tuple[int, int] | None:
    """(major, minor) of the device under a file, or of the device itself; None for file systems without a device.

    btrfs and overlays give files an anonymous device number. The source of their mount is then used.
    """
    try:
        info = path.stat()
    except OSError:
        return None
    number = info.st_rdev if stat.S_ISBLK(info.st_mode) else info.st_dev
    if os.major(number) != 0:
        return os.major(number), os.minor(number)
    source = mount_of(path).get("source", "")
    try:
        info = Path(source).stat()
    except OSError:
        return None
    return (os.major(info.st_rdev), os.minor(info.st_rdev)) if stat.S_ISBLK(info.st_mode) else None


def mount_of(path: Path) -> dict[str, str]:
    """The mount of a path: `target`, `source`, `type`, `options`; {} if it cannot be found."""
    best: dict[str, str] = {}
    real = path.resolve()
    for mount in read_mounts():
        target = Path(mount["target"])
        # The last of equal mounts covers the others.
        if (real == target or target in real.parents) and len(mount["target"]) >= len(best.get("target", "")):
            best = mount
    return best


#: File systems that hold devices, are in memory, or stand on another file system: figures measured there are not those
#: of a server's storage. Each has a sentence for the user; proc(5), filesystems.
_NO_STORAGE = {
    "tmpfs": "its files are in memory, and no storage was measured",
    "devtmpfs": "its files are in memory, and no storage was measured",
    "ramfs": "its files are in memory, and no storage was measured",
    "overlay": "a container's layers stand between the files and their storage: measure on a volume instead",
}


def storage_warning(path: Path) -> str | None:
    """The sentence for a place whose files are not files on storage; None for any other place."""
    kind = mount_of(path).get("type", "")
    return f"{path} is on {kind}: {_NO_STORAGE[kind]}" if kind in _NO_STORAGE else None


def require_no_device_folder(path: Path, where: str) -> None:
    """Refuses a place among the devices that is not a device: a mistyped name would become a file in memory.

    Errors: UserError.
    """
    real = path.resolve()
    mount = mount_of(real if real.exists() else real.parent)
    if mount.get("type") == "devtmpfs" or (real.is_relative_to("/dev") and mount.get("target") in ("/dev", "/")):
        raise UserError(
            f"{path} is no block device: a file there would be in memory",
            where=where,
            hint="lsblk shows the devices; files go to a directory of a file system",
        )


def read_mounts() -> list[dict[str, str]]:
    """Every mount of this process, from /proc/self/mountinfo, proc(5); with `device` as `major:minor`."""
    mounts = []
    # Only spaces, tabs, newlines and backslashes are escaped. A name may contain other characters that Python treats as
    # white space.
    for line in Path("/proc/self/mountinfo").read_bytes().decode(errors="surrogateescape").rstrip("\n").split("\n"):
        before, _, after = line.partition(" - ")
        fields, (kind, source, super_options) = before.split(" "), after.split(" ", 2)
        mounts.append(
            {
                "device": fields[2],
                "target": unescape(fields[4]),
                "type": kind,
                "source": unescape(source),
                "options": f"{fields[5]},{super_options}",
            }
        )
    return mounts


class DiskProbe:
    """`storage.*` of the device under a path; no series if there is no such device (tmpfs, network)."""

    def __init__(self, path: Path) -> None:
        self._device = find_block_device(path)
        self._last = self._read()

    def _read(self) -> tuple[list[int], float] | None:
        if self._device is None:
            return None
        wanted = [str(number) for number in self._device]
        for line in Path("/proc/diskstats").read_text().splitlines():
            fields = line.split()
            if fields[:2] == wanted:
                return [int(field) for field in fields[3:]], time.monotonic()
        return None

    def sample(self) -> dict[str, float]:
        """Rates and means since the last call."""
        last, now = self._last, self._read()
        self._last = now
        if last is None or now is None or now[1] <= last[1]:
            return {}
        seconds = now[1] - last[1]
        delta = [after - before for after, before in zip(now[0], last[0], strict=False)]
        found = {
            "storage.utilisation_pct": min(100.0, delta[_BUSY_MS] / seconds / 10),
            "storage.queue_depth": delta[_QUEUE_MS] / seconds / 1000,
            "storage.read_ops_per_s": delta[_READS] / seconds,
            "storage.write_ops_per_s": delta[_WRITES] / seconds,
            "storage.read_bytes_per_s": delta[_READ_SECTORS] * _SECTOR_BYTES / seconds,
            "storage.write_bytes_per_s": delta[_WRITE_SECTORS] * _SECTOR_BYTES / seconds,
        }
        # There is no mean over no requests.
        if delta[_READS]:
            found["storage.read_await_us"] = 1000 * delta[_READ_MS] / delta[_READS]
        if delta[_WRITES]:
            found["storage.write_await_us"] = 1000 * delta[_WRITE_MS] / delta[_WRITES]
        if len(delta) > _DISCARDS:
            found["storage.discard_ops_per_s"] = delta[_DISCARDS] / seconds
        if len(delta) > _FLUSHES:
            found["storage.flush_ops_per_s"] = delta[_FLUSHES] / seconds
        if len(delta) > _FLUSH_MS and delta[_FLUSHES]:
            found["storage.flush_await_us"] = 1000 * delta[_FLUSH_MS] / delta[_FLUSHES]
        return found
