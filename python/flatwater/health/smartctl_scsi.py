"""What smartctl tells of a SAS drive: the endurance indicator, the error counters, grown defects.

The indicator: SCSI Block Commands 4, Solid State Media log page 11h. Gigabytes processed: SCSI Primary Commands 4,
error counter log pages, parameter 5; smartctl prints 10^9 bytes with three decimals.
"""

from __future__ import annotations

from flatwater.health.drive import Gauges
from flatwater.health.untrusted import Untrusted

_GB = 1e9
#: smartctl prints three decimals of a gigabyte.
_STEP_BYTES = 1e6


def read_scsi(told: Untrusted) -> Gauges:
    """The gauges of smartctl's JSON."""
    log = told.at("scsi_error_counter_log")
    written, read = (log.at(way, "gigabytes_processed").number for way in ("write", "read"))
    lost = [count for way in ("read", "write", "verify") if (count := _lost(log, way)) is not None]
    used = told.at("endurance_used", "current_percent").number
    hours, minutes = (told.at("power_on_time", name).number for name in ("hours", "minutes"))
    temperature = told.at("temperature", "current").number
    trip = told.at("temperature", "drive_trip").number
    return Gauges(
        used_pct=used if used is not None else told.at("scsi_percentage_used_endurance_indicator").number,
        # A drive that has nothing written has written a little all the same: 0 is a counter that is not kept.
        host_written_bytes=round(written * _GB, -6) if written else None,
        host_read_bytes=round(read * _GB, -6) if read else None,
        host_step_bytes=_STEP_BYTES if written else None,
        media_errors=sum(lost) if lost else None,
        reallocated=told.at("scsi_grown_defect_list").number,
        pending=told.at("scsi_pending_defects", "count").number,
        # 0 degrees with a limit of 0: a controller answers for the drive, and knows neither.
        temperature_c=temperature if temperature or trip else None,
        temperature_critical_c=trip or None,
        power_on_hours=None if hours is None else hours + (minutes or 0) / 60,
        power_cycles=told.at("scsi_start_stop_cycle_counter", "accumulated_start_stop_cycles").number,
        passed=told.at("smart_status", "passed").flag,
        critical=_status(told),
    )


def _lost(log: Untrusted, way: str) -> float | None:
    return log.at(way, "total_uncorrected_errors").number


def _status(told: Untrusted) -> tuple[str, ...]:
    """What the drive calls it that does not pass: `FAILURE PREDICTION THRESHOLD EXCEEDED`."""
    scsi = told.at("smart_status", "scsi", "ie_string").text
    return (scsi,) if scsi and told.at("smart_status", "passed").flag is False else ()
