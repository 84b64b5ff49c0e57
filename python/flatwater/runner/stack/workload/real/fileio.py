"""fileio on files, on a block device or on a served device, without a layer between."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.experiment import Experiment, PlannedCell, cell_at
from flatwater.plan.fileio import RealFileio, draining, reading_back
from flatwater.probe import Probe, start_probes
from flatwater.results.load_host import LoadHost
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.seeds import derived_seed
from flatwater.runner.stack.layers.layer import Ground
from flatwater.runner.stack.layers.running import LoadHosts, Running, RunningOnHosts, require_hosts
from flatwater.runner.stack.layers.storage import Used
from flatwater.runner.stack.layers.workload import Workload
from flatwater.runner.stack.target.opening import open_target
from flatwater.runner.stack.target.plans import plan_of_target, precondition_of_target
from flatwater.runner.stack.target.prepare import prepare_target
from flatwater.runner.stack.target.shared import shared
from flatwater.runner.stack.target.target import Target, check_space
from flatwater.server import ask
from flatwater.server.asking import GRACE_S


class FileioOnFiles(Workload[RealFileio]):
    """fileio on a `Target` on any ground."""

    def __init__(self, hosts: LoadHosts | None = None) -> None:
        """`hosts` make the load of cells with a `[load]`."""
        self._ground: Ground | None = None
        self._target: Target | None = None
        self._resumed = False
        self._hosts = hosts
        self._run_on_hosts: RunningOnHosts | None = None
        #: The plan of the measured load. This machine runs all others: preconditioning, what an interrupted run left.
        self._measured: RealFileio | None = None
        self._interrupt = Interrupt()

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        self._run_on_hosts = None
        require_hosts(self._cell, self._hosts)

    @property
    def _on_ground(self) -> Experiment:
        """The cell, with the ground as its storage."""
        assert self._ground is not None
        return self._ground.cell(self._cell)

    @property
    def _files(self) -> Target:
        assert self._target is not None, "it stands on a ground"
        return self._target

    def stand_on(self, ground: Ground) -> None:
        self._ground, self._resumed = ground, False
        self._target = open_target(self._on_ground, self._target)
        if ground.is_device:
            # A served device has no room for a manifest beside it.
            self._target.manifest = None

    def check_sweep(self, experiment: Experiment) -> None:
        # Checked for the largest cell: a sweep over the size must not fail at its last cell.
        check_space(self._files, _largest_bytes(experiment, self._files.path))

    @property
    def used(self) -> Used | None:
        if self._target is None:
            return None
        path = self._target.path
        return Used(path if path.exists() else path.parent, self._target.paths[0])

    def take_up(self, left: Left) -> str | None:
        self._resumed = True
        return None

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None) -> None:
        assert self._ground is not None
        resumed, self._resumed = self._resumed, False
        self._interrupt = interrupt
        load, hosts = self._cell.load, self._hosts
        if load is not None and hosts is not None:
            # Before the files are made: to write them may take hours. A host may hang on its network storage.
            many = load.hosts
            with shared(self._files, writes=self._files.writable, made=False) as target:
                ask(lambda: hosts.require_same(target, many), self._hurried)
        if self._ground.is_device:
            # The content of a modelled device is defined by its model: nothing has to be written.
            self._files.grant()
            return
        prepare_target(self._on_ground, self._files, self._plan.seed, reporter, interrupt, resumed=resumed)
        self._ground.settle()

    def probes(self) -> list[Probe]:
        return start_probes(self._files.paths[0])

    def plan(self, seed: int) -> RealFileio:
        self._measured = plan_of_target(self._on_ground, self._files, seed)
        return self._measured

    def precondition_plan(self, seed: int) -> RealFileio | None:
        if self._cell.fileio.precondition_passes <= 0:
            return None
        return precondition_of_target(self._on_ground, self._files, derived_seed(seed, "precondition"))

    def drain_plan(self, plan: RealFileio) -> RealFileio | None:
        workload = self._cell.fileio
        return draining(plan) if workload.fsync == "end" and workload.read_fraction < 1 else None

    def read_back_plan(self, plan: RealFileio) -> RealFileio | None:
        workload = self._cell.fileio
        return reading_back(plan) if workload.verify and workload.read_fraction < 1 else None

    def start(self, plan: RealFileio, after: Run | None = None) -> Running:
        load, hosts = self._cell.load, self._hosts
        if load is None or hosts is None or plan is not self._measured:
            return Run.fileio(to_json(plan), after)
        many = load.hosts
        with shared(self._files, writes=plan.permit is not None, made=True) as target:
            # They end by themselves what they have begun, and then raise Interrupted.
            begin = partial(hosts.start, plan, many, self._hurried, target)
            self._run_on_hosts = ask(begin, self._hurried, grace_s=GRACE_S)
        return self._run_on_hosts

    def _hurried(self) -> bool:
        return self._interrupt.requested

    def load_hosts(self) -> list[LoadHost]:
        return self._run_on_hosts.describe() if self._run_on_hosts is not None else []

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        if self._run_on_hosts is not None:
            self._run_on_hosts.close()

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        if self._target is not None:
            self._target.keep_alive()

    def faults(self) -> list[str]:
        fault = self._ground.files.fault if self._ground is not None else None
        return [fault.kind] if fault is not None else []

    def remove(self) -> None:
        if self._target is not None:
            self._target.remove()

    def release(self) -> None:
        if self._target is not None:
            self._target.release()


def _largest_bytes(experiment: Experiment, path: Path) -> int:
    """The largest number of bytes that any cell of the sweep uses."""
    storages = (cell_at(experiment, position).experiment.files for position in range(experiment.sweep.positions))
    sizes = (
        int(storage.size * storage.fill) for storage in storages if storage.size and Path(storage.path or "") == path
    )
    return max(sizes, default=0)
