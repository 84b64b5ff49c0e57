"""One process's cells, one after another: on one stack, or refused."""

from __future__ import annotations

import pytest
from lab import Lab
from modelledlab import write_modelled

from flatwater.errors import UserError
from flatwater.experiment import cell_at, iter_cells, load
from flatwater.results import Cell
from flatwater.runner.executors.bench import Bench, plan_cell, side_result
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import SilentReporter


def test_cells_are_planned_as_they_will_be(lab: Lab) -> None:
    experiment = load(write_modelled(lab, [1.0, 2.0, 3.0], repeat=2))
    for cell in iter_cells(experiment):
        plan = plan_cell(experiment, cell.index)
        assert (plan.repeat, plan.set, plan.seed) == (cell.repeat, cell.set, cell.seed)


def test_a_cell_is_run_into_a_folder_of_its_own(lab: Lab) -> None:
    """Nothing else of a result needs to be there."""
    experiment = load(write_modelled(lab, [10.0, 20.0]))
    bench, result = Bench(experiment), side_result(lab.folder / "side", experiment, {"cores": 2})
    for index in (1, 0):
        cell = Cell(result, plan_cell(experiment, index), None)
        summary = bench.run(result, cell, SilentReporter(), Interrupt())
        assert (summary.status, summary.mean) == ("complete", pytest.approx(10.0 * (index + 1)))
        assert cell.stored_summary() == summary
    bench.close()
    assert sorted(path.name for path in (lab.folder / "side/cells").iterdir()) == ["0000", "0001"]


def test_the_stack_is_turned_from_cell_to_cell(lab: Lab) -> None:
    experiment = load(lab.write(sweep={"workload.threads": [1, 2]}))
    bench = Bench(experiment)
    assert bench.stack(cell_at(experiment, 0)) is bench.stack(cell_at(experiment, 1))
    bench.close()


def test_a_cell_that_cannot_be_is_kept_with_its_reason(lab: Lab) -> None:
    experiment = load(lab.write(storage={"path": str(lab.folder / "no" / "such")}))
    bench, result = Bench(experiment), side_result(lab.folder / "side", experiment, {})
    cell = Cell(result, plan_cell(experiment, 0), None)
    with pytest.raises(UserError, match="does not exist") as refused:
        bench.run(result, cell, SilentReporter(), Interrupt())
    kept = bench.refuse(result, cell, refused.value)
    assert (kept.status, kept.unit, kept.layers["storage"]) == ("failed", "IOPS", "real")
    assert kept.error is not None and "mkdir -p" in kept.error
    assert (cell.series("workload", "throughput").value.size, cell.stored_summary().error) == (0, kept.error)
