"""The devices that hold parts of a server that others run, and not its data: found by what the server says of itself.

Each is recorded like a storage of the experiment that parts are placed on, and named after the first of its parts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from flatwater.experiment.database.placed import ITEMS
from flatwater.owned.mounted import find_block_device, mount_of
from flatwater.probe import Probe, device_text
from flatwater.probe.disk import IN_MEMORY, DiskProbe
from flatwater.results.observation import Gap
from flatwater.runner.stack.others import prefix_of
from flatwater.server import Attached, Local, as_seen_by, is_seen_alike, told_places


@dataclass(frozen=True)
class Apart:
    """One device, and the parts of the server on it."""

    #: As a storage of an experiment is called: it begins the names of its series.
    name: str
    #: A folder or file of the first part, as this process sees it.
    place: Path
    items: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What it is, and what is on it, as the layers of a summary have it."""
        return f"real: {device_text(self.place)} ({', '.join(map(_words, self.items))})"

    def probe(self) -> Probe:
        """Samples its series."""
        return DiskProbe(self.place, prefix_of(self.name))


@dataclass(frozen=True)
class Found:
    """Where the parts of a server are."""

    apart: tuple[Apart, ...] = ()
    #: Parts of which it is not known, or not recorded.
    gaps: tuple[Gap, ...] = ()


def find_apart(server: Attached, local: Local) -> Found:
    """Looks for the parts of a server whose process and data directory are known; finds nothing of others."""
    if local.pid is None or local.data is None:
        return Found()
    own = _device(local.data)
    by_device: dict[tuple[int, int], Apart] = {}
    gaps = []
    told = told_places(server.variables, local.data)
    for item in (item for item in ITEMS if item in told):
        if not told[item]:
            gaps.append(_gap(item, "this server does not tell where it is"))
        for path in told[item]:
            place = path if is_seen_alike(local.pid, path) else as_seen_by(local.pid, path)
            device = _device(place)
            if device is None:
                if (why := _why_not(place, local.data)) is not None:
                    gaps.append(_gap(item, f"{path} {why}"))
            elif device != own:
                before = by_device.get(device) or Apart(_name(item, by_device.values()), place)
                by_device[device] = replace(before, items=tuple(dict.fromkeys((*before.items, item))))
    return Found(tuple(by_device.values()), tuple(gaps))


def _device(place: Path) -> tuple[int, int] | None:
    """The block device under a place; by its mount where the place itself may not be looked at."""
    try:
        place.stat()
    except PermissionError:
        return find_block_device(Path(mount_of(place).get("target", "/")))
    except OSError:
        return None
    return find_block_device(place)


def _why_not(place: Path, data: Path) -> str | None:
    """Why a place has no device; None if nothing is missing for that: it is in memory, or where the data are."""
    try:
        place.stat()
    except PermissionError:
        pass
    except OSError:
        return "cannot be looked at"
    mount = mount_of(place)
    kind = mount.get("type", "an unknown file system")
    return None if kind in IN_MEMORY or mount == mount_of(data) else f"is on {kind}, which has no device"


def _name(item: str, others: Collection[Apart] = ()) -> str:
    """The name of the storage of a part; with a number if the part is on several."""
    name = item.replace("_", "")
    taken = sum(other.name.rstrip("0123456789") == name for other in others)
    return f"{name}{taken + 1}" if taken else name


def _gap(item: str, why: str) -> Gap:
    return Gap(what=f"the storage of the server's {_words(item)}", figures=[f"{prefix_of(_name(item))}*"], why=why)


def _words(item: str) -> str:
    return item.replace("_", " ")
