"""Running many modelled experiments together: they share the processes, and each has its own result folder.

OUT/
experiments.json    the experiments, and those that were left out with the reasons
NAME/               the result of each
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flatwater import __version__
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, load, to_toml
from flatwater.experiment.collection import Collection
from flatwater.owned import write_atomic
from flatwater.owned.mounted import require_no_data_directory
from flatwater.probe import describe_machine
from flatwater.results import CellSummary, Result, results_in
from flatwater.results.collection import INDEX
from flatwater.results.create import in_the_way, make_folders, undo, unwritten_result
from flatwater.results.lock import run_alone
from flatwater.results.schema import SCHEMA_VERSION, CellStatus
from flatwater.results.started import STARTED, UPLOAD, Started, resume_command
from flatwater.results.stored import read_json
from flatwater.runner.executors import Course
from flatwater.runner.executors.executor import Took
from flatwater.runner.executors.local import run_in_processes
from flatwater.runner.interrupt import watch_signals
from flatwater.runner.progress import Reporter
from flatwater.runner.sweep import end_course, start_course

#: Is called with the experiment's name, the summary of a finished cell, the finished and the total number of cells.
OnCell = Callable[[str, CellSummary, int, int], None]
#: Is called for an experiment that has ended: name, result, status, error, and the time of its cells in this run.
OnExperiment = Callable[[str, Result, CellStatus, str | None, Took], None]


@dataclass
class Together:
    """How a run of many experiments ended."""

    status: CellStatus
    #: Experiments that failed -> why.
    failures: dict[str, str] = field(default_factory=dict)


def run_several(
    collection: Collection,
    out: Path,
    reporter: Reporter,
    on_cell: OnCell,
    on_experiment: OnExperiment,
    *,
    resume: bool = False,
    jobs: int | None = None,
) -> Together:
    """Runs the missing cells of the experiments into folders of `out`. Each result is sealed when its cells are over.

    Errors: UserError if `out` is in use, or with `resume` has other experiments; FlatwaterError if the results cannot
    be written.
    """
    machine = describe_machine()
    _claim(collection, out, jobs, resume=resume)
    ended = Together("complete")
    courses: dict[str, Course] = {}

    def keep(name: str, summary: CellSummary) -> None:
        done = sum(course.done_before + course.finished for course in courses.values())
        on_cell(name, summary, done, sum(course.total for course in courses.values()))
        if courses[name].over:
            end(name)

    def end(name: str) -> None:
        outcome = end_course(courses[name])
        if outcome.status == "failed":
            ended.failures[name] = outcome.error or ""
        on_experiment(name, outcome.result, outcome.status, outcome.error, courses[name].took)

    try:
        with run_alone(out), watch_signals() as interrupt:
            for name, experiment in collection.experiments.items():

                def keep_summary(summary: CellSummary, done: int, total: int, name: str = name) -> None:
                    keep(name, summary)

                courses[name] = start_course(
                    experiment, out / name, machine, reporter, interrupt, keep_summary, resume=resume
                )
            for name, course in courses.items():
                if not course.cells and course.result.manifest.status == "complete":
                    on_experiment(name, course.result, "complete", None, course.took)
                elif not course.cells:
                    end(name)
            under_way = [course for course in courses.values() if course.cells]
            if under_way:
                cells = [course.cells for course in under_way]
                run_in_processes(under_way, cells, jobs or len(os.sched_getaffinity(0)))
            reporter.close()
            for name, course in courses.items():
                if course.cells and not course.over:
                    ended.status = "interrupted"
                    end(name)
    except OSError as error:
        what = f"cannot write the results: {error.strerror or error}"
        raise FlatwaterError(what, where=str(out), hint=f"make room there, then: {resume_command(out)}") from None
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted twice: the cells under way were left as they are", hint=f"to go on: {resume_command(out)}"
        ) from None
    if ended.failures and ended.status == "complete":
        ended.status = "failed"
    return ended


def read_experiments(out: Path) -> dict[str, Experiment]:
    """The experiments that a run of many was begun with, by their names and in their order. Errors: UserError."""
    names = results_in(out).names
    texts = read_json(out / INDEX).get("resolved")
    if not isinstance(texts, dict) or any(not isinstance(texts.get(name), str) for name in names):
        what = "an older flatwater began it, and did not say with which experiments"
        raise UserError(what, where=str(out), hint="flatwater run FILE... --all --out RESULT --resume, as then")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            Path(folder, f"{name}.toml").write_text(texts[name])
        return {name: load(Path(folder, f"{name}.toml"), programs=True) for name in names}


def _claim(collection: Collection, out: Path, jobs: int | None, *, resume: bool) -> None:
    """Makes the folder and its index; with `resume`, checks that it is of the same experiments."""
    names = list(collection.experiments)
    if resume and (out / INDEX).exists():
        there = results_in(out).names
        if there != names:
            odd = next((name for name in [*names, *there] if (name in names) != (name in there)), None)
            what = f"{out} holds other experiments" + (f" ({odd}, for one)" if odd else ", or in another order")
            raise UserError(what, where="--resume", hint="give the same files as then")
        return
    require_no_data_directory(out, "--out")
    made: list[Path] = []
    try:
        if out.exists() and (not out.is_dir() or any(entry.name != UPLOAD for entry in out.iterdir())):
            raise in_the_way(out)
        made += make_folders(out)
        index = {
            "schema_version": SCHEMA_VERSION,
            "kind": "flatwater-experiments",
            "flatwater_version": __version__,
            "experiments": names,
            "left_out": collection.left_out,
            # A kill may come before each has a folder.
            "resolved": {name: to_toml(experiment) for name, experiment in collection.experiments.items()},
        }
        for name, text in ((INDEX, json.dumps(index, indent=1)), (STARTED, Started(jobs=jobs).to_json(out))):
            made.append(out / name)
            write_atomic(out / name, text)
    except OSError as error:
        undo(made)
        raise unwritten_result(error, out) from None
