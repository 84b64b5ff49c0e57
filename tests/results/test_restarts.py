"""What was started again during a recording: the server that counts, or the program that samples."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_folder
from flatwater.results.importers.samplers import SAMPLERS, Recording

sys.path.insert(0, str(Path(__file__).parent))
from sampled import EPOCH, FORMS, SAMPLES, at, dstat_csv, mysqladmin, vmstat


def read(folder: Path, text: str) -> Recording:
    path = folder / "x.txt"
    path.write_text(text)
    return next(one for one in SAMPLERS if one.recognises(path, text[:65536])).read(path)


def figures(recording: Recording, metric: str) -> list[float | None]:
    return [sample.metrics.get(metric) for sample in recording.samples]


class TestOfAServer:
    @staticmethod
    def tables(*rows: dict[str, int]) -> str:
        lines = []
        for row in rows:
            lines += ["| Variable_name | Value |", "| Aborted_clients | 0 |"]
            lines += [f"| {name} | {value} |" for name, value in row.items()]
        return "\n".join(lines) + "\n"

    @staticmethod
    def restarted() -> Sequence[dict[str, int]]:
        """After the restart, a counter is larger than before it."""
        first = [
            {"Com_commit": 50 * i, "Innodb_data_read": 10 * i, "Threads_running": 4, "Uptime": 20 + i} for i in range(9)
        ]
        later = [
            {"Com_commit": 50 * i, "Innodb_data_read": 900_000 + 10 * i, "Threads_running": 6, "Uptime": 3 + i}
            for i in range(9)
        ]
        return [*first, *later]

    def test_no_counter_has_a_rate_there(self, tmp_path: Path) -> None:
        recording = read(tmp_path, self.tables(*self.restarted()))
        rates = figures(recording, "database.data_read_bytes_per_s")
        assert rates == [10.0] * 8 + [None] + [10.0] * 8
        assert figures(recording, "workload.throughput")[8] is None
        assert figures(recording, "database.threads_running")[8] == 6
        assert "the server was restarted before reading 10: no rates there" in recording.notes

    @pytest.mark.parametrize(
        "names", [("com_commit", "innodb_data_read", "uptime"), ("com_commit", "innodb_data_read")]
    )
    def test_in_a_csv_too(self, tmp_path: Path, names: tuple[str, ...]) -> None:
        """Without Uptime, a counter of InnoDB tells it: FLUSH STATUS resets none of these."""
        rows = [{name.lower(): value for name, value in row.items()} for row in self.restarted()]
        if "uptime" not in names:
            rows = [{"com_commit": 50 * i, "innodb_data_read": 10 * (i % 9)} for i in range(18)]
        lines = [",".join(["timestamp", *names])]
        lines += [",".join([at(i), *(str(row[name]) for name in names)]) for i, row in enumerate(rows)]
        recording = read(tmp_path, "\n".join(lines) + "\n")
        assert figures(recording, "workload.throughput") == [50.0] * 8 + [None] + [50.0] * 8
        assert any("restarted before reading 10" in note for note in recording.notes)

    def test_the_reading_stays_where_the_server_is_the_line(self, tmp_path: Path) -> None:
        (tmp_path / "ext.txt").write_text(self.tables(*self.restarted()))
        (cell,) = read_folder([tmp_path], FORMATS, Options()).cells
        every = [*cell.intervals, *cell.others]
        assert sum("database.threads_running" in one.metrics for one in every) == 17
        assert any("restarted" in warning for warning in cell.warnings)

    def test_after_the_first_reading_it_is_no_difference(self, tmp_path: Path) -> None:
        """`-r` prints small figures after the first table, too, but there Uptime does not grow."""
        later = ({"Com_commit": 50 * i, "Threads_running": 5, "Uptime": i} for i in range(1, 20))
        recording = read(tmp_path, self.tables({"Com_commit": 9000, "Threads_running": 4, "Uptime": 5000}, *later))
        assert figures(recording, "workload.throughput") == [None] + [50.0] * 18
        assert figures(recording, "database.threads_running") == [5.0] * 19

    def test_two_runs_of_differences_in_one_file(self, tmp_path: Path) -> None:
        once = mysqladmin(10, relative=True)
        again = once
        # The counters as the first run left them, eight minutes later.
        counted = {"Com_commit": 10_500, "Questions": 15_000, "Queries": 16_000, "Innodb_pages_written": 10_700}
        for name, value in {**counted, "Uptime": 10_500}.items():
            again = again.replace(f"| {name} | 10000 |", f"| {name} | {value} |")
        recording = read(tmp_path, once + again)
        assert figures(recording, "database.threads_running") == [5.0] * 21
        assert [rate for rate in figures(recording, "workload.throughput") if rate != 50.0] == [0.0]

    @pytest.mark.parametrize("uptime", [3, 300])
    def test_differences_of_a_server_that_was_restarted(self, tmp_path: Path, uptime: int) -> None:
        """mysqladmin ends with the server; the script's next one is appended. A page's size differs by 0 only."""

        def run(begins: int, commits: int) -> list[dict[str, int]]:
            first = {"Com_commit": commits, "Innodb_page_size": 16384, "Threads_running": 5, "Uptime": begins}
            return [first] + [{"Com_commit": 50, "Innodb_page_size": 0, "Threads_running": 0, "Uptime": 1}] * 10

        recording = read(tmp_path, self.tables(*run(5000, 250_000), *run(uptime, 40)))
        assert figures(recording, "workload.throughput") == [50.0] * 10 + [None] + [50.0] * 10
        assert figures(recording, "database.threads_running") == [5.0] * 21
        assert any("restarted before reading 12" in note for note in recording.notes)

    @pytest.mark.parametrize("begins", [540, 5000])
    def test_one_difference_over_a_restart(self, tmp_path: Path, begins: int) -> None:
        """mysqladmin waited for the server (-f -w): the difference is negative, however long the server was up."""
        commits = 50 * begins
        first = {"Com_commit": commits, "Innodb_page_size": 16384, "Threads_running": 5, "Uptime": begins}
        usual = {"Com_commit": 50, "Innodb_page_size": 0, "Threads_running": 0, "Uptime": 1}
        fell = {
            "Com_commit": 40 - commits - 500,
            "Innodb_page_size": 0,
            "Threads_running": 1,
            "Uptime": 4 - begins - 10,
        }
        recording = read(tmp_path, self.tables(first, *[usual] * 10, fell, *[usual] * 10))
        assert figures(recording, "workload.throughput") == [50.0] * 10 + [None] + [50.0] * 10
        assert figures(recording, "database.threads_running") == [5.0] * 10 + [6.0] * 11
        assert any("restarted before reading 12" in note for note in recording.notes)


class TestOfTheProgram:
    """Its first row is the mean since boot again. Headings come on each screen, too, where it is none."""

    @pytest.mark.parametrize("name", ["vmstat", "vmstat -t", "iostat", "sysstat-json", "dstat", "dstat text"])
    @pytest.mark.parametrize("n", [1, 15, 30, 60])
    def test_the_mean_since_boot_is_left_out_each_time(self, tmp_path: Path, name: str, n: int) -> None:
        once = (SAMPLES | FORMS)[name](n)
        if name.startswith("dstat"):
            # Its first row is told apart here.
            head, row, tail = once.partition(f"{EPOCH}.125,10.0" if name == "dstat" else " 10   4  80   6")
            once = head + row.replace("10", "99", 1 if name == "dstat text" else 0).replace(",10.0", ",99.0") + tail
        recording = read(tmp_path, once + once if name != "vmstat -t" else once + once.replace("2026-03", "2026-04"))
        users = {sample.metrics["machine.cpu_user_pct"] for sample in recording.samples}
        requests = {one.metrics.get("storage.read_ops_per_s") for one in recording.devices.get("sda", [])}
        assert users == {10.0} and requests <= {100.0}
        assert any("was started 2 times" in note for note in recording.notes)
        if name in ("vmstat", "vmstat -t", "dstat text"):
            assert len(recording.samples) == 2 * n

    @pytest.mark.parametrize("screen", [20, 21, 22, 47])
    def test_a_heading_on_each_screen_is_no_start(self, tmp_path: Path, screen: int) -> None:
        head, names, *rows = vmstat(0).splitlines() + [vmstat(1).splitlines()[-1]] * 200
        lines = [line for number, row in enumerate(rows) for line in ([head, names] * (number % screen == 0) + [row])]
        recording = read(tmp_path, "\n".join(lines))
        assert len(recording.samples) == 200 and not recording.notes
        del lines[3 * screen], lines[5]
        lines.insert(70, "a line of another program")
        damaged = read(tmp_path, "\n".join(lines))
        assert len(damaged.samples) >= 195

    def test_what_has_no_times_goes_on(self, tmp_path: Path) -> None:
        """A second start in dstat's CSV without times begins at 0 no more, where its rows would be out of order."""
        once = "\n".join(line.partition(",")[2] if line[:1] == "1" else line for line in dstat_csv(20).splitlines())
        once = once.replace('"epoch",', "") + "\n"
        recording = read(tmp_path, once + once)
        assert [sample.at_s for sample in recording.samples] == [float(second) for second in range(1, 41)]


@pytest.mark.parametrize(("more", "is_sure"), [("", False), (",innodb_data_read", True)])
def test_a_counter_that_may_be_of_a_restart_hides_a_stall(tmp_path: Path, more: str, is_sure: bool) -> None:
    """With a counter of InnoDB that did not fall, it was FLUSH STATUS."""
    rows = [f"{at(s)},{50 * (s if s < 30 else s - 30) + 5}" + f",{9 * s}" * bool(more) for s in range(61)]
    (tmp_path / "c.csv").write_text("\n".join([f"timestamp,com_commit{more}", *rows]) + "\n")
    (cell,) = read_folder([tmp_path], FORMATS, Options()).cells
    (note,) = [one for one in cell.warnings if "counters went back in line 32" in one]
    assert cell.hidden == ([] if is_sure else [f"c.csv: {note}"])
