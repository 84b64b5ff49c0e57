"""A cell reads only the layers of which something is swept."""

from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.experiment import make_cell, make_experiment
from flatwater.experiment.cells import cell_conflicts
from flatwater.experiment.problem import ProblemsError

TABLES = {"workload": {"mode": "rndrd"}, "storage": {"size": "1GiB"}}


def test_layers_of_which_nothing_is_swept_are_shared() -> None:
    experiment = make_experiment(TABLES | {"sweep": {"workload.threads": [1, 2], "record.interval_s": [1, 2]}})
    cell = make_cell(experiment, {"workload.threads": 2, "record.interval_s": 2})
    assert (cell.fileio.threads, cell.record.interval_s) == (2, 2.0)
    assert cell.storage is experiment.storage
    assert (cell.sweep.dimensions, cell.repeat, cell.published) == ([], 1, [])
    assert experiment.fileio.threads == 1


def test_values_that_do_not_go_together_are_no_cell() -> None:
    experiment = make_experiment(TABLES)
    with pytest.raises(UserError, match=r"psync.* \(workload.queue_depth = 8\)"):
        make_cell(experiment, {"workload.queue_depth": 8})
    with pytest.raises(UserError, match=r"larger than a file"):
        make_cell(experiment, {"storage.size": "4KiB"})


def test_each_conflict_is_told_once_with_the_number_of_its_cells() -> None:
    experiment = make_experiment(TABLES)
    swept = experiment.sweep.model_copy(update={"grid": {"workload.queue_depth": [1, 2, 3]}})
    (problem,) = cell_conflicts(experiment.model_copy(update={"sweep": swept}), [])
    assert problem.field == "workload.queue_depth"
    assert problem.what.endswith("2 in flight (cell workload.queue_depth = 2), and 1 more cell")
    assert list(cell_conflicts(experiment.model_copy(update={"sweep": swept}), [problem])) == []


@pytest.mark.parametrize("twin", [{"storage": {"kind": "sdd", "device": "x"}}, {"storage": {"device": "x"}}])
def test_a_twin_of_no_kind_of_modelled_storage_is_refused(twin: dict[str, object]) -> None:
    tables = {"workload": {"kind": "tpcc"}, "database": {"kind": "server"}, "storage": {"path": "/x"}}
    with pytest.raises(ProblemsError, match=r"cell twin\.modelled = True"):
        make_experiment(tables | {"twin": twin})
