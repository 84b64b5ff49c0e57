"""The bench: where cells run, one after another. A process has one, and so has each worker elsewhere."""

from __future__ import annotations

from pathlib import Path

from flatwater import __version__
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, PlannedCell, cell_at
from flatwater.experiment.cells import cell_seed
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.facts import MachineFacts
from flatwater.results.schema import CellPlan, CellStatus, Manifest
from flatwater.runner.cell import CellRunner
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.stack import Stack, open_stack
from flatwater.runner.summary import keep_without_running


class Bench:
    """The stacks of an experiment: each is opened when its first cell comes, and turned from cell to cell."""

    def __init__(self, experiment: Experiment, *, resumable: bool = True) -> None:
        """`resumable`: a later run may find here what this one leaves of a cell."""
        self._experiment = experiment
        self._resumable = resumable
        #: By the kinds of the layers, which decide the class.
        self._stacks: dict[tuple[str, ...], Stack] = {}

    def stack(self, plan: PlannedCell) -> Stack:
        """The stack of a cell, turned to it. Errors: UserError."""
        layers = plan.experiment
        kinds = (layers.database.kind, layers.storage.kind, str(getattr(layers.storage, "real_time", False)))
        found = self._stacks.get(kinds)
        if found is None:
            self._stacks[kinds] = found = open_stack(self._experiment, plan)
        else:
            found.turn_to(plan)
        return found

    def run(self, result: Result, cell: Cell, reporter: Reporter, interrupt: Interrupt) -> CellSummary:
        """Runs a cell into its folder. Errors: UserError (for a cell that cannot be: see `refuse`), OSError."""
        plan = cell_at(self._experiment, cell.index)
        try:
            stack = self.stack(plan)
        except Interrupted as error:
            return self._end(result, cell, "interrupted", error)
        except UserError:
            raise
        except FlatwaterError as error:
            return self._end(result, cell, "failed", error)
        stack.kept_in = cell.folder if self._resumable else None
        summary = CellRunner(result, cell, plan, stack, reporter, interrupt).run()
        # What was interrupted goes on with it.
        if not plan.experiment.storage.keep and summary.status != "interrupted":
            stack.remove()
        return summary

    def refuse(self, result: Result, cell: Cell, error: UserError) -> CellSummary:
        """Keeps a cell that cannot be as a failed one."""
        return self._end(result, cell, "failed", error)

    def _end(self, result: Result, cell: Cell, status: CellStatus, error: FlatwaterError) -> CellSummary:
        return keep_without_running(cell, self._experiment, status, str(error))

    def close(self) -> None:
        """Lets other runs use the storage."""
        stacks, self._stacks = self._stacks, {}
        for stack in stacks.values():
            stack.release()


def plan_cell(experiment: Experiment, index: int) -> CellPlan:
    """A cell's entry in the manifest; the cell itself is not built, so that ten thousand are planned in a moment."""
    repeat, position = divmod(index, experiment.sweep.positions)
    values = experiment.sweep.values_at(position)
    return CellPlan(index=index, repeat=repeat, set=values, seed=cell_seed(experiment.seed, index))


def side_result(path: Path, experiment: Experiment, machine: MachineFacts) -> Result:
    """A result as a process sees it that only runs some of its cells: nothing of it is read or written but they."""
    manifest = Manifest(
        name=experiment.name,
        flatwater_version=__version__,
        status="running",
        created_at="",
        seed=experiment.seed,
        cells=[],
    )
    return Result(path, manifest, {}, machine, [])
