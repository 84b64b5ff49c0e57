"""Database servers that flatwater starts, on copies of a snapshot of the loaded data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from flatwater._engine import EngineError
from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import Experiment, PlannedCell, cell_at
from flatwater.experiment.database.login import Login
from flatwater.probe import Probe
from flatwater.results.schema import ServerFacts
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.stack.database.real.cell_copies import CellCopies
from flatwater.runner.stack.database.real.copies import kept_token
from flatwater.runner.stack.database.real.dataset import describe_dataset
from flatwater.runner.stack.database.real.elsewhere import Elsewhere, placing_of, real_places
from flatwater.runner.stack.database.real.fleet import SPARE_CONNECTIONS, Fleet
from flatwater.runner.stack.database.real.full import FullStorages
from flatwater.runner.stack.database.real.snapshots import loaded_snapshot, why_not_started
from flatwater.runner.stack.database.real.space import SweepSpace, estimate_space, require_space_elsewhere, shape_of
from flatwater.runner.stack.layers.layer import Ground
from flatwater.runner.stack.layers.servers import Check, Servers
from flatwater.runner.stack.layers.storage import Used
from flatwater.server import (
    Binary,
    Instance,
    ServersRoot,
    Snapshot,
    find_snapshot,
    open_root,
    remove_snapshot,
    server_of,
    split,
    translate,
)

#: The settings of at most this many cells of a sweep are checked before loading: each check takes microseconds.
CELLS_CHECKED = 10_000


class StartedServers(Servers):
    """One or several servers, on any ground."""

    def __init__(self) -> None:
        self._root: ServersRoot | None = None
        #: Where the data are, also after they were released: the summary tells it.
        self._used: Used | None = None
        self._binary: Binary | None = None
        self._snapshot: Snapshot | None = None
        self._elsewhere = Elsewhere()
        self._copies = CellCopies(self._elsewhere)
        self._fleet = Fleet()
        #: The rest of an earlier run, if the cell is resumed from it.
        self._left: Left | None = None
        self._seam = ""
        #: The translated settings of the cell.
        self._settings: Mapping[str, str] = {}
        self._reporter: Reporter | None = None
        #: Called between the writing of the copies and the start of the servers.
        self._settle_ground: Callable[[], None] | None = None

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        self._fleet = Fleet()
        self._left, self._seam = None, ""
        self._copies.turn_to(plan.index, self._cell.server.instances)
        self._require_placing(self._cell)

    def _require_placing(self, cell: Experiment) -> None:
        """Refuses what the servers of a cell cannot place, before anything is made. Errors: UserError."""
        placing = placing_of(cell)
        if placing.storages:
            binary = server_of(cell)
            placing.require(binary, translate(cell.server.settings, binary))

    def stand_on(self, ground: Ground) -> None:
        self._binary = server_of(self._cell)
        self._settle_ground = ground.settle
        storage = Path(ground.files.path or "").absolute()
        if self._root is None or self._root.path.parent != storage:
            self.release()
            self._root = open_root(storage)
            self._used = Used(self._root.path, self._root.path)
        self._elsewhere.stand_on(self._cell, ground.others)

    @property
    def used(self) -> Used | None:
        return self._used

    def check_sweep(self, experiment: Experiment) -> None:
        checked: set[str] = set()
        sweep_space = SweepSpace()
        for position in range(min(experiment.sweep.positions, CELLS_CHECKED)):
            cell = cell_at(experiment, position).experiment
            if cell.database.REALITY != "real":
                continue  # a modelled twin
            server = cell.server
            said = server.placement.model_dump()
            described = [server.binary, server.settings, server.instances, said, describe_dataset(cell)]
            settings_key = json.dumps(described, sort_keys=True)
            if not server.attached and settings_key not in checked:
                checked.add(settings_key)
                binary = server_of(cell)
                settings = translate(server.settings, binary)
                split(settings, server.instances)
                self._require_placing(cell)
                sweep_space.add(cell, binary, settings, self._root, real_places(cell))
        if self._root is not None:
            sweep_space.require(self._root.path)

    def take_up(self, left: Left) -> str | None:
        binary, root = self._binary_and_root()
        token, _ = kept_token(left.folder)
        reason = self._copies.take_up(token, binary, root)
        if reason is None:
            self._left = left
        return reason

    @property
    def seam(self) -> str:
        return self._seam

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None, check: Check) -> None:
        self._interrupt, self._reporter = interrupt, reporter
        self._copies.keep_in(kept_in)
        binary, root = self._binary_and_root()
        self._settings = settings = translate(self._cell.server.settings, binary)
        if self._left is None:
            places = {name: folder.path for name, folder in self._elsewhere.roots.items()}
            shape = shape_of(self._cell, binary, settings)
            space = estimate_space(self._cell, binary, settings, root, shape, places)
            require_space_elsewhere(space)
            self._snapshot = loaded_snapshot(
                self._cell, binary, root, settings, space, reporter, interrupt, self.hurried
            )
            folders, how = self._copies.make(self._snapshot, binary, root, reporter, lambda: interrupt.requested)
            if self._settle_ground is not None:
                self._settle_ground()
            reporter.phase("start", None)
            try:
                self._fleet.launch(self._instances(folders, settings), binary, how)
            except Interrupted:
                raise
            except FlatwaterError as error:
                raise why_not_started(self._snapshot, error) from None
        else:
            self._recover(settings, reporter, check)
        measured_s = self._left.measured_s if self._left is not None else 0.0
        self._fleet.look_after(self._cell, reporter.note, measured_s, self.explained)

    def _recover(self, settings: Mapping[str, str], reporter: Reporter, check: Check) -> None:
        """Starts the servers on the data as they are. They recover from the crash. Then their data are checked.

        Errors: FlatwaterError when a server does not start, or its data are inconsistent. Nothing is deleted.
        """
        binary, root = self._binary_and_root()
        folders, how = self._copies.find(root, reporter)
        self._snapshot = find_snapshot(root, shape_of(self._cell, binary, settings))
        instances = self._instances(folders, settings)
        reporter.phase("recover", None)
        places = " ".join(str(instance.folder) for instance in instances)
        hint = f"mend the cause and resume; or delete {places}, and the cell is measured anew"
        self._launch_again(instances, binary, how, hint)
        took_s = max(instance.recovered_s for instance in instances)
        self._seam = f"; recovery took {took_s:.1f} s"
        broken = [one for one in check() if one.holds is False]
        if broken:
            conditions = ", ".join(str(one.number) for one in broken)
            what = f"after recovery the data are not consistent: TPC-C condition {conditions} of clause 3.3.2"
            raise FlatwaterError(what, hint=hint)

    def _launch_again(
        self, instances: Sequence[Instance], binary: Binary, how: Literal["reflink", "copy"] | None, hint: str
    ) -> None:
        try:
            self._fleet.launch(instances, binary, how)
        except Interrupted:
            raise
        except FlatwaterError as error:
            what = f"the data that the cell stood on cannot be recovered: {error.what}"
            raise FlatwaterError(what, hint=hint) from None

    def _binary_and_root(self) -> tuple[Binary, ServersRoot]:
        assert self._binary is not None and self._root is not None, "they stand on a ground"
        return self._binary, self._root

    def _instances(self, folders: Sequence[Path], settings: Mapping[str, str]) -> list[Instance]:
        binary, _ = self._binary_and_root()
        many = len(folders)
        workload = self._cell.transactions
        connections = -(-workload.connections // many) + SPARE_CONNECTIONS
        if workload.reconnects:
            # A server still counts a connection for a moment after its client has closed it.
            connections += -(-workload.connections // many)
        chosen, shares = {"max_connections": str(connections)}, split(settings, many)
        names = [f"server {number}" if many > 1 else "the server" for number in range(many)]
        return [
            Instance(
                binary,
                folder,
                shares,
                chosen=chosen,
                placed=self._elsewhere.parts(folder.name).lines(binary, folder / "data", shares),
                name=name,
                stop=self.hurried,
            )
            for name, folder in zip(names, folders, strict=True)
        ]

    def logins(self, schema: str | None) -> list[Login]:
        return [instance.login(schema) for instance in self._fleet.instances]

    def probes(self) -> list[Probe]:
        return self._fleet.probes()

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        if self._fleet.crashes is not None:
            self._fleet.crashes.watch(journal, measured_s)

    def settle(self) -> None:
        if self._fleet.crashes is not None:
            self._fleet.crashes.settle(self._interrupt)

    def why_silent(self, error: EngineError) -> FlatwaterError:
        return FlatwaterError(f"the consistency of the data cannot be checked: {self._fleet.died() or error}")

    @property
    def facts(self) -> list[ServerFacts]:
        return self._fleet.facts

    @property
    def recoveries_s(self) -> list[float]:
        return list(self._fleet.crashes.recoveries_s) if self._fleet.crashes is not None else []

    @property
    def trouble(self) -> str | None:
        return self._fleet.crashes.trouble if self._fleet.crashes is not None else None

    def faults(self) -> list[str]:
        fault, crashes = self._cell.server.fault, self._fleet.crashes
        if fault is None or crashes is None or not crashes.injected:
            return []
        length = f", for {fault.duration_s:g} s" if fault.duration_s else ""
        return [f"{fault.kind} at {fault.at_s:g} s{length}"]

    def warnings(self) -> list[str]:
        recovered = [
            f"a server died and was started again: it answered after {recovery_s:.1f} s"
            for recovery_s in self.recoveries_s
        ]
        idle = self._elsewhere.placing.without_effect(self._binary, self._settings) if self._binary is not None else []
        return [*self._fleet.warnings, *idle, *recovered]

    def explained(self, text: str) -> str:
        _, root = self._binary_and_root()
        return FullStorages(self._cell, root.path, self._elsewhere.roots).explained(text)

    def kept(self, text: str, logs: Path) -> str:
        if self._left is not None and not self._seam:
            return text  # the logs are those of data that could not be recovered: they stay in their place
        return self._fleet.kept(text, logs)

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        loaded = self._snapshot.tables() if self._snapshot is not None else []
        failures = self._fleet.end(logs, self._cell, loaded, self.hurried, self._tell_stop)
        self._copies.end_cell(self._root, resumable=resumable)
        self._left = None if not resumable else self._left
        if failures:
            raise FlatwaterError(failures[0])

    def _tell_stop(self) -> None:
        if self._reporter is not None:
            self._reporter.phase("stop", None)

    def remove(self) -> None:
        if self._root is not None and self._snapshot is not None:
            remove_snapshot(self._root, self._snapshot.key)
            self._snapshot = None

    def release(self) -> None:
        # There are servers only if the run was aborted in the middle of a cell.
        self._fleet.close()
        self._elsewhere.release()
        if self._root is not None:
            self._root.close()
            self._root = None
