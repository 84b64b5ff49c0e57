"""Dates and times in the forms of other countries and of `ts`, and what the files beside them tell of them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Found, Options, read_folder

sys.path.insert(0, str(Path(__file__).parent))
from sampled import EPOCH, at, dstat_csv, iostat, sysbench, vmstat

N = 30
MOVED = (("2026-03-13", "2026-03-05"), ("2026-03-14", "2026-03-06"))


def read(place: Path, **files: str) -> Found:
    for name, text in files.items():
        (place / f"{name}.txt").write_text(text)
    return read_folder([place], FORMATS, Options())


def counted(found: Found, metric: str) -> int:
    (cell,) = found.cells
    return sum(metric in one.metrics for one in cell.others)


def day_first(date: str = "05/03/26", after: str = "06/03/26") -> str:
    """iostat's text of Great Britain, past midnight, on days that can be months, too."""
    text = iostat(N, stamped=True, form="%d/%m/%y %H:%M:%S").replace("03/13/2026", date)
    return text.replace("13/03/26", date).replace("14/03/26", after)


class TestTheOrderOfDayAndMonth:
    def test_is_that_of_the_files_beside_it(self, tmp_path: Path) -> None:
        text = vmstat(N, stamped=True)
        for old, new in MOVED:
            text = text.replace(old, new)
        found = read(tmp_path, run=sysbench(N), io=day_first(), vm=text)
        assert counted(found, "storage.read_ops_per_s") == N
        assert any("read as day/month, which is nearer" in report.taken for report in found.reports)

    def test_is_the_shorter_one_without_others(self, tmp_path: Path) -> None:
        """5 May to 6 May is a second at midnight; from May to June is a month."""
        found = read(tmp_path, run=sysbench(N), io=day_first())
        assert counted(found, "storage.read_ops_per_s") == N

    def test_is_named_where_no_reading_fits(self, tmp_path: Path) -> None:
        found = read(
            tmp_path, run=sysbench(N, prefix=lambda second: f"{at(second)}Z "), io=day_first("05/07/26", "06/07/26")
        )
        (why,) = [report.left_out for report in found.reports if report.left_out]
        assert "can be month/day or day/month" in why and "both are far from the others" in why

    def test_is_one_in_a_file(self, tmp_path: Path) -> None:
        """The 13th shows that the 12th is no December."""
        found = read(tmp_path, run=sysbench(N), io=day_first("12/03/26", "13/03/26"))
        assert counted(found, "storage.read_ops_per_s") == N
        assert not any("month/day" in report.taken for report in found.reports)


#: What `ts` and other programs write before each line.
FORMS = {
    "ts": lambda second: at(second, "%b %d %H:%M:%S "),
    "ts [%F %T]": lambda second: at(second, "[%Y-%m-%d %H:%M:%S] "),
    "ts -s": lambda second: f"00:00:{second:02} ",
    "ts %.s": lambda second: f"{EPOCH + second}.123456 ",
    "awk": lambda second: at(second, "%Y-%m-%dT%H:%M:%S+0000:  "),
}


@pytest.mark.parametrize("form", FORMS)
def test_times_before_lines(tmp_path: Path, form: str) -> None:
    """The totals are indented: the blanks of sysbench are no blanks behind the time."""
    text = sysbench(N) + "    total number of events:              1500\n         max:                  90.00\n"
    lines = [f"{FORMS[form](min(number, N))}{line}" for number, line in enumerate(text.splitlines())]
    found = read(tmp_path, run="\n".join(lines))
    (cell,) = found.cells
    assert len(cell.intervals) == N and cell.totals["events"] == 1500 and cell.totals["latency_max_ms"] == 90
    assert not any("totals at the end are missing" in warning for warning in cell.warnings)
    assert (cell.began is None) == (form == "ts -s")


@pytest.mark.parametrize("beside", ["vmstat", "nothing"])
def test_a_year_is_that_of_the_files_beside_it(tmp_path: Path, beside: str) -> None:
    run = sysbench(N, prefix=lambda second: at(second, "%b %d %H:%M:%S "))
    dated = dstat_csv(N, form="%d-%m %H:%M:%S").replace(" 2026", "")
    found = read(tmp_path, run=run, dstat=dated, **({"vm": vmstat(N, stamped=True)} if beside == "vmstat" else {}))
    assert counted(found, "machine.cpu_user_pct") == N
    (cell,) = found.cells
    if beside == "vmstat":
        assert cell.began is not None and datetime.fromtimestamp(cell.began[0], UTC).year == 2026
        assert counted(found, "machine.interrupts_per_s") == N
        assert any("no year" in warning for warning in cell.warnings)


def test_mpstat_whose_first_row_is_after_midnight(tmp_path: Path) -> None:
    """The heading has the date of the start, and the time of it is in the row of the names."""
    names = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"
    lines = [f"Linux 6.8.0 (host) \t{at(0, '%m/%d/%Y')} \t_x86_64_\t(8 CPU)", "", f"{at(0, '%H:%M:%S')}  {names}"]
    row = "all   10.00    0.00    3.00    6.00    0.50    0.50    0.00    0.00    0.00   80.00"
    lines += [f"{at(40 * number, '%H:%M:%S')}  {row}" for number in range(1, 4)]
    run = sysbench(120, prefix=lambda second: f"{at(second)}Z ")
    assert counted(read(tmp_path, run=run, mp="\n".join(lines)), "machine.cpu_user_pct") == 3


def test_devices_whose_clock_was_set_back_are_told(tmp_path: Path) -> None:
    """`iostat -d` has no processors whose notes would tell it."""
    lines = iostat(N, stamped=True).splitlines()
    devices = [line for line in lines if not line.startswith(("avg-cpu", "     "))]
    text = "\n".join(devices)
    assert at(20, "%m/%d/%Y %I:%M:%S %p") in text
    text = text.replace(at(20, "%m/%d/%Y %I:%M:%S %p"), at(2, "%m/%d/%Y %I:%M:%S %p"))
    found = read(tmp_path, run=sysbench(N), io=text)
    (told,) = [report.taken for report in found.reports if report.tool == "iostat"]
    assert told.count("left out: its time lies 17 s away from those around it") == 1


@pytest.mark.parametrize("year", ["9999", "0001"])
def test_the_first_and_the_last_year_that_there_are(tmp_path: Path, year: str) -> None:
    """A file without a year is moved to the one beside it, and no further than years go."""
    dated = dstat_csv(N, form="%d-%m %H:%M:%S").replace(" 2026", "")
    found = read(tmp_path, run=sysbench(N), vm=vmstat(N, stamped=True).replace("2026-", f"{year}-"), dstat=dated)
    assert len(found.cells) == 1 and counted(found, "machine.interrupts_per_s") == N
