"""The drives under a real run: read before and after it, so that what the run did to them is known.

Nothing here fails a run: what cannot be read is told.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flatwater.health.below import (
    Below,
    ChoreProbe,
    arrays_between,
    controllers_between,
    look_below,
    warnings_of,
)
from flatwater.health.checkup import judge
from flatwater.health.disks import Disk, number_of
from flatwater.health.drive import Reading
from flatwater.health.history import keep, load_history
from flatwater.health.life import Life, Rate, life_at, write_amplification
from flatwater.health.machine import Machine
from flatwater.health.places import disks_of_place
from flatwater.health.reading import read_drive
from flatwater.health.smartctl import drives_behind, is_megaraid
from flatwater.health.temperature import TemperatureProbe
from flatwater.health.words import bytes_text, day_text, life_text, used_text
from flatwater.results.health import CellHealth, DriveHealth, LifeSpan

#: Columns of /proc/diskstats after the name: sectors read, sectors written (Documentation/admin-guide/iostats.rst).
_READ_SECTORS, _WRITTEN_SECTORS, _COLUMNS_MIN, _SECTOR_BYTES = 2, 6, 11, 512
#: How far the drive's count of bytes may be from the kernel's; coarser counters have as many steps more.
APART_MAX = 0.02


@dataclass(frozen=True)
class Moved:
    """Bytes that the kernel moved to and from a disk since it started."""

    read: int
    written: int


@dataclass(frozen=True)
class Look:
    """The drives at one moment."""

    at_s: float
    readings: tuple[Reading, ...]
    #: By the disk's name.
    kernel: dict[str, Moved]
    #: Controllers and arrays.
    below: Below


class DriveWatch:
    """The drives under some places, from the moment that it is made."""

    def __init__(self, places: Iterable[Path], machine: Machine | None = None, history: Path | None = None) -> None:
        """`history` is the folder of the history; None: the user's."""
        self._machine = machine or Machine()
        self._history = history
        #: The disks that the kernel writes to, and the drives that can be read: not the same behind a controller.
        self._disks = _disks_of(self._machine, places)
        self._drives = _drives_of(self._machine, self._disks)
        # The kernel's counts are read nearest to the run: last before it, and first after it.
        below, readings = look_below(self._machine, self._disks), self._read()
        self._before = Look(time.time(), readings, _moved(self._machine, self._disks), below)

    def probes(self) -> list[TemperatureProbe | ChoreProbe]:
        """What is sampled each interval: the temperature, where the kernel tells it, and work of software arrays."""
        temperature = TemperatureProbe(self._machine, self._disks)
        chores = ChoreProbe(self._machine, self._disks)
        found: list[TemperatureProbe | ChoreProbe] = [temperature] if temperature.has_sensor else []
        return [*found, chores] if chores.has_array else found

    def end(self, operations: int, unit: str) -> CellHealth | None:
        """What happened to the drives since. `unit` is what an operation is, in one word: `transaction`.

        None where there are no drives below, as in memory or over a network.
        """
        if not self._disks:
            return None
        kernel, at_s = _moved(self._machine, self._disks), time.time()
        after = Look(at_s, self._read(), kernel, look_below(self._machine, self._disks))
        told = _Told(self._before, after, operations, unit)
        past = load_history(self._history)
        drives = [
            told.drive(disk, judge(reading, past, None).life)
            for disk, reading in zip(self._drives, after.readings, strict=True)
        ]
        trouble = keep((*self._before.readings, *after.readings), self._history)
        notes = dict.fromkeys((*self._before.below.unseen, *after.below.unseen, *([trouble] if trouble else [])))
        return told.cell(drives, list(notes))

    def _read(self) -> tuple[Reading, ...]:
        return tuple(read_drive(self._machine, disk, time.time()) for disk in self._drives)


def _disks_of(machine: Machine, places: Iterable[Path]) -> list[Disk]:
    return list(dict.fromkeys(disk for place in places for disk in disks_of_place(machine, place)))


def _drives_of(machine: Machine, disks: list[Disk]) -> list[Disk]:
    behind = drives_behind(machine, disks)
    return [disk for disk in disks if not behind or not is_megaraid(machine, disk)] + behind


def _moved(machine: Machine, disks: list[Disk]) -> dict[str, Moved]:
    """The kernel's counts of each disk."""
    numbers = {number_of(machine, disk).replace(":", " "): disk.name for disk in disks}
    found = {}
    for line in (machine.read("/proc/diskstats") or "").splitlines():
        words = line.split()
        name = numbers.get(" ".join(words[:2]))
        columns = words[3:]
        if name is not None and len(columns) >= _COLUMNS_MIN and all(word.isdecimal() for word in columns):
            read, written = (int(columns[column]) for column in (_READ_SECTORS, _WRITTEN_SECTORS))
            found[name] = Moved(read * _SECTOR_BYTES, written * _SECTOR_BYTES)
    return found


