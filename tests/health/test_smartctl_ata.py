"""SATA drives: which attribute means what. Figures are worked out by hand from the published raw values."""

from __future__ import annotations

from typing import Any

import pytest
from recordings import recording

from flatwater.health.drive import Gauges
from flatwater.health.life import lifetime_write_amplification
from flatwater.health.smartctl_ata import read_ata
from flatwater.health.untrusted import Untrusted

MIB32, GIB = 32 * 2**20, 2**30


def gauges_of(name: str) -> Gauges:
    return read_ata(Untrusted(recording(name).output))


@pytest.mark.parametrize(
    ("name", "used_pct", "host", "flash"),
    [
        # Media_Wearout_Indicator 15; Host_Writes_32MiB; NAND_Writes_32MiB.
        ("intel-ssdsc2bb016t4", 85, 62594010 * MIB32, 138721860 * MIB32),
        # Indicator 22, and no account of its flash.
        ("intel-ssdsc2bb240g4", 78, 15376617 * MIB32, None),
        ("intel-ssdsc2kb240g7", 45, 4149381 * MIB32, 25496755 * MIB32),
        # Total_LBAs_Written has the same number as Host_Writes_32MiB here: it does not count sectors.
        ("ssdsckjb240g7r", 0, 129493 * MIB32, None),
        # SSD_Life_Left: 98 both ways; and 100 with a raw value of 74, of which the smaller counts.
        ("kingston-sa400m8120g", 2, 398 * GIB, 979 * GIB),
        ("kingston-skc400s371t", 26, 391741 * GIB, 840007 * GIB),
        # Remaining_Lifetime_Perc 100 with a raw value of 96; its Wear_Leveling_Count counts erases.
        ("ts32gmts400", 4, 30245 * MIB32, 136733 * MIB32),
        # Samsung's Wear_Leveling_Count; sectors of 512 B.
        ("samsung-mz7l3240hchq-00a07", 2, 652566252 * 512, 993815616 * 512),
        ("samsung-mz7lh1t9hmlt-00005", 1, 63180483059 * 512, 64213448960 * 512),
        # Not in smartctl's database, but Samsung's.
        ("samsung-mz7l3480hchq-00a07", 2, 1304884573 * 512, None),
        ("samsung-mz7wd240hafv-00003", 9, 216456537880 * 512, None),
        # Percent_Lifetime_Remain 99.
        ("micron-5300-mtfddak960tds", 1, 153586889664 * 512, None),
    ],
)
def test_wear_and_bytes(name: str, used_pct: float, host: float, flash: float | None) -> None:
    gauges = gauges_of(name)
    assert (gauges.used_pct, gauges.host_written_bytes, gauges.nand_written_bytes) == (used_pct, host, flash)


@pytest.mark.parametrize(
    ("name", "amplification"),
    [
        # Micron TN-FD-23: (247 + 248) / 247.
        ("micron-5300-mtfddak1t9tds", (4062707571 + 8824675195) / 4062707571),
        ("micron-5300-mtfddak960tds", (4799589736 + 3340144569) / 4799589736),
        ("intel-ssdsc2bb016t4", 138721860 / 62594010),
        ("intel-ssdsc2bb240g4", None),
    ],
)
def test_write_amplification_over_the_drives_life(name: str, amplification: float | None) -> None:
    found = lifetime_write_amplification(gauges_of(name))
    assert found == (None if amplification is None else pytest.approx(amplification))


def test_the_device_statistics_log_comes_first() -> None:
    recorded = recording("samsung-ssd-860-evo-500gb")
    (written,) = [
        line["value"]
        for page in recorded.output["ata_device_statistics"]["pages"]
        for line in page["table"]
        if line["name"] == "Logical Sectors Written"
    ]
    assert read_ata(Untrusted(recorded.output)).host_written_bytes == written * 512


def _drive(table: list[dict[str, Any]], **more: Any) -> Gauges:
    return read_ata(Untrusted({"ata_smart_attributes": {"table": table}, **more}))


def _attribute(number: int, name: str, value: int, raw: int, thresh: int = 0) -> dict[str, Any]:
    return {"id": number, "name": name, "value": value, "thresh": thresh, "raw": {"value": raw}}


def test_names_of_an_unknown_flash_drive_are_not_believed() -> None:
    table = [_attribute(241, "Total_LBAs_Written", 100, 5000), _attribute(233, "Media_Wearout_Indicator", 40, 0)]
    unknown = _drive(table, rotation_rate=0, in_smartctl_database=False)
    assert (unknown.host_written_bytes, unknown.used_pct) == (None, None)
    known = _drive(table, rotation_rate=0, in_smartctl_database=True)
    assert (known.host_written_bytes, known.used_pct) == (5000 * 512, 60)


def test_sectors_have_the_drives_own_size() -> None:
    table = [_attribute(241, "Total_LBAs_Written", 100, 1000)]
    assert _drive(table, in_smartctl_database=True, logical_block_size=4096).host_written_bytes == 4_096_000


def test_statistics_that_are_not_valid_do_not_count() -> None:
    line = {"name": "Percentage Used Endurance Indicator", "value": 7, "flags": {"valid": False}}
    told = {"ata_device_statistics": {"pages": [{"table": [line]}]}}
    assert read_ata(Untrusted(told)).used_pct is None
    line["flags"] = {"valid": True}
    assert read_ata(Untrusted(told)).used_pct == 7


def test_the_newer_fields_of_smartctl() -> None:
    gauges = read_ata(
        Untrusted(
            {
                "endurance_used": {"current_percent": 12},
                "spare_available": {"current_percent": 90, "threshold_percent": 5},
            }
        )
    )
    assert (gauges.used_pct, gauges.spare_pct, gauges.spare_threshold_pct) == (12, 90, 5)


def test_an_attribute_at_its_threshold_is_critical() -> None:
    gauges = gauges_of("hitachi-hds721050dle630")
    assert gauges.passed is False
    assert gauges.critical == ("Reallocated_Sector_Ct is at its threshold",)
    at = [_attribute(5, "Reallocated_Sector_Ct", 36, 900, thresh=36)]
    above = [_attribute(5, "Reallocated_Sector_Ct", 37, 900, thresh=36)]
    assert _drive(at).critical and not _drive(above).critical


def test_minima_and_maxima_in_the_raw_temperature() -> None:
    assert _drive([_attribute(194, "Temperature_Celsius", 64, (45 << 32) | (20 << 16) | 36)]).temperature_c == 36
