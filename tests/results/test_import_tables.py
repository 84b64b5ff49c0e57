"""Tables of samplers that are healthy, and not the plain ones: `iostat -z`, `mpstat -A`, values that are sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import FORMATS, Options, read_folder
from flatwater.results.importers.samplers import iostat, mpstat, mysqladmin

HEADING = "Linux 5.15.0 (db1) \t{day} \t_x86_64_\t(4 CPU)\n\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n         10.0    0.0    5.0    2.0    0.0   83.0\n\n"
DEVICE = "Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util\n"
ROW = "{0}           500.00   8000.00    0.50  100.00   1600.00    0.90    1.20  55.50\n"


def report(second: int, *devices: str, time: str = "2024-03-05T23:59:{0:02}+0000") -> str:
    return time.format(second) + "\n" + CPU + DEVICE + "".join(ROW.format(name) for name in devices) + "\n"


def written(place: Path, text: str) -> Path:
    (place / "r.txt").write_text(text)
    return place / "r.txt"


class TestIostat:
    def test_a_report_without_the_device_is_a_reading_of_nothing(self, tmp_path: Path) -> None:
        reports = [report(second, *(["sda"] if second in (4, 5) else ["sda", "nvme0n1"])) for second in range(10)]
        found = iostat.read(written(tmp_path, HEADING.format(day="03/05/2024") + "".join(reports)))
        rates = [one.metrics["storage.read_ops_per_s"] for one in found.devices["nvme0n1"]]
        assert rates == [500.0] * 3 + [0.0] * 2 + [500.0] * 4
        idle = found.devices["nvme0n1"][3].metrics
        assert idle["storage.utilisation_pct"] == 0 and not [name for name in idle if "await" in name]
        assert "2 reports have no nvme0n1, which did nothing then (-z)" in found.notes

    def test_a_report_that_was_cut_off_or_is_damaged_is_no_reading(self, tmp_path: Path) -> None:
        reports = [report(second, "sda", "nvme0n1") for second in range(10)]
        reports[5] = report(5, "sda", "nvme0n1").replace("nvme0n1           500.00", "nvme0n1           5OO.00")
        reports[9] = report(9, "sda").rstrip() + "\n"
        found = iostat.read(written(tmp_path, HEADING.format(day="03/05/2024") + "".join(reports)))
        assert len(found.devices["sda"]) == 9
        assert len(found.devices["nvme0n1"]) == 7
        assert not [one for one in found.notes if "-z" in one]

    def test_devices_of_another_start_are_not_idle(self, tmp_path: Path) -> None:
        head = HEADING.format(day="03/05/2024")
        first = head + "".join(report(second, "sda") for second in range(10))
        second = head + "".join(report(second, "sdb") for second in range(20, 30))
        found = iostat.read(written(tmp_path, first + second))
        assert (len(found.devices["sda"]), len(found.devices["sdb"])) == (9, 9)

    def test_the_time_of_the_day_alone(self, tmp_path: Path) -> None:
        reports = [report(second, "sda", time="Time: 23:59:{0:02}") for second in range(10)]
        found = iostat.read(written(tmp_path, HEADING.format(day="2024-03-05") + "".join(reports)))
        assert found.clock == "local" and not [one for one in found.notes if "cannot be read" in one]
        assert found.devices["sda"][0].at_s == 1_709_683_141

    @pytest.mark.parametrize("time", ["2024-03-05T23:59:{0:02}+0000", "03/05/2024 23:59:{0:02}"])
    def test_the_order_of_dates_that_tell_no_time_does_not_matter(self, tmp_path: Path, time: str) -> None:
        text = HEADING.format(day="03/05/2024") + "".join(report(second, "sda", time=time) for second in range(10))
        assert (iostat.read(written(tmp_path, text)).day_first is not None) == ("/" in time)

    def test_without_x_there_are_requests_of_all_kinds(self, tmp_path: Path) -> None:
        columns = "Device             tps    MB_read/s    MB_wrtn/s    MB_read    MB_wrtn\n"
        row = "sda              600.00         8.00         1.50        123        456\n"
        text = "".join(report(second).replace(DEVICE, columns + row) for second in range(10))
        written(tmp_path, HEADING.format(day="2024-03-05") + text)
        (cell,) = read_folder([tmp_path], FORMATS, Options()).cells
        assert (cell.unit, {one.metrics["workload.throughput"] for one in cell.intervals}) == ("IOPS", {600.0})
        assert any(one.metrics.get("storage.ops_per_s") == 600.0 for one in [*cell.others, *cell.intervals])


class TestMpstat:
    COLUMNS = "   %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    USED = "   {0}    0.00    5.00    2.00    0.00    1.00    0.00    0.00    0.00   82.00\n"

    def test_other_tables_are_none_of_the_processors(self, tmp_path: Path) -> None:
        text = HEADING.format(day="2024-03-05")
        for second in range(10, 20):
            begin, end = f"23:59:{second}", f"23:59:{second + 1}"
            text += f"{begin}  CPU{self.COLUMNS}{end}  all{self.USED.format('10.00')}\n"
            text += f"{begin} NODE{self.COLUMNS}{end}  all{self.USED.format('99.00')}\n"
            text += f"{begin}  CPU    intr/s\n{end}  all   1234.00\n{end}    0    600.00\n\n"
            text += f"{begin}  CPU       16/s       NMI/s\n{end}    0       0.00        0.00\n\n"
        found = mpstat.read(written(tmp_path, text))
        assert [one.metrics["machine.cpu_user_pct"] for one in found.samples] == [10.0] * 10
        assert found.notes == []

    @pytest.mark.parametrize("word", ["Average:", "Durchschn.:", "Moyenne :", "Średnia:"])
    def test_the_average_in_any_language(self, tmp_path: Path, word: str) -> None:
        text = HEADING.format(day="2024-03-05") + "23:59:10  CPU" + self.COLUMNS
        text += "".join(f"23:59:{second}  all{self.USED.format('10.00')}" for second in range(11, 20))
        text += f"{word}     all{self.USED.format('10.00')}"
        found = mpstat.read(written(tmp_path, text))
        assert len(found.samples) == 9 and found.notes == []


def test_values_that_are_sentences(tmp_path: Path) -> None:
    table = (
        "+-----+-----+\n| Variable_name | Value |\n+-----+-----+\n| Com_commit | {0} |\n"
        "| Innodb_buffer_pool_load_status | Buffer pool(s) load completed at 261129 21:33:02 |\n| Uptime | {1} |\n"
    )
    text = "".join(table.format(100 * second, 50 + second) for second in range(10))
    found = mysqladmin.read(written(tmp_path, text))
    assert not [one for one in found.notes if "cannot be read" in one]
    broken = text.replace("| Com_commit | 500 |", "| Com_com | Uptime | 500 |")
    found = mysqladmin.read(written(tmp_path, broken))
    assert [one for one in found.notes if "1 line that cannot be read" in one]


def test_the_json_of_sysbench_has_a_hint(tmp_path: Path) -> None:
    one = '{\n    "time":    1,\n    "threads": 64,\n    "tps": 1000.00,\n    "qps": {\n "total": 20000.00\n }\n }'
    with pytest.raises(UserError) as refused:
        read_folder([written(tmp_path, f"[\n  {one}\n]\n")], FORMATS, Options())
    assert "sysbench.report_json" in (refused.value.hint or "")
