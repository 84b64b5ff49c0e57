"""The block device under a file, from /proc/diskstats: utilisation, await, queue."""

from __future__ import annotations

import time
from pathlib import Path

from flatwater.owned.mounted import find_block_device, mount_of

#: Columns after major, minor and name (Documentation/admin-guide/iostats.rst of Linux).
_READS, _READ_SECTORS, _READ_MS = 0, 2, 3
_WRITES, _WRITE_SECTORS, _WRITE_MS = 4, 6, 7
_BUSY_MS, _QUEUE_MS = 9, 10
_DISCARDS, _FLUSHES, _FLUSH_MS = 11, 15, 16
#: The kernel counts sectors of 512 B, whatever the device's sector size is.
_SECTOR_BYTES = 512


#: File systems whose files are in memory; proc(5), filesystems.
IN_MEMORY = ("tmpfs", "devtmpfs", "ramfs")
#: File systems that hold devices, are in memory, or stand on another file system: figures measured there are not those
#: of a server's storage. Each has a sentence for the user; proc(5), filesystems.
_NO_STORAGE = {
    **dict.fromkeys(IN_MEMORY, "its files are in memory, and no storage was measured"),
    "overlay": "a container's layers stand between the files and their storage: measure on a volume instead",
}


def storage_warning(path: Path) -> str | None:
    """The sentence for a place whose files are not files on storage; None for any other place."""
    kind = mount_of(path).get("type", "")
    return f"{path} is on {kind}: {_NO_STORAGE[kind]}" if kind in _NO_STORAGE else None


class DiskProbe:
    """`storage.*` of the device under a path; no series if there is no such device (tmpfs, network).

    `prefix` is that of its series, of a device beside that of the data.
    """

    def __init__(self, path: Path, prefix: str = "storage.") -> None:
        self._prefix = prefix
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
            "utilisation_pct": min(100.0, delta[_BUSY_MS] / seconds / 10),
            "queue_depth": delta[_QUEUE_MS] / seconds / 1000,
            "read_ops_per_s": delta[_READS] / seconds,
            "write_ops_per_s": delta[_WRITES] / seconds,
            "read_bytes_per_s": delta[_READ_SECTORS] * _SECTOR_BYTES / seconds,
            "write_bytes_per_s": delta[_WRITE_SECTORS] * _SECTOR_BYTES / seconds,
        }
        # There is no mean over no requests.
        if delta[_READS]:
            found["read_await_us"] = 1000 * delta[_READ_MS] / delta[_READS]
        if delta[_WRITES]:
            found["write_await_us"] = 1000 * delta[_WRITE_MS] / delta[_WRITES]
        if len(delta) > _DISCARDS:
            found["discard_ops_per_s"] = delta[_DISCARDS] / seconds
        if len(delta) > _FLUSHES:
            found["flush_ops_per_s"] = delta[_FLUSHES] / seconds
        if len(delta) > _FLUSH_MS and delta[_FLUSHES]:
            found["flush_await_us"] = 1000 * delta[_FLUSH_MS] / delta[_FLUSHES]
        return {self._prefix + name: value for name, value in found.items()}
