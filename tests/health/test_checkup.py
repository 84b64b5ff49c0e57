"""A whole machine looked over, as lines, JSON and OpenMetrics text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from recordings import NOW_S, Lab, recording

from flatwater.health import Checkup, Warranty, look_over
from flatwater.health.as_json import checkup_json
from flatwater.health.history import DAY_S, load_history
from flatwater.health.openmetrics import openmetrics
from flatwater.health.text import checkup_lines

#: A serial number for the recordings, which have none.
SERIAL = "SECRET-SERIAL-NUMBER"


def _lab(lab: Lab, name: str, disk: str = "sda") -> Lab:
    lab.disk(disk)
    lab.fake("smartctl", json.dumps(recording(name).output | {"serial_number": SERIAL}))
    return lab


def _look(lab: Lab, now_s: float = NOW_S, **more: object) -> Checkup:
    return look_over(lab.machine, [], now_s, history=lab.root / "state/health", **more)  # type: ignore[arg-type]


def test_a_drive_that_is_well(machine_lab: Lab) -> None:
    checkup = _look(_lab(machine_lab, "micron-5300-mtfddak960tds"))
    assert checkup.level == "ok"
    assert checkup.notes == ()
    text = "\n".join(checkup_lines(checkup))
    assert text.startswith("OK: 1 of 1 drive could be read")
    assert "wear         1 % of the rated life is used; 100 % of the spare blocks are left" in text
    assert "78.6 TB by the host" in text and "write amplification 1.70" in text


def test_a_drive_that_fails(machine_lab: Lab) -> None:
    checkup = _look(_lab(machine_lab, "hitachi-hds721050dle630"))
    assert checkup.level == "critical"
    (first, *_) = checkup_lines(checkup)
    assert first.startswith(
        "CRITICAL: /dev/sda: the drive calls this critical: Reallocated_Sector_Ct is at its threshold"
    )


def test_the_history_makes_the_rate(machine_lab: Lab) -> None:
    lab = _lab(machine_lab, "intel-ssdsc2bb016t4")
    first = _look(lab, NOW_S)
    later = recording("intel-ssdsc2bb016t4").output
    for line in later["ata_smart_attributes"]["table"]:
        if line["name"] == "Host_Writes_32MiB":
            line["raw"]["value"] += 29_802  # 1.000 TB
    lab.fake("smartctl", json.dumps(later | {"serial_number": SERIAL}))
    second = _look(lab, NOW_S + 10 * DAY_S)
    (before,), (after,) = first.evidence.drives, second.evidence.drives
    assert before.before == () and len(after.before) == 1
    assert after.life is not None and after.life.rate.over == "over the last 10 days"
    assert after.rate_bytes_per_s == pytest.approx(1e12 / (10 * DAY_S), rel=1e-3)
    assert len(load_history(lab.root / "state/health").entries) == 2


def test_no_history_where_none_is_wanted(machine_lab: Lab) -> None:
    _look(_lab(machine_lab, "st3500418as"), kept=False)
    assert not (machine_lab.root / "state").exists()


def test_a_history_that_cannot_be_kept_is_a_note(machine_lab: Lab) -> None:
    machine_lab.write("state", "a file")
    checkup = _look(_lab(machine_lab, "st3500418as"))
    assert "was not kept" in checkup.notes[-1]
    assert checkup.level == "ok"


def test_a_serial_number_is_told_nowhere(machine_lab: Lab) -> None:
    checkup = _look(_lab(machine_lab, "intel-ssdsc2bb016t4"))
    kept = (machine_lab.root / "state/health/history.jsonl").read_text()
    for text in ("\n".join(checkup_lines(checkup)), checkup_json(checkup), openmetrics(checkup), kept):
        assert "SECRET" not in text
    assert checkup.evidence.drives[0].reading.identity.key in kept


def test_a_warranty_is_judged(machine_lab: Lab) -> None:
    # 2,100 TB were written to a drive of 1.6 TB.
    checkup = _look(_lab(machine_lab, "intel-ssdsc2bb016t4"), warranty=Warranty(0.3, 5))
    assert [finding.level for finding in checkup.findings if finding.name == "warranty"] == ["critical"]
    assert "by warranty" in "\n".join(checkup_lines(checkup))


@pytest.mark.parametrize("model", ["A\x1b[2J DRIVE", 'quote " and \\ slash', "line\nbreak", "\u202eevil"])
def test_a_hostile_name_acts_nowhere(machine_lab: Lab, model: str) -> None:
    output = recording("ct250p2ssd8").output | {"model_name": model, "serial_number": SERIAL}
    machine_lab.disk("sda")
    machine_lab.fake("smartctl", json.dumps(output))
    checkup = _look(machine_lab)
    text = "\n".join(checkup_lines(checkup)) + openmetrics(checkup)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text)
    assert json.loads(checkup_json(checkup))["drives"][0]["model"]


#: A line of OpenMetrics 1.0: a sample with labels, in which quotes and backslashes are escaped.
_SAMPLE = re.compile(r'[a-z_]+(\{([a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? -?[0-9.e+]+')


def test_openmetrics(machine_lab: Lab) -> None:
    text = openmetrics(_look(_lab(machine_lab, "intel-ssdsc2bb016t4")))
    lines = text.splitlines()
    assert lines[-1] == "# EOF" and text.endswith("# EOF\n")
    samples = [line for line in lines if not line.startswith("#")]
    assert all(_SAMPLE.fullmatch(line) for line in samples), samples
    names = {line.partition("{")[0].partition(" ")[0] for line in samples}
    assert "flatwater_drive_host_written_bytes_total" in names
    types = dict(re.findall(r"# TYPE (\S+) (\S+)", text))
    for name in names:
        family = name.removesuffix("_total")
        assert types[family] == ("counter" if name.endswith("_total") else "gauge")
    for family, unit in re.findall(r"# UNIT (\S+) (\S+)", text):
        assert family.endswith(f"_{unit}")
    assert len(re.findall("# TYPE", text)) == len(types)
    written = 62594010 * 32 * 2**20  # Host_Writes_32MiB
    assert f'bytes_total{{device="/dev/sda",model="INTEL SSDSC2BB016T4"}} {written}\n' in text
    assert "flatwater_drive_used_ratio{" in text and " 0.85\n" in text
    assert "flatwater_health_status 0" in text


def test_json(machine_lab: Lab) -> None:
    told = json.loads(checkup_json(_look(_lab(machine_lab, "intel-ssdsc2bb016t4"))))
    assert (told["schema_version"], told["status"], told["exit_code"]) == (1, "ok", 0)
    (drive,) = told["drives"]
    assert drive["gauges"]["used_pct"] == 85 and drive["protocol"] == "ATA"
    assert drive["life"]["low"] < drive["life"]["years"] < drive["life"]["high"]


def test_a_drive_that_cannot_be_seen_is_unknown(machine_lab: Lab) -> None:
    machine_lab.disk("sda", device__model="A DISK")
    checkup = _look(machine_lab)
    assert checkup.level == "unknown"
    assert "not seen: /dev/sda: smartctl is not installed" in "\n".join(checkup_lines(checkup))


def test_a_virtual_disk_beside_a_drive_is_not_unknown(machine_lab: Lab) -> None:
    _lab(machine_lab, "micron-5300-mtfddak960tds").disk("vda", number="254:0")
    assert _look(machine_lab).level == "ok"
    named = look_over(machine_lab.machine, ["/dev/vda"], NOW_S, kept=False)
    assert named.level == "unknown"


def test_a_machine_without_disks(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    checkup = look_over(lab.machine, [], NOW_S, kept=False)
    assert checkup.level == "unknown"
    assert "not seen: this machine shows no disk" in list(checkup_lines(checkup))


def test_the_way_through_a_controller(machine_lab: Lab) -> None:
    machine_lab.fake("smartctl", recording("wd4000fyyx").text)
    checkup = look_over(machine_lab.machine, ["/dev/bus/0"], NOW_S, way="megaraid,3", kept=False)
    (drive,) = checkup.evidence.drives
    assert drive.reading.device == "/dev/bus/0 megaraid,3"
    assert machine_lab.asked("smartctl")[0].endswith("--device megaraid,3 /dev/bus/0")


def test_members_of_an_array_are_looked_over_together(machine_lab: Lab) -> None:
    lab = _lab(machine_lab, "intel-ssdsc2bb016t4")
    lab.disk("sdb", number="8:16")
    md = lab.disk("md0", number="9:0", md__level="raid1")
    (md / "slaves").mkdir()
    for name in ("sda", "sdb"):
        (md / "slaves" / name).symlink_to(lab.root / "sys/devices" / name)
    checkup = look_over(lab.machine, ["/dev/md0"], NOW_S, kept=False)
    assert [drive.reading.device for drive in checkup.evidence.drives] == ["/dev/sda", "/dev/sdb"]
    told = [(finding.name, finding.level) for finding in checkup.findings]
    assert ("together", "warning") in told and ("checks", "warning") in told
    assert checkup.level == "warning"


def test_counters_that_no_drive_can_have_are_not_told(tmp_path: Path) -> None:
    """All ones of 128 bits are a counter that was never set: no drive wrote 10^44 bytes, or was on for 10^30 hours."""
    ones = 2**128 - 1
    log = {"data_units_written": ones, "data_units_read": ones, "power_on_hours": ones, "percentage_used": 20}
    told = {"device": {"protocol": "NVMe"}, "nvme_smart_health_information_log": log, "model_name": "A DRIVE"}
    lab = Lab(tmp_path)
    lab.disk("nvme0n1", size=10**9)
    lab.fake("smartctl", json.dumps(told))
    (drive,) = look_over(lab.machine, [], NOW_S, kept=False, history=tmp_path / "history").evidence.drives
    gauges = drive.reading.gauges
    assert (gauges.used_pct, gauges.host_written_bytes, gauges.host_read_bytes, gauges.power_on_hours) == (
        20,
        None,
        None,
        None,
    )
    assert drive.life is None
