from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from flatwater.errors import UserError
from flatwater.results.importers import read_files

sys.path.insert(0, str(Path(__file__).parent))
from import_samples import SAMPLES, imported, summary

AVERAGED = [f"fio_logs/avg_{kind}.{job}.log" for kind in ("iops", "bw", "lat") for job in (1, 2)]


def test_averaged_logs_of_two_jobs_are_one_cell(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", *AVERAGED).cells
    found = summary(cell)
    assert (found.unit, found.interval_s, found.samples) == ("IOPS", 1.0, 11)
    lines = [
        [int(field) for field in line.split(",")]
        for job in (1, 2)
        for line in (SAMPLES / f"fio_logs/avg_iops.{job}.log").read_text().splitlines()
    ]
    first = sum(fields[1] for fields in lines if fields[0] < 1500)
    assert cell.series("workload", "throughput").value[0] == first
    kib = cell.series("workload", "bytes_per_s").value / 1024
    assert kib == pytest.approx(cell.series("workload", "ops_per_s").value * 16, rel=0.05)
    assert 10 < cell.series("workload", "read_latency_mean_us").value[0] < 10_000
    assert found.latency_us is None, "averages have no percentiles"
    means = [cell.series("workload", f"{kind}latency_mean_us").value for kind in ("", "read_", "write_")]
    assert np.all(means[0] >= np.minimum(means[1], means[2]))
    assert np.all(means[0] <= np.maximum(means[1], means[2]))
    assert "fio logs no window that the end of the run cut short" in found.warnings[0]


def test_logs_that_end_early_or_begin_late_are_told(tmp_path: Path) -> None:
    def log(kind: str, job: int, seconds: range) -> Path:
        path = tmp_path / f"x_{kind}.{job}.log"
        path.write_text("".join(f"{second * 1000}, 500, 0, 0, 0\n" for second in seconds))
        return path

    (cell,) = read_files([log("iops", 1, range(4, 21)), log("iops", 2, range(4, 11)), log("lat", 1, range(4, 21))])
    early, late, *_ = cell.warnings
    assert early.startswith("x_iops.2.log ends at 10 s, others at 20 s")
    assert late.startswith("nothing was logged in the first 3 s: operations and data are those of the 17 s")
    assert cell.operations == 500 * 17 + 500 * 7
    assert cell.intervals[0].metrics["workload.latency_mean_us"] == 0.5
    (cell,) = read_files([log("iops", 1, range(1, 21))])
    assert len(cell.warnings) == 1


def test_one_line_an_io_gives_percentiles(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", "fio_logs/each_lat.1.log", "fio_logs/each_iops.1.log").cells
    found = summary(cell)
    latencies = np.loadtxt(SAMPLES / "fio_logs/each_lat.1.log", delimiter=",")[:, 1]
    assert found.operations == 250
    assert found.latency_us is not None
    assert found.latency_us.max == latencies.max() / 1000
    assert found.latency_us.p95 == np.sort(latencies)[int(np.ceil(0.95 * 250)) - 1] / 1000
    assert cell.series("workload", "throughput").value == pytest.approx([100, 100], abs=2)
    assert ("workload", "write_latency_p99_us") in cell.metrics()


def test_a_window_without_a_line_is_a_dead_second_and_clock_drift_is_not(tmp_path: Path) -> None:
    # fio's windows come a millisecond late each: after 1000 of them a grid of 1000 ms would have lost one.
    lines = [f"{1001 * (i + 1)}, 500, 0, 0, 0" for i in range(1500) if i not in (700, 701)]
    path = tmp_path / "long_iops.1.log"
    path.write_text("\n".join(lines) + "\n")
    (cell,) = read_files([path])
    rates = [interval.metrics["workload.throughput"] for interval in cell.intervals]
    assert len(rates) == 1500
    assert [index for index, rate in enumerate(rates) if rate == 0] == [700, 701]


def test_bandwidth_alone_is_mib_per_s(tmp_path: Path) -> None:
    (tmp_path / "x_bw.log").write_text("1000, 2048, 1, 0\n2000, 4096, 1, 0\n")
    (cell,) = read_files([tmp_path / "x_bw.log"])
    assert cell.unit == "MiB/s"
    assert [interval.metrics["workload.throughput"] for interval in cell.intervals] == [2, 4]
    assert "workload.ops_per_s" not in cell.intervals[0].metrics


def test_two_prefixes_are_two_cells() -> None:
    cells = read_files([SAMPLES / name for name in (AVERAGED[0], "fio_logs/each_lat.1.log")])
    assert [cell.label for cell in cells] == ["avg", "each"]


#: Lines before and behind one that cannot be read.
L1, L3 = "1000, 5, 0, 0, 0\n", "3000, 5, 0, 0, 0\n"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a_iops.1.log", f"{L1}2000, 5\n{L3}", r"a_iops\.1\.log:2: not a line of a fio log: '2000, 5'"),
        ("a_iops.1.log", f"{L1}2000, x, 0, 0, 0\n{L3}", r":2: not a line"),
        ("a_iops.1.log", f"{L1}2000, 5, 7, 0, 0\n{L3}", r":2: not a line"),
        ("a_iops.1.log", f"{L1}-1, 5, 0, 0, 0\n{L3}", r":2: not a line"),
        ("a_iops.1.log", "1000, 5, 0, 0, 0\n99999999999999, 5, 0, 0, 0\n", "more than a year"),
        ("a_lat.1.log", "1000, 5, 0, 0, 0\n", "no throughput"),
        ("a_slat.1.log", "1000, 5, 0, 4096, 0\n", "no result"),
    ],
)
def test_malformed(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=says):
        read_files([tmp_path / name])


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    lines = [f"{1000 * second}, 500, 0, 0, 0" for second in range(1, 11)]
    for torn in ("11", "11000, 5", "11000, 500, 0, 0"):
        (tmp_path / "a_iops.1.log").write_text("\n".join([*lines, torn]))
        (cell,) = read_files([tmp_path / "a_iops.1.log"])
        assert [one.end_s for one in cell.intervals] == list(range(1, 11))
        assert cell.unread == ["a_iops.1.log: 1 line that cannot be read left out, first line 11"]
        assert cell.unread[0] in cell.warnings
    (tmp_path / "a_iops.1.log").write_text("\n".join(lines))
    assert read_files([tmp_path / "a_iops.1.log"])[0].unread == []


def test_a_log_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("1000, 5, 0, 0, 0\n")
    with pytest.raises(UserError, match="keep fio's names"):
        read_files([tmp_path / "log.txt"], "fio-log")
