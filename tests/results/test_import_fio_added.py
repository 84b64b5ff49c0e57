"""fio's logs of several jobs, of jobs that pause, and with times since 1970: what is added up must have been."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_files, read_folder
from flatwater.results.importers.imported import ImportedCell

EPOCH_MS = 1_795_993_071_000


def log(times_ms: list[int], rate: int, direction: int = 0) -> str:
    return "".join(f"{time_ms}, {rate}, {direction}, 0, 0\n" for time_ms in times_ms)


def seconds(last: int, base_ms: int = 0) -> list[int]:
    return [base_ms + 1000 * second for second in range(1, last + 1)]


def fio(place: Path, elapsed_s: int, stonewall: bool = False, **jobs: tuple[int, float]) -> Path:
    """fio's JSON of jobs that wrote one log, each with its length and its rate."""
    found = []
    for group, (name, (length_s, rate)) in enumerate(jobs.items()):
        count = int(length_s * rate)
        read = {"runtime": length_s * 1000, "total_ios": count, "iops": rate, "io_kbytes": count * 4}
        read["io_bytes"] = read["io_kbytes"] * 1024
        found.append({"jobname": name, "elapsed": elapsed_s, "job_runtime": length_s * 1000, "read": read})
        found[-1]["groupid"] = group * stonewall
    options = {"write_iops_log": "two", "log_avg_msec": "1000"}
    whole = {"fio version": "fio-3.33", "timestamp": 1_795_993_111, "global options": options, "jobs": found}
    (place / "two.json").write_text(json.dumps(whole, indent=1))
    return place / "two.json"


def told(cell: ImportedCell, what: str) -> list[str]:
    return [one for one in cell.warnings if what in one]


@pytest.mark.parametrize("direction", [0, 1])
def test_one_log_of_two_jobs_says_that_it_is_added_up(tmp_path: Path, direction: int) -> None:
    (tmp_path / "two_iops.log").write_text(log(seconds(11), 100) + log(seconds(11), 100, direction))
    (cell,) = read_files([tmp_path / "two_iops.log"])
    (note,) = told(cell, "taken as running at the same time")
    assert note.startswith("two_iops.log:12: its times begin again")


def test_two_logs_say_that_they_are_added_up(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"two_iops.{number}.log").write_text(log(seconds(11), 100))
    (cell,) = read_files(sorted(tmp_path.iterdir()))
    assert told(cell, "the logs of 2 jobs are added up (two_iops.1.log to two_iops.2.log)")
    (cell,) = read_files([tmp_path / "two_iops.1.log"])
    assert not told(cell, "added up")


def test_lines_that_are_hardly_out_of_order_are_of_one_job(tmp_path: Path) -> None:
    lines = "".join(f"{1000 * second + 3}, 50, 0, 0, 0\n{1000 * second}, 50, 1, 0, 0\n" for second in range(1, 12))
    (tmp_path / "one_iops.1.log").write_text(lines)
    (cell,) = read_files([tmp_path / "one_iops.1.log"])
    assert not told(cell, "same time")


@pytest.mark.parametrize("folder", [False, True])
def test_one_log_of_jobs_one_after_another_is_left_out_beside_their_json(tmp_path: Path, folder: bool) -> None:
    path = fio(tmp_path, 25, True, r=(12, 100.0), w=(12, 100.0))
    (tmp_path / "two_iops.log").write_text(log(seconds(11), 100) + log(seconds(11), 100))
    cells = (
        read_folder([tmp_path], FORMATS, Options()).cells if folder else read_files([path, tmp_path / "two_iops.log"])
    )
    assert [cell.totals_only is not None for cell in cells] == [True, True]
    (note,) = told(cells[0], "two_iops.log left out")
    assert "2 jobs wrote there, and did not begin at the same time" in note


@pytest.mark.parametrize("elapsed_s", [13, 25], ids=["plain", "with a ramp time"])
def test_one_log_of_jobs_at_the_same_time_is_taken_beside_their_json(tmp_path: Path, elapsed_s: int) -> None:
    path = fio(tmp_path, elapsed_s, r=(12, 100.0), w=(12, 100.0))
    (tmp_path / "two_iops.log").write_text(log(seconds(11), 100) + log(seconds(11), 100))
    cells = read_files([path, tmp_path / "two_iops.log"])
    assert [bool(cell.intervals) for cell in cells] == [False, False, True]


