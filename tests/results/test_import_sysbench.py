from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import read_files

sys.path.insert(0, str(Path(__file__).parent))
from import_samples import SAMPLES, imported, summary
from sampled import EPOCH, sysbench_csv


def test_fileio_runs_in_one_file_are_a_sweep(tmp_path: Path) -> None:
    result = imported(tmp_path / "r", "sysbench_fileio.txt")
    assert [cell.set for cell in result.cells] == [{"workload.threads": 1}, {"workload.threads": 4}]
    first = result.cells[0]
    found = summary(first)
    assert (found.unit, found.interval_s, found.samples) == ("IOPS", 1.0, 12)
    line = next(line for line in (SAMPLES / "sysbench_fileio.txt").read_text().splitlines() if line.startswith("[ 1s"))
    mib = float(line.split()[4]) + float(line.split()[7])
    assert first.series("workload", "throughput").value[0] == pytest.approx(mib * 64)
    assert first.series("workload", "latency_p95_us").value[0] == pytest.approx(float(line.split()[-1]) * 1000)
    assert result.experiment["workload"]["mode"] == "rndrw"
    assert result.experiment["workload"]["block_size"] == "16KiB"
    assert found.latency_us is not None
    assert found.latency_us.p95 == 280, "the one percentile that sysbench prints"
    assert (found.latency_us.p50, found.latency_us.p999) == (None, None), "what it does not print is not known"


