"""A workload on files or a block device: nothing stands between them."""

from __future__ import annotations

from pathlib import Path

from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.experiment import Experiment, PlannedCell, cell_at
from flatwater.plan.fileio import RealFileio, draining, reading_back
from flatwater.plan.run import Plan
from flatwater.probe import Probe, device_text, start_probes
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.prepare import prepare_target
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.spec import derived_seed, plan_of_target, precondition_of_target
from flatwater.runner.stack import Stack
from flatwater.runner.target import check_space, open_target


class FileStack(Stack):
    """fileio on a `Target`."""

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        self._experiment = experiment
        self._cell = plan.experiment
        self._seed = plan.seed
        self._target = open_target(self._cell)
        self._resumed = False

    def check_sweep(self) -> None:
        # A sweep over the size should not end at its last cell.
        check_space(self._target, self._largest_bytes())

    def _largest_bytes(self) -> int:
        experiment, path = self._experiment, self._target.path
        storages = (cell_at(experiment, position).experiment.files for position in range(experiment.sweep.positions))
        sizes = (
            int(storage.size * storage.fill)
            for storage in storages
            if storage.size and Path(storage.path or "") == path
        )
        return max(sizes, default=0)

    @property
    def place(self) -> Path:
        path = self._target.path
        return path if path.exists() else path.parent

    @property
    def device(self) -> str:
        return device_text(self._target.paths[0])

    def turn_to(self, plan: PlannedCell) -> None:
        self._cell, self._seed = plan.experiment, plan.seed
        self._target = open_target(plan.experiment, self._target)
        self._resumed = False

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        resumed, self._resumed = self._resumed, False
        prepare_target(self._cell, self._target, self._seed, reporter, interrupt, resumed=resumed)

    def probes(self) -> list[Probe]:
        return start_probes(self._target.paths[0])

    def workload_spec(self, seed: int) -> Plan:
        return plan_of_target(self._cell, self._target, seed)

    def take_up(self, left: Left) -> str | None:
        self._resumed = True
        return None

    def precondition_spec(self, seed: int) -> Plan | None:
        if self._cell.fileio.precondition_passes <= 0:
            return None
        return precondition_of_target(self._cell, self._target, derived_seed(seed, "precondition"))

    def drain_spec(self, plan: Plan) -> Plan | None:
        workload = self._cell.fileio
        assert isinstance(plan, RealFileio)
        return draining(plan) if workload.fsync == "end" and workload.read_fraction < 1 else None

    def read_back_spec(self, plan: Plan) -> Plan | None:
        workload = self._cell.fileio
        assert isinstance(plan, RealFileio)
        return reading_back(plan) if workload.verify and workload.read_fraction < 1 else None

    def start(self, plan: Plan, after: Run | None = None) -> Run:
        assert isinstance(plan, RealFileio)
        return Run.fileio(to_json(plan), after)

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        self._target.keep_alive()

    def faults(self) -> list[str]:
        fault = self._cell.files.fault
        return [fault.kind] if fault is not None else []

    def remove(self) -> None:
        self._target.remove()

    def release(self) -> None:
        self._target.release()
