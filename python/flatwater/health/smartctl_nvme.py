"""What smartctl tells of an NVMe drive: the log page 02h (NVM Express Base Specification, SMART / Health Information).

Field names: recorded outputs of smartctl. Its JSON leaves the thermal transitions out (issue 583 of smartmontools):
`reading.py` asks the kernel for them.
"""

from __future__ import annotations

from flatwater.health.drive import Gauges
from flatwater.health.nvme_log import DATA_UNIT_BYTES, critical_words
from flatwater.health.untrusted import Untrusted


def read_nvme(told: Untrusted) -> Gauges:
    """The gauges of smartctl's JSON."""
    log = told.at("nvme_smart_health_information_log")
    written, read = log.at("data_units_written").number, log.at("data_units_read").number
    return Gauges(
        used_pct=log.at("percentage_used").number,
        spare_pct=log.at("available_spare").number,
        spare_threshold_pct=log.at("available_spare_threshold").number,
        host_written_bytes=None if written is None else written * DATA_UNIT_BYTES,
        host_read_bytes=None if read is None else read * DATA_UNIT_BYTES,
        host_step_bytes=None if written is None else DATA_UNIT_BYTES,
        media_errors=log.at("media_errors").number,
        temperature_c=_temperature(told, log),
        temperature_warning_c=told.at("temperature", "op_limit_max").number,
        temperature_critical_c=told.at("temperature", "critical_limit_max").number,
        hot_minutes=log.at("warning_temp_time").number,
        power_on_hours=log.at("power_on_hours").number,
        power_cycles=log.at("power_cycles").number,
        unsafe_shutdowns=log.at("unsafe_shutdowns").number,
        passed=told.at("smart_status", "passed").flag,
        critical=critical_words(log.at("critical_warning").whole),
    )


def _temperature(told: Untrusted, log: Untrusted) -> float | None:
    """In degrees Celsius here, unlike in the log itself."""
    current = told.at("temperature", "current").number
    return current if current is not None else log.at("temperature").number
