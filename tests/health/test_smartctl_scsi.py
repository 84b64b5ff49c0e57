"""SAS drives."""

from __future__ import annotations

from recordings import recording

from flatwater.health.drive import Gauges
from flatwater.health.smartctl_scsi import read_scsi
from flatwater.health.untrusted import Untrusted


def gauges_of(name: str) -> Gauges:
    return read_scsi(Untrusted(recording(name).output))


def test_an_old_disk_with_errors() -> None:
    gauges = gauges_of("seagate-st373453lc")
    assert gauges.reallocated == 260
    assert gauges.media_errors == 536
    assert gauges.power_on_hours == 102880 + 59 / 60


def test_the_endurance_indicator_of_a_sas_ssd() -> None:
    assert gauges_of("netapp-x358-tpm4v3t8ame").used_pct == 20


def test_a_volume_of_a_controller_is_silent() -> None:
    assert gauges_of("intel-raid-1-volume") == Gauges()


def test_gigabytes_are_decimal() -> None:
    told = Untrusted(
        {"scsi_error_counter_log": {"write": {"gigabytes_processed": "1234.567", "total_uncorrected_errors": 2}}}
    )
    gauges = read_scsi(told)
    assert gauges.host_written_bytes == 1_234_567_000_000
    assert gauges.media_errors == 2


def test_a_counter_that_is_not_kept_is_not_zero() -> None:
    gauges = read_scsi(Untrusted({"scsi_error_counter_log": {"write": {"gigabytes_processed": "0.000"}}}))
    assert gauges.host_written_bytes is None


def test_a_failure_that_the_drive_predicts() -> None:
    told = {
        "smart_status": {
            "passed": False,
            "scsi": {"asc": 93, "ascq": 16, "ie_string": "FAILURE PREDICTION THRESHOLD EXCEEDED"},
        }
    }
    gauges = read_scsi(Untrusted(told))
    assert gauges.passed is False
    assert gauges.critical == ("FAILURE PREDICTION THRESHOLD EXCEEDED",)