@pytest.mark.parametrize("folder", [False, True])
def test_a_log_that_its_json_denies_says_so(tmp_path: Path, folder: bool) -> None:
    path = fio(tmp_path, 13, r=(12, 100.0))
    (tmp_path / "two_iops.1.log").write_text(log(seconds(11), 300))
    named = [path, tmp_path / "two_iops.1.log"]
    cells = read_folder([tmp_path], FORMATS, Options()).cells if folder else read_files(named)
    first, second = cells
    assert told(first, "two_iops.1.log is left out")
    (note,) = told(second, "of another run, or damaged")
    assert "300 IOPS until 11 s" in note and "'r'" in note and "100 in 12 s" in note


def test_the_window_of_a_job_that_pauses(tmp_path: Path) -> None:
    """Most distances are pauses: the window is still that in which its averages were taken."""
    times = [*seconds(5), 11_000, 12_000, 18_004, 24_008, 30_012, 36_016]
    (tmp_path / "a_iops.1.log").write_text(log(times, 100))
    (cell,) = read_files([tmp_path / "a_iops.1.log"])
    assert cell.interval_s == 1
    assert cell.operations == pytest.approx(100 * len(times), rel=0.01)


def test_a_pause_at_the_end_keeps_the_log_and_tells_both_figures(tmp_path: Path) -> None:
    path = fio(tmp_path, 51, r=(50, 80.0))
    (tmp_path / "two_iops.1.log").write_text(log(seconds(40), 100))
    (cell,) = read_files([path, tmp_path / "two_iops.1.log"])
    assert len(cell.intervals) == 40
    (note,) = told(cell, "its totals say 80:")
    assert "40 s of 50 s" in note


def test_times_since_1970(tmp_path: Path) -> None:
    (tmp_path / "a_iops.1.log").write_text(log(seconds(20, EPOCH_MS), 150))
    (cell,) = read_files([tmp_path / "a_iops.1.log"])
    assert (cell.intervals[0].start_s, cell.intervals[-1].end_s) == (0, 20)
    assert cell.began == (EPOCH_MS / 1000, True)
    each = "".join(f"{EPOCH_MS + 100 * number}, 5000, 0, 4096, 0\n" for number in range(100))
    (tmp_path / "b_lat.1.log").write_text(each)
    (cell,) = read_files([tmp_path / "b_lat.1.log"])
    assert [one.metrics["workload.throughput"] for one in cell.intervals] == [10.0] * 10
    assert cell.began == (EPOCH_MS / 1000, True)


def test_times_since_1970_of_jobs_one_after_another(tmp_path: Path) -> None:
    for number, base_ms in ((1, EPOCH_MS), (2, EPOCH_MS + 20_000)):
        (tmp_path / f"two_iops.{number}.log").write_text(log(seconds(20, base_ms), 150))
    (cell,) = read_files(sorted(tmp_path.iterdir()))
    assert {one.metrics["workload.throughput"] for one in cell.intervals} == {150.0}
    assert len(cell.intervals) == 40


@pytest.mark.parametrize("prefix", ["two", "/data/logs/two", "logs/two"])
def test_jobs_have_their_own_logs_whatever_folder_fio_wrote_them_to(tmp_path: Path, prefix: str) -> None:
    path = fio(tmp_path, 11, a=(11, 100), b=(11, 300))
    path.write_text(path.read_text().replace('"write_iops_log": "two"', f'"write_iops_log": "{prefix}"'))
    for number, rate in ((1, 100), (2, 300)):
        (tmp_path / f"two_iops.{number}.log").write_text(log(seconds(11), rate))
    cells = read_files([path])
    assert [(cell.label, len(cell.intervals), cell.warnings) for cell in cells] == [("a", 11, []), ("b", 11, [])]
    assert [cell.intervals[0].metrics["workload.throughput"] for cell in cells] == [100, 300]