class _Told:
    """Two looks, as a cell's summary keeps them."""

    def __init__(self, before: Look, after: Look, operations: int, unit: str) -> None:
        self._before = before
        self._after = after
        self._span_s = max(after.at_s - before.at_s, 1e-3)
        self._operations = operations
        self._unit = unit
        self._earlier = {reading.device: reading for reading in before.readings}
        self._later = {reading.device: reading for reading in after.readings}
        self._warnings: list[str] = []

    def drive(self, disk: Disk, life: Life | None) -> DriveHealth:
        """One drive."""
        before, after = self._earlier[disk.called], self._later[disk.called]
        earlier, later = before.gauges, after.gauges
        kernel = None if disk.way else self._moved(disk.name)
        amplification = write_amplification(earlier, later)
        found = DriveHealth(
            device=disk.called,
            model=after.identity.model,
            sources=list(after.sources),
            used_pct_before=earlier.used_pct,
            used_pct=later.used_pct,
            spare_pct=later.spare_pct,
            spare_threshold_pct=later.spare_threshold_pct,
            host_written_bytes=_more(earlier.host_written_bytes, later.host_written_bytes),
            host_read_bytes=_more(earlier.host_read_bytes, later.host_read_bytes),
            flash_written_bytes=_more(earlier.nand_written_bytes, later.nand_written_bytes),
            write_amplification=amplification,
            kernel_written_bytes=None if kernel is None else kernel.written,
            kernel_read_bytes=None if kernel is None else kernel.read,
            media_errors=_more(earlier.media_errors, later.media_errors),
            temperature_c_before=earlier.temperature_c,
            temperature_c=later.temperature_c,
            temperature_warning_c=later.temperature_warning_c,
            throttle_events=_more(earlier.throttle_events, later.throttle_events),
            hot_minutes=_more(earlier.hot_minutes, later.hot_minutes),
            power_on_hours=later.power_on_hours,
            life=None if life is None else life_span(life),
            workload_life=self._workload_life(after, kernel, amplification),
            unseen=list(after.unseen),
        )
        self._warn(found, later.host_step_bytes or 0.0)
        return found

    def _moved(self, name: str) -> Moved | None:
        before, after = self._before.kernel.get(name), self._after.kernel.get(name)
        if before is None or after is None or after.written < before.written or after.read < before.read:
            return None
        return Moved(after.read - before.read, after.written - before.written)

    def _workload_life(self, after: Reading, kernel: Moved | None, amplification: float | None) -> LifeSpan | None:
        """If the drive was always written as in this cell. The kernel's count has no steps."""
        written = None if kernel is None else float(kernel.written)
        if written is None:
            earlier = self._earlier[after.device].gauges
            written = _more(earlier.host_written_bytes, after.gauges.host_written_bytes)
        if written is None:
            return None
        host = written / self._span_s
        rate = Rate(host, None if amplification is None else host * amplification, over="in this cell")
        life = life_at(after.gauges, rate, after.at_s)
        return None if life is None else life_span(life)

    def _warn(self, drive: DriveHealth, step_bytes: float) -> None:
        counted, kernel = drive.host_written_bytes, drive.kernel_written_bytes
        if counted is not None and kernel and abs(counted - kernel) > max(APART_MAX * kernel, 2 * step_bytes):
            self._warnings.append(
                f"{drive.device} counts {bytes_text(counted)} written and the kernel {bytes_text(kernel)}: the drive's "
                "counters are late, or count something else"
            )
        if drive.throttle_events:
            self._warnings.append(f"{drive.device} was hot and slowed itself down while it was measured")
        elif drive.hot_minutes:
            self._warnings.append(
                f"{drive.device} was at its warning temperature or above for {drive.hot_minutes:,.0f} min while it was "
                "measured, and may have slowed itself down"
            )
        if drive.media_errors:
            self._warnings.append(f"{drive.device} had {drive.media_errors:,.0f} media errors while it was measured")

    def cell(self, drives: list[DriveHealth], notes: list[str]) -> CellHealth:
        """All of them."""
        moved = [one for name in self._after.kernel if (one := self._moved(name)) is not None]
        written, read = sum(one.written for one in moved), sum(one.read for one in moved)
        known = bool(moved) and self._operations > 0
        below = self._before.below, self._after.below
        controllers, arrays = controllers_between(*below), arrays_between(*below)
        found = CellHealth(
            drives=drives,
            controllers=controllers,
            arrays=arrays,
            span_s=self._span_s,
            operations=self._operations,
            written_bytes_per_operation=written / self._operations if known else None,
            read_bytes_per_operation=read / self._operations if known else None,
            warnings=[*self._warnings, *warnings_of(controllers, arrays)],
        )
        found.text = [*_sentences(found, self._unit), *notes]
        return found


def _more(before: float | None, after: float | None) -> float | None:
    """How much a counter grew; None where it fell back, or is not told."""
    return None if before is None or after is None or after < before else after - before


def life_span(life: Life) -> LifeSpan:
    """A life as it is kept."""
    ends = None if life.ends_at_s is None or not life.years else day_text(life.ends_at_s).removeprefix("on ")
    return LifeSpan(years=life.years, low=life.low, high=life.high, ends_on=ends, basis=life_text(life))


def _sentences(health: CellHealth, unit: str) -> list[str]:
    """What happened to the drives, for people."""
    told = []
    if health.written_bytes_per_operation is not None and health.read_bytes_per_operation is not None:
        told.append(
            f"each {unit} wrote {bytes_text(health.written_bytes_per_operation)} to "
            f"{', '.join(drive.device for drive in health.drives)} and read "
            f"{bytes_text(health.read_bytes_per_operation)} (by /proc/diskstats, from the first phase to the last, "
            "with all that others did there)"
        )
    for drive in health.drives:
        parts = []
        if drive.used_pct is not None:
            parts.append(used_text(drive.used_pct))
        if drive.write_amplification is not None:
            parts.append(f"write amplification {drive.write_amplification:.2f} in this cell")
        if drive.workload_life is not None:
            parts.append(f"always written like this it lasts {drive.workload_life.basis}")
        if parts:
            told.append(f"{drive.device}: {'; '.join(parts)}")
        elif drive.unseen:
            told.append(f"{drive.device}: its wear cannot be seen: {'; '.join(drive.unseen)}")
    return told
