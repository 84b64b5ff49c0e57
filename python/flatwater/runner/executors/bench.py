"""The bench: it runs cells one after another. Each process that runs cells has one."""

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
from flatwater.runner.stack.layers.running import LoadHosts
from flatwater.runner.stack.stack import Stack, open_stack
from flatwater.runner.summary import keep_without_running


class Bench:
    """The stacks of an experiment. Each is opened for its first cell, and then turned from cell to cell."""

    def __init__(self, experiment: Experiment, *, resumable: bool = True, hosts: LoadHosts | None = None) -> None:
        """`resumable`: a later run on this machine may continue an interrupted cell. `hosts` make the load."""
        self._hosts = hosts
        self._experiment = experiment
        self._resumable = resumable
        #: Stacks by the kinds of their layers, which decide their classes.
        self._stacks: dict[tuple[str, ...], Stack] = {}

    def stack(self, plan: PlannedCell) -> Stack:
        """The stack of a cell, turned to that cell. Errors: UserError."""
        layers = plan.experiment
        real_time, before = getattr(layers.storage, "real_time", False), getattr(layers.cache, "before", "")
        kinds = (layers.database.kind, layers.storage.kind, str(real_time), before)
        stack = self._stacks.get(kinds)
        if stack is None:
            self._stacks[kinds] = stack = open_stack(self._experiment, plan, self._hosts)
        else:
            stack.turn_to(plan)
        return stack

    def take(self, experiment: Experiment) -> None:
        """The same experiment, with what was found out since it was opened: cells are those that its result tells."""
        self._experiment = experiment

    def run(self, result: Result, cell: Cell, reporter: Reporter, interrupt: Interrupt) -> CellSummary:
        """Runs a cell into its folder. Errors: UserError for a cell that is not possible (see `refuse`), OSError."""
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
        # An interrupted cell needs its storage when it is resumed.
        if not plan.experiment.storage.keep and summary.status != "interrupted":
            stack.remove()
        return summary

    def refuse(self, result: Result, cell: Cell, error: UserError) -> CellSummary:
        """Stores a cell that is not possible as a failed one."""
        return self._end(result, cell, "failed", error)

    def _end(self, result: Result, cell: Cell, status: CellStatus, error: FlatwaterError) -> CellSummary:
        return keep_without_running(cell, self._experiment, status, str(error))

    def close(self) -> None:
        """Releases the storage for other runs."""
        stacks, self._stacks = self._stacks, {}
        for stack in stacks.values():
            stack.release()


def plan_cell(experiment: Experiment, index: int) -> CellPlan:
    """A cell's entry in the manifest. The cell itself is not built, so that ten thousand entries take a moment."""
    repeat, position = divmod(index, experiment.sweep.positions)
    values = experiment.sweep.values_at(position)
    return CellPlan(index=index, repeat=repeat, set=values, seed=cell_seed(experiment.seed, index))


def side_result(path: Path, experiment: Experiment, machine: MachineFacts) -> Result:
    """The result as a process sees it that runs only some of its cells: it reads and writes only these cells."""
    manifest = Manifest(
        name=experiment.name,
        flatwater_version=__version__,
        status="running",
        created_at="",
        seed=experiment.seed,
        cells=[],
    )
    return Result(path, manifest, {}, machine, [])
