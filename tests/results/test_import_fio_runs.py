"""fio's JSON of groups of jobs, and of several runs in one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_files, read_folder

BEGIN = 1_795_990_110
LENGTH_S = 12


def told(second: int, rate: int, threads: int = 1, name: str = "a", begin: int = BEGIN, **options: str) -> str:
    """What fio prints after so many seconds at a rate: a group's job_runtime is that of all its threads together."""
    read = {"runtime": second * 1000, "total_ios": second * rate, "iops": float(rate), "io_kbytes": second * rate * 4}
    read["io_bytes"] = read["io_kbytes"] * 1024
    job = {"jobname": name, "elapsed": second + 1, "job_runtime": second * 1000 * threads, "read": read}
    job["job options"] = {"numjobs": str(threads), **options}
    return json.dumps({"fio version": "fio-3.33", "timestamp": begin + second, "jobs": [job]}, indent=1) + "\n"


def test_the_rate_of_a_group_is_that_of_its_threads_together(tmp_path: Path) -> None:
    path = tmp_path / "fio.json"
    path.write_text("".join(told(second, 400, threads=4) for second in range(1, LENGTH_S + 1)))
    (cell,) = read_files([path])
    assert [one.metrics["workload.throughput"] for one in cell.intervals] == pytest.approx([400.0] * LENGTH_S)
    assert cell.intervals[-1].end_s == LENGTH_S
    path.write_text(told(LENGTH_S, 400, threads=4))
    (cell,) = read_files([path])
    assert cell.totals_only is not None
    assert cell.totals_only.length_s == LENGTH_S


def test_the_logs_of_a_group_are_its_own(tmp_path: Path) -> None:
    options = {"write_iops_log": "run", "log_avg_msec": "1000"}
    (tmp_path / "fio.json").write_text(told(LENGTH_S, 400, threads=4, **options))
    for number in range(1, 5):
        lines = "".join(f"{second * 1000}, 100, 0, 0\n" for second in range(1, LENGTH_S))
        (tmp_path / f"run_iops.{number}.log").write_text(lines)
    (cell,) = read_folder([tmp_path], FORMATS, Options()).cells
    assert {one.metrics["workload.throughput"] for one in cell.intervals} == {400.0}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (told(6, 100), told(12, 400, begin=BEGIN + 20)),
        (told(12, 400, begin=BEGIN + 20), told(6, 100)),
        (told(6, 100), told(6, 400)),
        (told(6, 100, rate_iops="100"), told(7, 100, rate_iops="400")),
        (told(6, 100), told(12, 400, name="b")),
        (told(6, 100).replace('"timestamp"', '"time_stamp"'), told(5, 400).replace('"timestamp"', '"time_stamp"')),
    ],
    ids=["later", "earlier", "at-once", "options", "jobs", "no-times"],
)
def test_runs_that_were_appended_are_a_cell_each(tmp_path: Path, first: str, second: str) -> None:
    path = tmp_path / "fio.json"
    path.write_text(first + second)
    both = [json.loads(text)["jobs"][0]["read"] for text in (first, second)]
    for cells in (read_files([path]), read_folder([tmp_path], FORMATS, Options()).cells):
        assert [cell.operations for cell in cells] == [one["total_ios"] for one in both]
        assert all(cell.totals_only is not None and not cell.intervals for cell in cells)
        assert len({cell.label for cell in cells}) == len(cells)


def test_runs_with_a_status_interval_that_were_appended(tmp_path: Path) -> None:
    path = tmp_path / "fio.json"
    later = BEGIN + LENGTH_S + 2
    path.write_text("".join(told(second, rate, begin=begin) for rate, begin in ((100, BEGIN), (400, later))
                            for second in range(1, LENGTH_S + 1)))  # fmt: skip
    slow, fast = read_files([path])
    for cell, rate in ((slow, 100), (fast, 400)):
        assert [one.metrics["workload.throughput"] for one in cell.intervals] == pytest.approx([rate] * LENGTH_S)


def test_the_end_of_a_ramp_time_begins_no_run(tmp_path: Path) -> None:
    ramp = [told(second, 100, ramp_time="3") for second in range(1, 4)]
    rest = [told(second, 100, begin=BEGIN + 3, ramp_time="3") for second in range(1, LENGTH_S + 1)]
    rest = [text.replace(f'"elapsed": {second + 1}', f'"elapsed": {second + 4}') for second, text in enumerate(rest, 1)]
    (tmp_path / "fio.json").write_text("".join([*ramp, *rest]))
    (cell,) = read_files([tmp_path / "fio.json"])
    assert len(cell.intervals) == LENGTH_S
    assert cell.intervals[0].start_s == 0.0


def test_one_run_that_was_appended_twice(tmp_path: Path) -> None:
    text = "".join(told(second, 100) for second in range(1, LENGTH_S + 1))
    (tmp_path / "fio.json").write_text(text + text)
    first, second = read_files([tmp_path / "fio.json"])
    assert first.intervals == second.intervals
    assert len(first.intervals) == LENGTH_S


def test_a_job_that_ended_begins_no_run(tmp_path: Path) -> None:
    """Nor do the milliseconds that fio takes back at its end."""
    text = "".join(told(second, 100) for second in range(1, LENGTH_S + 1))
    last = told(LENGTH_S, 100).replace(str(LENGTH_S * 1000), str(LENGTH_S * 1000 - 1))
    for content in (text + last, (text + last).replace('"timestamp"', '"time_stamp"')):
        (tmp_path / "fio.json").write_text(content)
        (cell,) = read_files([tmp_path / "fio.json"])
        assert len(cell.intervals) >= LENGTH_S - 1


def test_a_job_that_waits_for_another_has_not_run(tmp_path: Path) -> None:
    """Its job_runtime is that since fio began, of each thread."""
    texts = []
    for second in range(1, 2 * LENGTH_S + 1):
        first = json.loads(told(min(second, LENGTH_S), 100))
        other = json.loads(told(max(second - LENGTH_S, 0), 400, threads=3, name="b"))
        if second <= LENGTH_S:
            other["jobs"][0]["job_runtime"] = 3000 * second
        del first["timestamp"]
        texts.append(json.dumps({**first, "jobs": [*first["jobs"], *other["jobs"]]}, indent=1))
    (tmp_path / "fio.json").write_text("\n".join(texts))
    cells = read_files([tmp_path / "fio.json"])
    for cell, rate in zip(cells, (100.0, 400.0), strict=True):
        assert [one.metrics["workload.throughput"] for one in cell.intervals] == pytest.approx([rate] * LENGTH_S)
