"""The zone of times that do not tell theirs is one that there is, and the one in which the files lie together."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_folder
from flatwater.results.importers.clocks import ZONES_S, find_zone
from flatwater.results.importers.samplers import sysstat_json
from flatwater.results.importers.samplers.stamps import zone_offset_s

sys.path.insert(0, str(Path(__file__).parent))
from sampled import EPOCH, at, iostat, sysbench
from sampled import sysstat_json as of_iostat

HOUR_S = 3600.0
RUN = (100 * HOUR_S, 100 * HOUR_S + 60)


def found(begin_h: float, length_h: float = 1.0) -> tuple[float, str]:
    begin_s = RUN[0] + begin_h * HOUR_S
    return find_zone([RUN], [(begin_s, begin_s + length_h * HOUR_S)], None)


@pytest.mark.parametrize(
    ("begin_h", "zone_h"), [(0.0, 0.0), (-0.5, 0.0), (2.0, 2.0), (5.5, 5.5), (5.75, 5.75), (-9.5, -9.5), (4.6, 5.0)]
)
def test_the_zone_is_one_that_there_is(begin_h: float, zone_h: float) -> None:
    zone_s, text = found(begin_h)
    assert zone_s == zone_h * HOUR_S
    assert zone_s in ZONES_S
    assert "times without a zone" in text


def test_several_that_would_do_are_told() -> None:
    zone_s, text = found(-0.5, length_h=3.0)
    assert zone_s == 0.0
    assert "(they do in UTC+01:00, UTC+02:00, too: --timezone tells it)" in text
    assert "too" not in found(2.0)[1]


def test_none_where_they_never_lie_together() -> None:
    assert found(300.0) == (0.0, "")
    assert found(14.75) == (0.0, "")


def test_a_recording_that_began_half_an_hour_earlier(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(sysbench(30, prefix=lambda second: f"{at(1800 + second)}Z "))
    (tmp_path / "iostat.txt").write_text(iostat(2400, stamped=True))
    (cell,) = read_folder([tmp_path], FORMATS, Options()).cells
    assert len([one for one in cell.others if "storage.read_ops_per_s" in one.metrics]) == 30
    assert any("read as UTC, the zone" in one for one in cell.warnings)


@pytest.mark.parametrize("text", ["+14:15", "-12:15", "+01:07", "+15:00", "-0501", "+99"])
def test_a_zone_that_there_is_not_is_refused(text: str) -> None:
    assert zone_offset_s(text) is None


@pytest.mark.parametrize(("text", "hours"), [("+14:00", 14), ("-12:00", -12), ("+5:45", 5.75), ("-0530", -5.5)])
def test_a_zone_that_there_is(text: str, hours: float) -> None:
    assert zone_offset_s(text) == hours * HOUR_S


@pytest.mark.parametrize(("utc", "clock"), [(1, "epoch"), (0, "local")])
def test_the_times_of_sadf_are_its_own(tmp_path: Path, utc: int, clock: str) -> None:
    load = {"cpu": "all", "user": 10.0, "nice": 0.0, "system": 4.0, "iowait": 6.0, "steal": 0.0, "idle": 80.0}
    times = [{"date": at(600 * i, "%Y-%m-%d"), "time": at(600 * i, "%H:%M:%S"), "utc": utc} for i in range(9)]
    reports = [{"timestamp": {**one, "interval": 600}, "cpu-load": [load]} for one in times]
    host = {"nodename": "h", "statistics": reports}
    (tmp_path / "sar.json").write_text(json.dumps({"sysstat": {"hosts": [host]}}))
    recording = sysstat_json.read(tmp_path / "sar.json")
    assert (recording.clock, recording.times) == (clock, [EPOCH + 600 * i for i in range(9)])


def test_the_first_report_of_sadf_is_no_mean_since_boot(tmp_path: Path) -> None:
    load = {"cpu": "all", "user": 10.0, "nice": 0.0, "system": 4.0, "iowait": 6.0, "steal": 0.0, "idle": 80.0}
    time = {"date": at(600, "%Y-%m-%d"), "time": at(600, "%H:%M:%S"), "utc": 1, "interval": 600}
    report = {"timestamp": time, "cpu-load": [load], "disk": [{"disk-device": "sda", "tps": 1.0}]}
    (tmp_path / "sar.json").write_text(json.dumps({"sysstat": {"hosts": [{"nodename": "h", "statistics": [report]}]}}))
    assert sysstat_json.read(tmp_path / "sar.json").times == [EPOCH + 600]


def test_the_first_report_of_iostat_without_devices_is_the_mean_since_boot(tmp_path: Path) -> None:
    whole = json.loads(of_iostat(20))
    reports = whole["sysstat"]["hosts"][0]["statistics"]
    for report in reports:
        del report["disk"]
    reports[0]["avg-cpu"] = {**reports[0]["avg-cpu"], "user": 99.0}
    (tmp_path / "iostat.json").write_text(json.dumps(whole))
    samples = sysstat_json.read(tmp_path / "iostat.json").samples
    assert [one.metrics["machine.cpu_user_pct"] for one in samples] == [10.0] * 20
