"""Running an experiment: every cell in its order, into one result folder."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flatwater import __version__
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, cell_at, count_cells, require_runnable, run_order, to_toml
from flatwater.probe import describe_machine, describe_storage
from flatwater.results import Cell, CellSummary, Result, create_result, open_result
from flatwater.results.folder import now_utc
from flatwater.results.schema import CellPlan, CellStatus, Manifest
from flatwater.runner.cell import CellRunner
from flatwater.runner.interrupt import Interrupt, watch_signals
from flatwater.runner.progress import Reporter
from flatwater.runner.stack import Stack, open_stack

#: A result folder's manifest lists its cells: more than this are no experiment, but a mistake.
CELLS_MAX = 100_000

#: Told each finished cell's summary, how many are done, and how many there are.
OnCell = Callable[[CellSummary, int, int], None]


@dataclass
class Outcome:
    """How a run ended."""

    result: Result
    status: CellStatus
    error: str | None = None


def run_experiment(
    experiment: Experiment,
    out: Path,
    reporter: Reporter,
    on_cell: OnCell,
    *,
    resume: bool = False,
) -> Outcome:
    """Runs what is missing of an experiment into the folder `out`.

    `on_cell` is told each finished cell's summary, how many are done, and how many there are. A failed or
    interrupted cell ends the run; what was measured is in the result.
    """
    require_runnable(experiment)
    total = count_cells(experiment)
    if total > CELLS_MAX:
        raise UserError(
            f"{total:,} cells are more than one run can hold ({CELLS_MAX:,})",
            where="sweep",
            hint="split the experiment",
        )
    result = _reopen_result(experiment, out) if resume else None
    if result is not None and result.manifest.status == "complete":
        reporter.note(f"{out} is complete: nothing is missing")
        return Outcome(result, "complete")
    stack = open_stack(experiment, cell_at(experiment, 0))
    try:
        if result is None:
            stack.check_sweep()
            result = _create_result(experiment, out, stack)
        with watch_signals() as interrupt:
            return _run_cells(experiment, result, stack, reporter, interrupt, on_cell)
    finally:
        stack.release()


def _reopen_result(experiment: Experiment, out: Path) -> Result | None:
    if not (out / "flatwater.json").exists():
        return None
    result = open_result(out)
    if (out / "experiment.toml").read_text(errors="replace") != to_toml(experiment):
        raise UserError(
            f"{out} holds another experiment",
            where="--resume",
            hint=f"use the same file and --set as then: {out / 'experiment.toml'} has them, resolved",
        )
    if len(result.cells) != count_cells(experiment):
        raise UserError(f"{out} has not the cells of its experiment", where="--resume", hint="the result is damaged")
    if result.manifest.flatwater_version != __version__:
        raise UserError(
            f"{out} was begun by flatwater {result.manifest.flatwater_version}, this is {__version__}",
            where="--resume",
            hint="finish it with that version, or start anew: cells of two versions do not compare",
        )
    return result


def _create_result(experiment: Experiment, out: Path, stack: Stack) -> Result:
    plans = [
        CellPlan(index=cell.index, repeat=cell.repeat, set=cell.set, seed=cell.seed)
        for cell in (cell_at(experiment, index) for index in range(count_cells(experiment)))
    ]
    manifest = Manifest(
        name=experiment.name,
        title=experiment.title,
        flatwater_version=__version__,
        status="running",
        created_at=now_utc(),
        seed=experiment.seed,
        cells=plans,
    )
    machine = describe_machine()
    if stack.place is not None:
        machine["storage"] = describe_storage(stack.place)
    return create_result(out, manifest, to_toml(experiment), machine)


def _run_cells(
    experiment: Experiment,
    result: Result,
    stack: Stack,
    reporter: Reporter,
    interrupt: Interrupt,
    on_cell: OnCell,
) -> Outcome:
    try:
        result.write_manifest("running")
        try:
            status, failure = _run_missing(experiment, result, stack, reporter, interrupt, on_cell)
        except FlatwaterError:
            result.seal("failed")
            raise
        reporter.close()
        result.seal(status)
    except BrokenPipeError:
        # Whoever read our output went away: as if the user had stopped the run.
        result.write_manifest("interrupted")
        raise
    except OSError as error:
        with suppress(OSError):
            result.write_manifest("failed")
        raise FlatwaterError(
            f"cannot write the result: {error.strerror or error}",
            where=str(result.path),
            hint="make room there, then --resume goes on",
        ) from None
    except KeyboardInterrupt:
        result.write_manifest("interrupted")
        raise Interrupted("interrupted twice: the cell under way was left as it is; --resume repeats it") from None
    return Outcome(result, status, failure)


def _run_missing(
    experiment: Experiment,
    result: Result,
    stack: Stack,
    reporter: Reporter,
    interrupt: Interrupt,
    on_cell: OnCell,
) -> tuple[CellStatus, str | None]:
    """Runs cells until all are done or one is not; how the last one ended."""
    total = len(result.cells)
    done = sum(1 for cell in result.cells if _is_done(cell.summary))
    for index in run_order(experiment):
        cell = result.cells[index]
        if _is_done(cell.summary):
            continue
        if cell.summary is not None:
            _reopen(cell)
        plan = cell_at(experiment, index)
        stack.turn_to(plan)
        reporter.cell(done + 1, total, cell.label)
        summary = CellRunner(result, cell, plan, stack, reporter, interrupt).run()
        if not plan.experiment.storage.keep:
            stack.remove()
        done += 1
        on_cell(summary, done, total)
        if summary.status != "complete":
            return summary.status, summary.error
    return "complete", None


def _reopen(cell: Cell) -> None:
    """An interrupted cell is continued like a killed one; what failed is measured anew."""
    assert cell.summary is not None
    if cell.summary.status == "failed":
        shutil.rmtree(cell.folder, ignore_errors=True)
    for sealed in (*cell.folder.glob("*.parquet"), *cell.folder.glob("summary.json")):
        sealed.unlink()
    cell.summary = None


def _is_done(summary: CellSummary | None) -> bool:
    return summary is not None and summary.status == "complete"


def default_folder(experiment: Experiment) -> Path:
    """A new folder under `results/`: the experiment's name, the time, and two letters against collisions."""
    stamp = now_utc().replace(":", "").replace("-", "").replace("T", "-").split("+")[0]
    name = re.sub(r"[^\w.-]+", "-", experiment.name).strip(".-") or "experiment"
    return Path("results") / f"{name}-{stamp}-{secrets.token_hex(1)}"
