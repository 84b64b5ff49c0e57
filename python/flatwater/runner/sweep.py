"""Running an experiment: all of its cells, on an executor, into one result folder."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from flatwater import __version__
from flatwater.errors import FlatwaterError, Interrupted, ReaderGoneError, UserError
from flatwater.experiment import Experiment, count_cells, require_runnable, run_order, to_toml
from flatwater.probe import describe_machine
from flatwater.results import Cell, Result, create_result, open_result
from flatwater.results.facts import MachineFacts
from flatwater.results.lock import require_not_run, run_alone
from flatwater.results.result import EARLIER
from flatwater.results.schema import CellPlan, CellStatus, Manifest, now_utc
from flatwater.results.started import Started, resume_command
from flatwater.runner.agreement import judge_agreement
from flatwater.runner.errors import placing_errors
from flatwater.runner.executors import Course, Executor, OnCell, make_executor
from flatwater.runner.executors.bench import plan_cell
from flatwater.runner.executors.executor import Took
from flatwater.runner.interrupt import Interrupt, watch_signals
from flatwater.runner.progress import Reporter
from flatwater.runner.relative import fill_relative
from flatwater.runner.twins import warn_of_twins, with_measured_server, with_server_of

#: A result is read as a whole: the summaries of more cells than this, at some 12 KB each, are larger than the largest
#: JSON that is read (`results.stored.SUMMARY_BYTES_MAX`).
CELLS_MAX = 20_000


@dataclass
class Outcome:
    """How a run ended."""

    result: Result
    status: CellStatus
    error: str | None = None
    #: The time of its cells, in all processes together.
    cells_took: Took = field(default_factory=Took)


def run_experiment(
    experiment: Experiment,
    out: Path,
    reporter: Reporter,
    on_cell: OnCell,
    *,
    resume: bool = False,
    executor: Executor | None = None,
    started: Started | None = None,
) -> Outcome:
    """Runs the missing cells of an experiment into the folder `out`, on an executor (None: all cores of this machine).

    `started` has the other options of the command line. `on_cell` is called with the summary of each finished cell, the
    number of finished cells, and the number of all cells. A cell that fails keeps its error, and the others continue; a
    run in which a cell failed has failed.
    """
    with placing_errors(experiment), ExitStack() as alone:
        require_runnable(experiment)
        total = count_cells(experiment)
        if total > CELLS_MAX:
            what = f"{total:,} cells are more than one run can hold ({CELLS_MAX:,})"
            raise UserError(what, where="sweep", hint="split the experiment")
        if resume and (out / "flatwater.json").exists():
            alone.enter_context(run_alone(out))
        result = reopen_result(experiment, out) if resume else None
        experiment = with_server_of(experiment, result.experiment) if result is not None else experiment
        if result is not None and result.manifest.status == "complete":
            gone = sum(cell.summary is None for cell in result.cells)
            if gone:
                what = f"{out} says that it is complete, and {gone} of its {len(result.cells)} cells have no summary"
                raise UserError(what, where="--resume", hint="put its summary.json back, or run the experiment anew")
            reporter.note(complete_text(out))
            return Outcome(result, "complete")
        executor = executor or make_executor()
        try:
            machine = describe_machine() | executor.open(experiment, reporter)
            if result is None:
                experiment = with_measured_server(experiment, machine, reporter)
            # Until here nothing is made, and Ctrl-C ends the run at once.
            with watch_signals() as interrupt:
                if result is None:
                    result = _create_result(experiment, out, machine, started)
                    alone.enter_context(run_alone(out))
                cells = [result.cells[index] for index in run_order(experiment)]
                missing = [cell for cell in cells if _is_missing(cell)]
                done_before = total - len(missing)
                course = Course(experiment, result, missing, reporter, interrupt, on_cell, done_before)
                return _run_cells(result, executor, course)
        finally:
            executor.close()


def start_course(
    experiment: Experiment,
    out: Path,
    machine: MachineFacts,
    reporter: Reporter,
    interrupt: Interrupt,
    on_cell: OnCell,
    *,
    resume: bool = False,
) -> Course:
    """Opens the result in `out` (with `resume`, that of an earlier run; else a new one) for its missing cells.

    Errors: UserError, OSError.
    """
    if resume:
        require_not_run(out)
    result = reopen_result(experiment, out) if resume else None
    if result is not None and result.manifest.status == "complete":
        return Course(experiment, result, [], reporter, interrupt, on_cell, len(result.cells))
    if result is None:
        result = _create_result(experiment, out, machine)
    cells = [result.cells[index] for index in run_order(experiment)]
    missing = [cell for cell in cells if _is_missing(cell)]
    result.write_manifest("running")
    return Course(experiment, result, missing, reporter, interrupt, on_cell, len(cells) - len(missing))


def end_course(course: Course) -> Outcome:
    """Judges and seals a course that has ended or was interrupted. Errors: OSError."""
    status, failure = _ended(course)
    seal_course(course, status)
    return Outcome(course.result, status, failure, course.took)


def reopen_result(experiment: Experiment, out: Path) -> Result | None:
    """The result of an earlier run of an experiment, open for its missing cells; None where there is none.

    Errors: UserError for one of another experiment, or of another version, and for a damaged one.
    """
    if not (out / "flatwater.json").exists():
        return None
    result = open_result(out)
    experiment = with_server_of(experiment, result.experiment)
    if (out / "experiment.toml").read_text(errors="replace") != to_toml(experiment):
        raise UserError(
            f"{out} holds another experiment",
            where="--resume",
            hint=f"to go on with that one: {resume_command(out)}",
        )
    if [cell.plan for cell in result.cells] != [_as_stored(plan) for plan in _plans(experiment)]:
        raise UserError(f"{out} has not the cells of its experiment", where="--resume", hint="the result is damaged")
    if result.manifest.flatwater_version != __version__:
        raise UserError(
            f"{out} was begun by flatwater {result.manifest.flatwater_version}, this is {__version__}",
            where="--resume",
            hint="finish it with that version, or start anew: cells of two versions do not compare",
        )
    return result


def _plans(experiment: Experiment) -> list[CellPlan]:
    return [plan_cell(experiment, index) for index in range(count_cells(experiment))]


def _as_stored(plan: CellPlan) -> CellPlan:
    return CellPlan.model_validate_json(plan.model_dump_json())


def _create_result(experiment: Experiment, out: Path, machine: MachineFacts, started: Started | None = None) -> Result:
    manifest = Manifest(
        name=experiment.name,
        title=experiment.title,
        flatwater_version=__version__,
        status="running",
        created_at=now_utc(),
        seed=experiment.seed,
        cells=_plans(experiment),
    )
    return create_result(out, manifest, to_toml(experiment), machine, started=started or Started())


def _run_cells(result: Result, executor: Executor, course: Course) -> Outcome:
    try:
        result.write_manifest("running")
        try:
            executor.run(course)
        except ReaderGoneError:
            # It counts as stopped by the user.
            result.write_manifest("interrupted")
            what = f"whoever read the output went away; what was measured is in {result.path}"
            raise Interrupted(what, hint=f"to go on: {resume_command(result.path)}") from None
        except FlatwaterError as error:
            error.hint = error.hint or f"to go on: {resume_command(result.path)}"
            result.seal("failed")
            raise
        course.reporter.close()
        return end_course(course)
    except OSError as error:
        with suppress(OSError):
            result.write_manifest("failed")
        raise _failed(result.path, error) from None
    except KeyboardInterrupt:
        result.write_manifest("interrupted")
        hint = f"to go on: {resume_command(result.path)}"
        raise Interrupted("interrupted twice: the cell under way was left as it is", hint=hint) from None


def _failed(out: Path, error: OSError) -> FlatwaterError:
    """The error for a failed system call, with its place: the result, unless the error names another file."""
    named = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    why, to_resume = error.strerror or str(error), resume_command(out)
    # Files that are written relative to an open folder of the result have a name without a path.
    of_result = not named or ("/" not in named and not os.path.lexists(named))
    if of_result or Path(named).resolve().is_relative_to(out.resolve()):
        return FlatwaterError(
            f"cannot write the result: {why}", where=str(out), hint=f"make room there, then: {to_resume}"
        )
    return FlatwaterError(f"cannot use {named}: {why}", where="storage.path", hint=f"mend that, then: {to_resume}")


def seal_course(course: Course, status: CellStatus) -> None:
    """Completes and seals the result of a course that has ended. Errors: OSError."""
    fill_relative(course.experiment, course.result)
    warn_of_twins(course.experiment, course.result, course.reporter)
    course.result.agreement = judge_agreement(course.experiment, course.result)
    course.result.seal(status)


def _ended(course: Course) -> tuple[CellStatus, str | None]:
    """The status of a run that has ended, and its error."""
    first = course.first_failure
    # The cell under way may have been the last one, and may have completed.
    if course.interrupted is not None and not course.over:
        return "interrupted", course.interrupted
    assert course.over, f"an executor ended with {course.finished} of {len(course.cells)} cells"
    if first is None:
        return "complete", None
    if course.total == 1:
        return "failed", first.error
    label = course.result.cells[first.cell].label
    which = "it was" if course.failed == 1 else "the first:"
    return "failed", f"{course.failed:,} of {course.total:,} cells failed; {which} {label}: {first.error}"


def _is_missing(cell: Cell) -> bool:
    """Whether a cell is still to be run.

    The summary of an earlier run is kept beside its journal: resuming.py decides whether the cell continues it.
    """
    summary = cell.summary
    if summary is None or summary.status == "complete":
        return summary is None
    cell.drop_summary()
    own, earlier = cell.folder / "summary.json", cell.folder / EARLIER
    with suppress(FileNotFoundError):
        if earlier.exists() and not summary.phases:
            own.unlink()  # the run after that did not begin it
        else:
            own.replace(earlier)
    return True


def complete_text(out: Path) -> str:
    """That there is nothing to go on with."""
    return f"{out} is complete: nothing is missing"


def default_folder(experiment: Experiment) -> Path:
    """A new folder under `results/`: the experiment's name, the time, and two letters against collisions."""
    stamp = now_utc().replace(":", "").replace("-", "").replace("T", "-").split("+")[0]
    name = re.sub(r"[^\w.-]+", "-", experiment.name).strip(".-") or "experiment"
    return Path("results") / f"{name}-{stamp}-{secrets.token_hex(1)}"