def test_a_dead_second_has_no_latency_and_is_a_stall(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", "sysbench_oltp.txt").cells
    found = summary(cell)
    assert found.unit == "tps"
    latency = cell.series("workload", "latency_p95_us")
    assert len(latency) == 10
    assert latency.value.min() > 10_000
    assert not {5.0, 6.0} & set(latency.time_s.tolist())
    assert found.verdict == "stalls"
    assert [(stall.start_s, stall.length_s) for stall in found.stalls] == [(4, 2)]
    assert cell.series("workload", "read_queries_per_s").value[0] == 14309.66
    assert found.errors == 1


def test_totals_alone(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", "sysbench_totals.txt").cells
    found = summary(cell)
    assert found.samples == 0
    assert found.mean == pytest.approx(864_765.82)
    assert [warning for warning in found.warnings if "--report-interval=1" in warning]
    assert ("workload", "latency_p95_us") not in cell.metrics(), "printed as 0.00: under what it resolves"


def test_version_05(tmp_path: Path) -> None:
    (oltp,) = imported(tmp_path / "oltp", "sysbench_05_oltp.txt").cells
    assert oltp.series("workload", "throughput").value.tolist() == [601.30, 612.10, 598.70]
    assert oltp.series("workload", "latency_p95_us").value[0] == pytest.approx(88_210)
    assert oltp.series("workload", "in_flight").value.tolist() == [32] * 3
    assert summary(oltp).interval_s == 10
    (fileio,) = imported(tmp_path / "fileio", "sysbench_05_fileio.txt").cells
    assert fileio.series("workload", "throughput").value[0] == pytest.approx(933.60 * 64)
    assert fileio.series("workload", "latency_p95_us").value[0] == pytest.approx(312)


def test_with_a_rate_what_waits_is_what_sysbench_says(tmp_path: Path) -> None:
    (tmp_path / "rate.txt").write_text(
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n"
        "[ 1s ] thds: 1 eps: 85.91 lat (ms,95%): 0.03\n[ 1s ] queue length: 3 concurrency: 1\n"
        "[ 2s ] thds: 1 eps: 0.00 lat (ms,95%): 0.00\n[ 2s ] queue length: 0 concurrency: 0\n"
    )
    (cell,) = read_files([tmp_path / "rate.txt"])
    assert [interval.metrics["workload.in_flight"] for interval in cell.intervals] == [4, 0]
    assert [warning for warning in cell.warnings if "totals at the end are missing" in warning]


def test_a_file_whose_head_was_cut_off(tmp_path: Path) -> None:
    lines = (SAMPLES / "sysbench_oltp.txt").read_text().splitlines()
    (tmp_path / "tail.txt").write_text("\n".join(lines[16:]))
    (cell,) = read_files([tmp_path / "tail.txt"])
    assert (cell.intervals[0].start_s, cell.intervals[0].end_s) == (4, 5)


HEAD = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n"
REPORT = (
    "[ {0}s ] thds: 64 tps: {0}.50 qps: 20.00 (r/w/o: 14.00/4.00/2.00) lat (ms,95%): 12.52 err/s: 0.00 reconn/s: 0.00"
)
PLAIN = "[ {0}s ] thds: 1 eps: {0}.50 lat (ms,95%): 12.52"
FILE = "[ {0}s ] reads: {0}.50 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.272"
CSV = "{0},64,{0}.50,20.00,14.00,4.00,2.00,12.52,0.00,0.00"


@pytest.mark.parametrize("report", [REPORT, PLAIN, FILE, CSV])
def test_the_last_report_of_a_run_that_was_killed_may_be_torn_anywhere(tmp_path: Path, report: str) -> None:
    whole = [report.format(second) for second in range(1, 10)]
    last = report.format(10)
    for length in range(1, len(last)):
        text = HEAD * (report is not CSV) + "\n".join([*whole, last[:length]])
        (tmp_path / "run.txt").write_text(text)
        (cell,) = read_files([tmp_path / "run.txt"])
        assert [one.end_s for one in cell.intervals[:9]] == list(range(1, 10)), last[:length]
        if len(cell.intervals) > 9:
            # What is not torn away is right, up to the digits of the last number.
            assert cell.intervals[9].metrics.keys() == cell.intervals[8].metrics.keys()
            percentiles = [name for name in cell.intervals[9].metrics if "latency" in name]
            assert all(cell.intervals[9].metrics[name] == cell.intervals[8].metrics[name] for name in percentiles)
        else:
            line = text.count("\n") + 1
            assert cell.unread == [f"1 line that cannot be read left out, first line {line}"]
            assert cell.unread[0] in cell.warnings


def test_what_is_left_out_is_a_gap_and_no_part_of_the_next_report(tmp_path: Path) -> None:
    reports = [REPORT.format(second) for second in range(1, 11)]
    reports[4] = reports[4][:40] + reports[5]  # a line that was written into another
    del reports[5]
    (tmp_path / "run.txt").write_text(HEAD + "\n".join(reports) + "\n")
    (cell,) = read_files([tmp_path / "run.txt"])
    assert [(one.start_s, one.end_s) for one in cell.intervals[3:6]] == [(3, 4), (6, 7), (7, 8)]
    assert cell.interval_s == 1
    assert cell.unread == ["1 line that cannot be read left out, first line 6"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sysbench 1.0.20\n[ 1s ] thds: 8 tps: 10", r":2: the report has no latency"),
        ("sysbench 1.0.20\n[ 1s ] thds: 8 t", r":2: not a report"),
        ("sysbench 1.0.20\n[ 1s ] reads: 1.00 MiB/s writ", r":2: not a report"),
        ("sysbench 1.0.20\n[ 1", r":2: not a report"),
        (
            "sysbench 1.0.20\n[ 2s ] thds: 1 tps: 1 lat (ms,95%): 1\n[ 1s ] thds: 1 tps: 1 lat (ms,95%): 1",
            ":3: time goes",
        ),
        (
            "sysbench 1.0.20\nFATAL: unable to connect to MySQL server\n",
            r":2: sysbench measured nothing: unable to conn",
        ),
        ("sysbench 1.0.20\n\nThreads started!\n", r":1: sysbench measured nothing: no report"),
        ("sysbench 1.0.20\n    total time:       2.0s\n", "no throughput"),
    ],
)
def test_malformed(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "sb.txt").write_text(text)
    with pytest.raises(UserError, match=says):
        read_files([tmp_path / "sb.txt"])


def test_a_time_before_each_line_of_csv_tells_when_the_run_began(tmp_path: Path) -> None:
    rows = [f"{EPOCH + 300 + second} {row}" for second, row in enumerate(sysbench_csv(20).splitlines(), 1)]
    (tmp_path / "run.csv").write_text("\n".join(rows) + "\n")
    (cell,) = read_files([tmp_path / "run.csv"])
    assert cell.began == (EPOCH + 300, True)


FILEIO_TOTALS = re.compile(
    r"File operations:.*?reads/s:\s+(\S+).*?writes/s:\s+(\S+).*?fsyncs/s:\s+(\S+)"
    r".*?read, MiB/s:\s+(\S+).*?written, MiB/s:\s+(\S+)",
    re.DOTALL,
)
FILEIO_TOTALS_11 = r"""Throughput:
         read:  IOPS=\1 \4 MiB/s (1.00 MB/s)
         write: IOPS=\2 \5 MiB/s (1.00 MB/s)
         fsync: IOPS=\3"""


@pytest.mark.parametrize("has_reports", [True, False])
@pytest.mark.parametrize("has_blanks", [True, False])
def test_totals_of_fileio_are_the_same_in_both_versions(tmp_path: Path, has_reports: bool, has_blanks: bool) -> None:
    """1.1 has the rate and the bandwidth in one line; a program that writes times may take the blanks away."""
    old = (SAMPLES / "sysbench_fileio.txt").read_text()
    if not has_reports:
        old = re.sub(r"(?m)^\[.*\n", "", old)
    cells = []
    for text in (old, FILEIO_TOTALS.sub(FILEIO_TOTALS_11, old)):
        (tmp_path / "x.txt").write_text(text if has_blanks else re.sub(r"(?m)^ +", "", text))
        cells.append(read_files([tmp_path / "x.txt"]))
    then, now = cells
    assert then == now
    assert {"reads_per_s", "writes_per_s", "fsyncs_per_s", "read_mib_per_s", "written_mib_per_s"} <= set(now[0].totals)


def fileio_11(reports: int, stalled_s: float = 0.0) -> str:
    """A run of fileio as 1.1 prints it: without the time that it took."""
    share = reports / (reports + stalled_s) if reports else 1.0
    head = ["sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)", "Number of threads: 4", "Block size 16KiB"]
    lines = [
        f"[ {second}s ] reads: 64.00 MiB/s writes: 32.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 2.913"
        for second in range(1, reports + 1)
    ]
    totals = [
        f"         read:  IOPS={4096 * share:.2f} {64 * share:.2f} MiB/s (1.00 MB/s)",
        f"         write: IOPS={2048 * share:.2f} {32 * share:.2f} MiB/s (1.00 MB/s)",
        "         fsync: IOPS=0.00",
    ]
    latency = ["", "Latency (ms):", "         95th percentile:                      2.91"]
    return "\n".join([*head, "", "Threads started!", "", *lines, "", "Throughput:", *totals, *latency]) + "\n"


@pytest.mark.parametrize("stalled_s", [0.0, 45.0])
def test_totals_of_fileio_without_a_time(tmp_path: Path, stalled_s: float) -> None:
    (tmp_path / "x.txt").write_text(fileio_11(120, stalled_s))
    (cell,) = read_files([tmp_path / "x.txt"])
    assert not any("totals at the end are missing" in warning for warning in cell.warnings)
    if stalled_s:
        assert cell.hidden == ["its totals are as low as if it had stood still for 45 s behind its last reading"]
        assert "its intervals have 6,144 IOPS on average, and its totals say 4,468" in cell.warnings[0]
    else:
        assert (cell.hidden, cell.warnings) == ([], [])


def test_totals_of_fileio_without_a_time_and_without_reports(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(fileio_11(0))
    (cell,) = read_files([tmp_path / "x.txt"])
    assert cell.totals_only is not None and cell.totals_only.figures["workload.throughput"].mean == 6144
    assert (cell.unit, cell.warnings[0]) == ("IOPS", "the length of the test is not told")
