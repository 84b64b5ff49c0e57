"""The parts of `benchmarks.pages`: the folder of runs, what is read of a run and of events, figures, the page."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.noise import Noise
from benchmarks.pages.__main__ import MEASURES, PAGE, PRESETS, read
from benchmarks.pages.cells import overhead
from benchmarks.pages.figures import Figure, Section
from benchmarks.pages.folder import make_run, make_runs
from benchmarks.pages.live import Growing
from benchmarks.pages.page import Circumstances, page
from benchmarks.pages.server import FLATWATER
from benchmarks.pages.stream import events, intervals_of
from benchmarks.pages.under_way import UnderWay
from benchmarks.pages.viewers import KEPT, OPERATIONS, Watched, seconds, throughput
from benchmarks.pairs import Target, ratio
from benchmarks.recording import Case
from benchmarks.sweep import Swept

from flatwater.catalogue.catalogue import read_catalogue
from flatwater.errors import FlatwaterError, UserError
from flatwater.report.recorded import encode_times
from flatwater.results import open_result

UNDER_2 = Target("at most", 2.0)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("sample") / "run")


def test_copies_are_runs_that_differ(sample: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in sample.rglob("*") if path.is_file()}
    make_runs(sample, tmp_path / "runs", 3)
    runs = sorted((tmp_path / "runs").iterdir())
    found = read_catalogue([tmp_path / "runs"])
    assert sorted(found.runs) == [str(run) for run in runs] and not found.left_out
    manifests = [open_result(run).manifest for run in runs]
    assert [one.title for one in manifests] == ["Run number 0", "Run number 1", "Run number 2"]
    made = [datetime.fromisoformat(one.created_at) for one in manifests]
    assert made == sorted(set(made))
    means = [float(open_result(run).cells[0].summary.mean or 0.0) for run in runs]  # type: ignore[union-attr]
    assert len(set(means)) == 3 and means[0] == pytest.approx(means[2] / 1.002)
    assert runs[0].joinpath("series.parquet").samefile(runs[1] / "series.parquet")
    assert not runs[0].joinpath("machine.json").samefile(runs[1] / "machine.json")
    assert before == {path: path.read_bytes() for path in sample.rglob("*") if path.is_file()}, "it was only copied"


def test_the_run_has_as_many_metrics_as_a_real_one(sample: Path) -> None:
    (cell,) = open_result(sample).cells
    assert cell.summary is not None and cell.summary.status == "complete"
    assert len(cell.summary.metrics) > 50


@pytest.mark.parametrize(
    ("tries", "told", "verdict"),
    [
        ((2.0,), "2 s", "met"),
        ((2.01,), "2.01 s", "**not met**"),
        ((1.0, 1.9, 3.0), "1.9 s [1, 3]", "met"),
        ((1.5, 2.1, 3.0), "2.1 s [1.5, 3]", "undecided"),
        ((2.1, 2.2, 3.0), "2.2 s [2.1, 3]", "**not met**"),
    ],
)
def test_a_figure_is_judged_by_its_median(tries: tuple[float, ...], told: str, verdict: str) -> None:
    assert Figure("x", tries, "s", UNDER_2).cells() == ["x", told, str(len(tries)), "< 2 s", verdict]


def test_a_figure_without_a_target_is_shown() -> None:
    assert Figure("x", (3.0,), "MiB").cells() == ["x", "3 MiB", "1", "", "shown only"]


def test_overhead_is_what_no_model_took() -> None:
    # 1000 cells in 2 processes: 8 s of wall-clock, 14 s in cells, 12 s of CPU in them, 13 s of CPU in all.
    swept = Swept(1000, 2, 0.5, 7.0, 0.5, in_cells_s=14.0, cells_cpu_s=12.0, parent_cpu_s=0.3, cpu_s=13.0)
    found = {one.title: one.tries[0] for one in overhead(swept, model_s=0.012, model_cpu_s=0.010)}
    assert found == {
        "the model, CPU": pytest.approx(10.0),
        "overhead, wall-clock": pytest.approx(8.0 - 6.0),
        "overhead, CPU": pytest.approx(13.0 - 10.0),
        "of it the executor's own, wall-clock": pytest.approx(8.0 - 7.0),
        "of it the executor's own, CPU": pytest.approx(13.0 - 12.0),
    }


@pytest.mark.parametrize("times", [[], [1.0], [1.0, 2.0, 3.0], [1.0, 2.0, 4.0, 5.0]])
def test_intervals_of_an_event_are_counted(times: list[float]) -> None:
    assert intervals_of({"times": [encode_times(np.array(times))]}) == len(times)


def test_events_are_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b'HTTP/1.0 200 OK\r\n\r\nevent: all\ndata: {"times":[]}\n\n:\n\nevent: more\ndata: {}\n\n')
        theirs.shutdown(socket.SHUT_WR)
        assert list(events(ours)) == [("all", {"times": []}), ("more", {})]


def _line(start_s: float, time_s: float, per_s: float) -> dict[str, Any]:
    return {"start_s": start_s, "time_s": time_s, "metrics": {OPERATIONS: per_s}}


def test_throughput_is_weighted_with_time() -> None:
    lines = [_line(0.0, 1.0, 100.0), _line(1.0, 4.0, 20.0)]
    assert seconds(lines) == 4.0 and throughput(lines) == pytest.approx(40.0)


class _Child:
    """A process that runs, or has ended."""

    def __init__(self, code: int | None = None) -> None:
        self.returncode = code

    def poll(self) -> int | None:
        return self.returncode


def test_whole_lines_of_a_journal_are_read_once(tmp_path: Path) -> None:
    run = UnderWay(tmp_path, _Child())  # type: ignore[arg-type]
    run.journal.parent.mkdir(parents=True)
    event = json.dumps({"event": {"time_s": 1.0, "kind": "fault", "text": "x"}})
    torn = json.dumps(_line(2.0, 3.0, 7.0))
    lines = "".join(json.dumps(_line(at, at + 1.0, 5.0)) + "\n" for at in (0.0, 1.0))
    run.journal.write_text(f"{lines}{event}\n{torn[:20]}")
    assert [line["time_s"] for line in run.until(2)] == [1.0, 2.0]
    with run.journal.open("a") as handle:
        handle.write(torn[20:] + "\n")
    assert [line["time_s"] for line in run.until(3)] == [1.0, 2.0, 3.0]


def test_a_run_that_ended_is_told(tmp_path: Path) -> None:
    with pytest.raises(FlatwaterError, match="ended with 1"):
        UnderWay(tmp_path, _Child(1)).until(1)  # type: ignore[arg-type]


def test_a_journal_that_grows_is_that_of_a_run(sample: Path, tmp_path: Path) -> None:
    with Growing(tmp_path / "run", sample, [_line(7.0, 8.0, 1.0), _line(8.0, 9.0, 2.0)], 5) as growing:
        while len(growing.written_s) < 6:
            time.sleep(0.01)
    result = open_result(tmp_path / "run")
    assert result.manifest.status == "running"
    lines = [json.loads(line) for line in result.cells[0].journal.read_text().splitlines()]
    assert [(line["start_s"], line["time_s"]) for line in lines[:6]] == [(at, at + 1.0) for at in range(6)]
    assert [line["metrics"][OPERATIONS] for line in lines[:5]] == [1.0, 2.0, 1.0, 2.0, 1.0]


def test_the_page_has_every_figure_and_no_path(tmp_path: Path) -> None:
    where = Circumstances(
        command=".venv/bin/python -m benchmarks.pages --dir DIR",
        date="2026-02-03 04:05 UTC",
        versions=["flatwater 0.1.0"],
        machine={"cpu": "Example 3000", "cores": 2, "memory_bytes": 2**33, "kernel": "6.1"},
        storage={"path": str(tmp_path), "device": "/dev/example", "file_system": "xfs"},
        noise=Noise(0.0, 0.0),
        size_bytes=2**30,
        rounds=9,
        turn_s=7,
    )
    watched = Watched(Case("psync", 2, 1, hot=True), (990.0, 1000.0), ratio([990.0] * 9, [1000.0] * 9), 1.25)
    text = page(where, [Section("Ten runs", "word " * 60, [Figure("a list", (3.0,), "s", UNDER_2)])], [watched])
    assert "| a list | 3 s | 1 | < 2 s | **not met** |" in text
    assert "| 990 / 1,000 | 1.2 % | +1.00 % [+1.00, +1.00] | < 0.5 % | **not met** |" in text
    assert "9 rounds, 7 s counted" in text and str(tmp_path) not in text
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith("|"))


def test_half_a_percent_is_the_limit_of_viewers() -> None:
    assert ratio([99.5], [100.0]).verdict(KEPT) == "met"
    assert ratio([99.4], [100.0]).verdict(KEPT) == "**not met**"


def test_options(tmp_path: Path) -> None:
    found = read(["--dir", str(tmp_path)])
    assert found.out == PAGE and {name: getattr(found, name) for name, _, _ in PRESETS} == {
        name: full for name, full, _ in PRESETS
    }
    assert read(["--dir", str(tmp_path), "--quick"]).out is None
    assert all(read(["--only", name]).out is None for name in (*MEASURES, "viewers"))
    with pytest.raises(UserError, match="no row has"):
        read(["--only", "nothing such"])


@pytest.mark.slow
@pytest.mark.parametrize("part", [["list", "--runs", "60"], ["live", "--live-seconds", "30"]])
def test_measures(part: list[str], tmp_path: Path) -> None:
    if not Path(FLATWATER).exists():
        pytest.skip("flatwater is not installed beside this interpreter")
    command = [sys.executable, "-m", "benchmarks.pages", "--quick", "--dir", str(tmp_path), "--only", *part]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| measured | tries | target |" in done.stdout and not list(tmp_path.iterdir()), "nothing is left"
