"""Which stack an experiment gets, and that it lets go of what it holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import Lab
from serverlab import OLTP, TPCC, Foreign, ServerLab

from flatwater.errors import UserError
from flatwater.experiment import PlannedCell, cell_at, load
from flatwater.plan.transactions import Tpcc, TpccMysql
from flatwater.runner.stack.database.real.started import StartedServers
from flatwater.runner.stack.stack import open_stack
from flatwater.runner.stack.workload.real.fileio import FileioOnFiles
from flatwater.runner.tally import Tally


def plan_of(file: Path, index: int = 0) -> PlannedCell:
    return cell_at(load(file, [], None), index)


def test_files(lab: Lab) -> None:
    experiment = load(lab.write(), [], None)
    stack = open_stack(experiment, cell_at(experiment, 0))
    assert isinstance(stack.workload, FileioOnFiles) and stack.place is not None
    assert (stack.database.facts, stack.database.recoveries_s, stack.faults()) == ([], [], [])
    assert stack.workload.response_limits(Tally()) == []
    stack.release()


def test_servers(servers: ServerLab) -> None:
    experiment = load(servers.write(TPCC), [], None)
    stack = open_stack(experiment, cell_at(experiment, 0))
    # Half-way through, data are no snapshot any more.
    assert isinstance(stack.database, StartedServers)
    assert stack.place is not None and stack.place.is_relative_to(servers.storage)
    assert stack.workload.response_limits(Tally()) == [], "nothing ran"
    with pytest.raises(UserError, match="another flatwater is using"):
        open_stack(experiment, cell_at(experiment, 0))
    stack.release()
    open_stack(experiment, cell_at(experiment, 0)).release()


def test_an_attached_server_of_this_machine_has_the_place_of_its_data(servers: ServerLab, foreign: Foreign) -> None:
    experiment = load(servers.write(OLTP, {"url": foreign.url("one")}), [], None)
    stack = open_stack(experiment, cell_at(experiment, 0))
    assert stack.place == foreign.instance.data
    plan = stack.workload.plan(7)
    assert plan.servers[0].password == foreign.password and plan.seed == 7
    stack.release()


def test_workloads_in_the_words_of_the_engine(servers: ServerLab) -> None:
    file = servers.write({**TPCC, "warehouses": 3, "rate_per_s": 50, "arrival": "poisson", "on_error": "continue"})
    stack = open_stack(load(file, [], None), plan_of(file))
    plan = stack.workload.plan(1)
    assert plan.workload == Tpcc(variant=TpccMysql(), warehouses=3, pipeline=False, keying_and_think=False)
    assert (plan.counted, plan.rate_per_s, plan.poisson) == ("new_order", 50, True)
    assert plan.continue_on_error is True and plan.interval_ms == 100
    assert stack.workload.precondition_plan(1) is None and stack.workload.read_back_plan(plan) is None
    stack.release()


def test_a_sweep_over_places_moves_on(servers: ServerLab, tmp_path: Path) -> None:
    places = [tmp_path / "one", tmp_path / "two"]
    for place in places:
        place.mkdir()
    file = servers.write(OLTP, sweep={"storage.path": [str(place) for place in places]})
    experiment = load(file, [], None)
    stack = open_stack(experiment, plan_of(file, 0))
    assert stack.place == places[0] / "flatwater-servers"
    stack.turn_to(plan_of(file, 1))
    assert stack.place == places[1] / "flatwater-servers"
    stack.release()
