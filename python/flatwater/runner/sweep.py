"""Running an experiment: every cell in its order, into one result folder."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flatwater import __version__
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, cell_at, count_cells, require_runnable, run_order, to_toml
from flatwater.probe import describe_machine, describe_storage
from flatwater.results import Cell, CellSummary, Result, create_result, open_result
from flatwater.results.folder import now_utc
from flatwater.results.schema import CellPlan, Manifest
from flatwater.runner.cell import CellRunner
from flatwater.runner.interrupt import Interrupt, watch_signals
from flatwater.runner.progress import Reporter
from flatwater.runner.target import Target, open_target

#: A result folder's manifest lists its cells: more than this are no experiment, but a mistake.
CELLS_MAX = 100_000


@dataclass
class Outcome:
    """How a run ended."""

    result: Result
    status: str
    error: str | None = None


def run_experiment(
    experiment: Experiment,
    out: Path,
    reporter: Reporter,
    on_cell: Callable[[CellSummary, int, int], None],
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
    target = open_target(cell_at(experiment, 0).experiment)
    try:
        result = _open(experiment, out, target, resume=resume)
        with watch_signals() as interrupt:
            return _run_cells(experiment, result, target, reporter, interrupt, on_cell)
    finally:
        target.release()


def _open(experiment: Experiment, out: Path, target: Target, *, resume: bool) -> Result:
    toml = to_toml(experiment)
    if resume and (out / "flatwater.json").exists():
        if (out / "experiment.toml").read_text() != toml:
            raise UserError(
                f"{out} holds another experiment",
                where="--resume",
                hint=f"use the same file and --set as then: {out / 'experiment.toml'} has them, resolved",
            )
        result = open_result(out)
        if result.manifest.flatwater_version != __version__:
            raise UserError(
                f"{out} was begun by flatwater {result.manifest.flatwater_version}, this is {__version__}",
                where="--resume",
                hint="finish it with that version, or start anew: cells of two versions do not compare",
            )
        return result
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
    folder = target.path if target.path.exists() else target.path.parent
    return create_result(out, manifest, toml, describe_machine() | {"storage": describe_storage(folder)})


def _run_cells(
    experiment: Experiment,
    result: Result,
    target: Target,
    reporter: Reporter,
    interrupt: Interrupt,
    on_cell: Callable[[CellSummary, int, int], None],
) -> Outcome:
    total = len(result.cells)
    done = sum(1 for cell in result.cells if _is_done(cell.summary))
    result.write_manifest("running")
    status, failure = "complete", None
    try:
        for index in run_order(experiment):
            cell = result.cells[index]
            if _is_done(cell.summary):
                continue
            if cell.summary is not None:
                _reopen(cell)
            plan = cell_at(experiment, index)
            target_now = open_target(plan.experiment, target)
            target._locks = target_now._locks
            reporter.cell(done + 1, total, cell.label)
            summary = CellRunner(result, cell, plan, target_now, reporter, interrupt).run()
            target.prepared = target_now.prepared
            if not plan.experiment.storage.keep:
                target_now.remove()
            done += 1
            on_cell(summary, done, total)
            if summary.status != "complete":
                status, failure = summary.status, summary.error
                break
    except FlatwaterError:
        result.seal("failed")
        raise
    except KeyboardInterrupt:
        result.write_manifest("interrupted")
        raise Interrupted("interrupted twice: the cell under way was left as it is; --resume repeats it") from None
    reporter.close()
    result.seal(status)
    return Outcome(result, status, failure)


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
    return Path("results") / f"{experiment.name}-{stamp}-{secrets.token_hex(1)}"
