"""What nvme-cli tells of an NVMe drive: the log page 02h as JSON, where numbers may be strings and have fractions.

Field names: nvme-cli, nvme-print-json.c. The critical warning is a number, or (from 2.10 on) an object with `value`.
"""

from __future__ import annotations

from flatwater.health.disks import Disk
from flatwater.health.drive import Gauges
from flatwater.health.machine import Machine
from flatwater.health.nvme_log import DATA_UNIT_BYTES, critical_words
from flatwater.health.untrusted import UnreadableError, Untrusted, parse_json

NAME = "nvme-cli"
#: The log's temperature is in kelvin.
_ZERO_CELSIUS_K = 273


def read_nvme_cli(machine: Machine, disk: Disk) -> tuple[Gauges | None, str]:
    """The gauges, and why there are none."""
    program = machine.program("nvme")
    if program is None:
        return None, "nvme-cli is not installed"
    said = machine.ask(program, "smart-log", disk.path, "--output-format=json")
    if said.trouble:
        return None, said.trouble
    if said.code != 0:
        return None, f"nvme smart-log ended with {said.code}"
    try:
        gauges = read_smart_log(parse_json(said.output))
    except UnreadableError as error:
        return None, f"nvme smart-log: {error}"
    return (gauges, "") if gauges is not None else (None, "nvme smart-log told nothing")


def read_smart_log(told: Untrusted) -> Gauges | None:
    """The gauges of `nvme smart-log --output-format=json`; None where it has none of them."""
    written, read = told.at("data_units_written").number, told.at("data_units_read").number
    kelvin = told.at("temperature").number
    warning = told.at("critical_warning", "value").whole
    bits = warning if warning is not None else told.at("critical_warning").whole
    throttled = [
        count
        for name in ("thm_temp1_trans_count", "thm_temp2_trans_count")
        if (count := told.at(name).number) is not None
    ]
    gauges = Gauges(
        used_pct=_either(told, "percent_used", "percentage_used"),
        spare_pct=_either(told, "avail_spare", "available_spare"),
        spare_threshold_pct=_either(told, "spare_thresh", "available_spare_threshold"),
        host_written_bytes=None if written is None else written * DATA_UNIT_BYTES,
        host_read_bytes=None if read is None else read * DATA_UNIT_BYTES,
        host_step_bytes=None if written is None else DATA_UNIT_BYTES,
        media_errors=told.at("media_errors").number,
        temperature_c=kelvin - _ZERO_CELSIUS_K if kelvin else None,
        throttle_events=sum(throttled) if throttled else None,
        hot_minutes=told.at("warning_temp_time").number,
        power_on_hours=told.at("power_on_hours").number,
        power_cycles=told.at("power_cycles").number,
        unsafe_shutdowns=told.at("unsafe_shutdowns").number,
        passed=None if bits is None else bits == 0,
        critical=critical_words(bits),
    )
    return gauges if gauges.used_pct is not None or gauges.host_written_bytes is not None else None


def _either(told: Untrusted, name: str, other: str) -> float | None:
    """Versions differ in how they call a field."""
    value = told.at(name).number
    return value if value is not None else told.at(other).number
