"""What a course of cells counts and tells, which cells are real, and which executors there are."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import FLATWATER, Lab
from modelledlab import write_modelled

from flatwater.errors import UserError
from flatwater.experiment import load
from flatwater.results import CellSummary, create_result
from flatwater.results.schema import CellStatus, Manifest
from flatwater.runner.executors import Course, make_executor
from flatwater.runner.executors import executor as module
from flatwater.runner.executors.bench import plan_cell
from flatwater.runner.executors.executor import is_real_cell
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import PlainReporter

MakeCourse = Callable[[int], Course]


@pytest.fixture
def course(lab: Lab) -> MakeCourse:
    """A course of so many cells, of which an earlier run had done two more."""

    def make(count: int) -> Course:
        experiment = load(write_modelled(lab, range(1, count + 3)))
        plans = [plan_cell(experiment, index) for index in range(count + 2)]
        manifest = Manifest(name="x", flatwater_version="1", status="running", created_at="", seed=1, cells=plans)
        result = create_result(lab.folder / "result", manifest, "", {})
        reporter = PlainReporter(io.StringIO())
        told: list[tuple[int, int]] = []
        made = Course(
            experiment,
            result,
            result.cells[2:],
            reporter,
            Interrupt(),
            lambda _, done, total: told.append((done, total)),
            2,
        )
        made.told = told  # type: ignore[attr-defined]
        return made

    return make


def summary(index: int, status: CellStatus, error: str | None = None) -> CellSummary:
    return CellSummary(cell=index, seed=1, status=status, error=error, unit="IOPS")


class TestCourse:
    def test_counts_what_is_over_and_remembers_the_first_failure(self, course: MakeCourse) -> None:
        it = course(4)
        assert (it.total, it.number) == (6, 3)
        it.keep(summary(2, "complete"), module.Took(1.0, 0.5))
        it.keep(summary(3, "failed", "because"), module.Took(2.0, 0.5))
        it.keep(summary(4, "failed", "again"))
        it.keep(summary(5, "interrupted", "by hand"))
        assert (it.finished, it.failed, it.number, it.interrupted) == (3, 2, 6, "by hand")
        assert it.first_failure is not None and it.first_failure.error == "because"
        assert it.told == [(3, 6), (4, 6), (5, 6), (5, 6)]  # type: ignore[attr-defined]
        assert (it.took.wall_s, it.took.cpu_s) == (3.0, 1.0)

    def test_tells_the_time_left_once_that_can_be_known(
        self, course: MakeCourse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 1000.0
        monkeypatch.setattr(module.time, "monotonic", lambda: now)
        it = course(4)
        it.keep(summary(2, "complete"), module.Took(4.0, 4.0))
        assert it.left_s(1) is None
        now = 1010.0
        # As much virtual time each: 4 s, by the one that ran.
        assert it.left_s(1) == pytest.approx(12.0)
        it.keep(summary(3, "complete"), module.Took(6.0, 6.0))
        assert it.left_s(1) == pytest.approx(10.0)
        assert it.left_s(2) == pytest.approx(5.0)
        it.remaining.advance(4, 0.5, 2.5)
        assert it.left_s(1) == pytest.approx(7.5)

    def test_parts_the_modelled_cells_from_the_real_ones(self, course: MakeCourse) -> None:
        modelled, real = course(4).parted()
        assert ([cell.index for cell in modelled], real) == ([2, 3, 4, 5], [])


class TestReal:
    def test_files_are(self, lab: Lab) -> None:
        assert is_real_cell(load(lab.write()), 0)

    def test_virtual_time_is_not_and_real_time_is(self, lab: Lab) -> None:
        """A modelled device that is served in real time shares the machine's clock."""
        file = write_modelled(lab, [1.0, 2.0])
        assert not is_real_cell(load(file), 1)
        served = ["storage.real_time=true", f"storage.path={lab.data}"]
        assert is_real_cell(load(file, served), 0)


class TestRegistry:
    @pytest.mark.parametrize("name", ["mars", "", "localhost:8786", "http://scheduler:8786"])
    def test_unknown_ones_are_refused_with_what_there_is(self, name: str) -> None:
        with pytest.raises(UserError, match=r"--on: no executor .*there is: local, or a dask scheduler's address"):
            make_executor(name)

    def test_dask_that_is_not_installed_says_how_to_get_it(self, lab: Lab, tmp_path: Path) -> None:
        """The package is absent as far as the program can see: what stands in its place cannot be found."""
        absent = tmp_path / "absent" / "distributed"
        absent.mkdir(parents=True)
        (absent / "__init__.py").write_text(
            "raise ModuleNotFoundError('No module named distributed', name='distributed')"
        )
        command = [FLATWATER, "run", write_modelled(lab, [1.0]), "--on", "tcp://127.0.0.1:1"]
        environment = {**os.environ, "PYTHONPATH": str(absent.parent)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 2
        assert done.stderr == "error: --on: dask.distributed is not installed (hint: pip install 'flatwater[dask]')\n"
