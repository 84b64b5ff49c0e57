"""Every recorded output of a real drive, as its source published it."""

from __future__ import annotations

import json

import pytest
from recordings import NOW_S, Recording, recordings

from flatwater.health.disks import Disk
from flatwater.health.drive import Reading
from flatwater.health.life import life_at, lifetime_write_amplification, rate_of_life
from flatwater.health.nvme_cli import read_smart_log
from flatwater.health.smartctl import read_output
from flatwater.health.untrusted import parse_json
from flatwater.health.words import life_text

ALL = recordings()
#: An array's volume, which has no gauges, and a fake drive of which a test took the figures away.
SILENT = {"intel-raid-1-volume"}


def reading_of(recorded: Recording) -> Reading:
    told = parse_json(recorded.text.encode())
    if recorded.program == "nvme":
        gauges = read_smart_log(told)
        assert gauges is not None
        return Reading("/dev/nvme0n1", NOW_S, gauges=gauges)
    found, why = read_output(told, Disk("sda"), NOW_S)
    assert found is not None, why
    return found


def test_there_are_more_than_forty_real_drives() -> None:
    assert len(ALL) >= 60
    assert len({one.source for one in ALL}) >= 55
    assert all(one.source.startswith("https://") for one in ALL)
    protocols = {one.output.get("device", {}).get("protocol") for one in ALL}
    assert {"ATA", "SCSI", "NVMe"} <= protocols


@pytest.mark.parametrize("recorded", ALL, ids=lambda one: one.name)
def test_a_drive_is_read_as_it_was_published(recorded: Recording) -> None:
    reading = reading_of(recorded)
    gauges = reading.gauges
    assert {name: getattr(gauges, name) for name in recorded.expected} == recorded.expected
    if recorded.program == "smartctl":
        # One recording is of attributes alone.
        assert reading.identity.model or recorded.name == "smart-sat"
        assert reading.identity.protocol == recorded.output["device"]["protocol"]
    for percent in (gauges.used_pct, gauges.spare_pct):
        assert percent is None or 0 <= percent <= 255
    amplified = lifetime_write_amplification(gauges)
    assert amplified is None or 1 <= amplified < 12
    rate = rate_of_life(gauges)
    life = life_at(gauges, rate, NOW_S) if rate is not None else None
    if life is not None:
        assert life_text(life)
        assert life.low is None or life.years is None or life.low <= life.years
        assert life.high is None or life.years is None or life.high >= life.years


@pytest.mark.parametrize("recorded", ALL, ids=lambda one: one.name)
def test_no_recording_tells_whose_drive_it_was(recorded: Recording) -> None:
    text = json.dumps(recorded.output).lower()
    assert not [word for word in ("serial_number", "wwn", "logical_unit_id", "hostname") if word in text]


def test_only_a_volume_tells_nothing() -> None:
    silent = {one.name for one in ALL if not reading_of(one).sources or reading_of(one).unseen}
    assert silent & {one.name for one in recordings("smartctl")} == SILENT
