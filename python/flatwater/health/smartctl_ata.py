"""What smartctl tells of a SATA drive: the device statistics log where the drive has it, else its attributes.

The log has one meaning for all vendors (ATA Command Set 4, Device Statistics, pages 01h, 04h, 05h and 07h).
"""

from __future__ import annotations

from flatwater.health.attributes import Attributes
from flatwater.health.drive import Gauges
from flatwater.health.untrusted import Untrusted

_USED = "Percentage Used Endurance Indicator"


def read_ata(told: Untrusted) -> Gauges:
    """The gauges of smartctl's JSON."""
    table, log = Attributes.of(told), _statistics(told)
    sector = table.sector_bytes
    written, read = _sectors(log, "Logical Sectors Written", sector), _sectors(log, "Logical Sectors Read", sector)
    host = written if written is not None else table.written
    nand = table.nand
    hours = told.at("power_on_time", "hours").number
    return Gauges(
        used_pct=_first(told.at("endurance_used", "current_percent").number, log.get(_USED), table.used_pct),
        spare_pct=_first(told.at("spare_available", "current_percent").number, table.spare_pct),
        spare_threshold_pct=_first(told.at("spare_available", "threshold_percent").number, table.spare_threshold_pct),
        host_written_bytes=None if host is None else host[0],
        host_step_bytes=None if host is None else host[1],
        host_read_bytes=_bytes(read if read is not None else table.read),
        nand_written_bytes=_bytes(nand),
        nand_step_bytes=None if nand is None else nand[1],
        life_write_amplification=table.write_amplification,
        media_errors=_first(log.get("Number of Reported Uncorrectable Errors"), table.uncorrected),
        reallocated=_first(table.reallocated, log.get("Number of Reallocated Logical Sectors")),
        pending=table.pending,
        temperature_c=_first(
            told.at("temperature", "current").number, log.get("Current Temperature"), table.temperature_c
        ),
        temperature_warning_c=_first(
            log.get("Specified Maximum Operating Temperature"), told.at("temperature", "op_limit_max").number
        ),
        hot_minutes=log.get("Time in Over-Temperature"),
        power_on_hours=_first(hours, log.get("Power-on Hours")),
        power_cycles=told.at("power_cycle_count").number,
        passed=told.at("smart_status", "passed").flag,
        critical=tuple(f"{name} is at its threshold" for name in table.failing),
    )


def _statistics(told: Untrusted) -> dict[str, float]:
    """The statistics that the drive calls valid, by name."""
    found: dict[str, float] = {}
    for page in told.at("ata_device_statistics", "pages").items():
        for line in page.at("table").items():
            name, value = line.at("name").text, line.at("value").number
            if name and value is not None and line.at("flags", "valid").flag is True:
                found.setdefault(name, value)
    return found


def _sectors(log: dict[str, float], name: str, sector_bytes: float) -> tuple[float, float] | None:
    return (log[name] * sector_bytes, sector_bytes) if name in log else None


def _bytes(counted: tuple[float, float] | None) -> float | None:
    return None if counted is None else counted[0]


def _first(*values: float | None) -> float | None:
    """The first that is known."""
    return next((value for value in values if value is not None), None)
