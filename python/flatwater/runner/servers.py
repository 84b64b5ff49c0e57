"""A workload on database servers: ones that flatwater starts on copies of a snapshot, or one that runs already."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import psutil

from flatwater._engine import EngineError, Run, check_consistency
from flatwater.engine_json import Json, to_json
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, PlannedCell, Tpcc, cell_at
from flatwater.experiment.database.login import Login
from flatwater.owned import write_atomic
from flatwater.plan.run import Plan
from flatwater.plan.server import RealDatabase, write_real_database
from flatwater.probe import Probe, device_text, start_probes
from flatwater.probe.server import ServerProbe
from flatwater.results.schema import Condition, ResponseLimit, ServerFacts
from flatwater.runner.copies import (
    SERVERS,
    Copy,
    find_copies,
    keep_token,
    kept_token,
    name_of,
    new_token,
    sort_out,
    why_not,
    write_copy,
)
from flatwater.runner.crashes import Crashes
from flatwater.runner.dataset import DATASET_VERSION, describe_dataset, estimate_bytes, load_dataset
from flatwater.runner.index_sizes import index_sizes, loaded_sizes, print_loaded
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.stack import Stack
from flatwater.runner.tally import Tally
from flatwater.server import (
    Attached,
    Binary,
    Instance,
    ServersRoot,
    Shape,
    Snapshot,
    ask,
    check_space,
    describe,
    find_server,
    find_snapshot,
    loading_settings,
    local_pids,
    open_loading,
    open_root,
    remove_snapshot,
    shaping,
    split,
    translate,
)

#: A sweep's settings are checked before anything is loaded, for so many of its cells: each takes microseconds.
CELLS_CHECKED = 10_000
#: Connections of a server beside the workload's: the recorder's and the checks'.
SPARE_CONNECTIONS = 16

#: How the engine and servers (error 1049: unknown database) say that a schema was not filled yet.
_SIGNS_OF_NO_DATA = ("holds no data of this workload", "(error 1049)")

#: TPC-C's limits on the 90th percentile of the response time, seconds (clause 5.2.5.7). A Delivery answers when it is
#: queued, in 5 s; what is measured here is its work, for which clause 2.7.2.2 gives 80, as tpcc-mysql has it too.
RESPONSE_LIMITS_S = {"new_order": 5.0, "payment": 5.0, "order_status": 5.0, "delivery": 80.0, "stock_level": 20.0}


class ServerStack(Stack):
    """tpcc or oltp on one or several servers."""

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        self._experiment = experiment
        self._plan = plan
        self._cell = plan.experiment
        self._root: ServersRoot | None = None
        self._binary: Binary | None = None
        self._attached: Attached | None = None
        self._snapshot: Snapshot | None = None
        self._instances: list[Instance] = []
        self._crashes: Crashes | None = None
        self._facts: list[ServerFacts] = []
        #: What each server runs with, asked when it was ready: at the end it may be dead.
        self._variables: list[Mapping[str, str]] = []
        self._warnings: list[str] = []
        self._interrupt: Interrupt | None = None
        #: What an earlier run left, if it is to be gone on with.
        self._left: Left | None = None
        #: The token of the cell's copies.
        self._token = ""
        self._seam = ""
        #: How the copies came from the snapshot.
        self._copied: Literal["reflink", "copy"] | None = None
        #: What was said of what other runs left.
        self._told: set[str] = set()
        self._reporter: Reporter | None = None
        self._open()

    def _open(self) -> None:
        """Finds the cell's server and its place."""
        server = self._cell.server
        if server.attached:
            self._attached = describe(self._logins(None)[0])
            return
        self._binary = find_server(server.binary)
        storage = Path(self._cell.storage.path or "").absolute()
        if self._root is None or self._root.path.parent != storage:
            self.release()
            self._root = open_root(storage)

    @property
    def place(self) -> Path | None:
        return self._root.path if self._root is not None else None

    @property
    def device(self) -> str:
        return device_text(self._root.path) if self._root is not None else "of a server that was running"

    def check_sweep(self) -> None:
        checked: set[str] = set()
        for position in range(min(self._experiment.sweep.positions, CELLS_CHECKED)):
            cell = cell_at(self._experiment, position).experiment
            if cell.database.REALITY != "real":
                continue  # a modelled twin
            server = cell.server
            asked = json.dumps([server.binary, server.settings, server.instances], sort_keys=True)
            if not server.attached and asked not in checked:
                checked.add(asked)
                split(translate(server.settings, find_server(server.binary)), server.instances)

    def turn_to(self, plan: PlannedCell) -> None:
        self._plan, self._cell = plan, plan.experiment
        self._facts, self._variables, self._warnings, self._crashes = [], [], [], None
        self._left, self._seam = None, ""
        self._open()

    def take_up(self, left: Left) -> str | None:
        token, server = kept_token(left.folder)
        if self._attached is not None:
            if server != _identity(self._attached):
                return "another server answers at database.url now"
        else:
            assert self._binary is not None and self._root is not None
            found = find_copies(self._root, token, self._plan.index, self._cell.server.instances)
            reason = why_not(found, self._binary, self._root.path)
            if reason is not None:
                return reason
        self._left, self._token = left, token
        return None

    @property
    def seam(self) -> str:
        return self._seam

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        self._interrupt, self._reporter = interrupt, reporter
        if self._attached is not None:
            self._facts = [_facts(0, self._attached.flavour, self._attached.version_text, self._attached)]
            self._variables = [self._attached.variables]
            if self._cell.server.load and self._left is None:
                load_dataset(self._cell, self._cell.server.login(), reporter, interrupt)
            self._keep_token(_identity(self._attached))
            return
        assert self._binary is not None and self._root is not None
        settings = translate(self._cell.server.settings, self._binary)
        if self._left is None:
            self._snapshot = self._loaded(settings, reporter, interrupt)
            self._make_copies(self._snapshot, settings, reporter, interrupt)
            reporter.phase("start", None)
            self._start(interrupt)
        else:
            self._recover(settings, reporter, interrupt)
        measured_s = self._left.measured_s if self._left is not None else 0.0
        self._crashes = Crashes(self._cell, self._instances, reporter.note, measured_s=measured_s)

    def _keep_token(self, server: str = "") -> None:
        if self.kept_in is not None:
            try:
                keep_token(self.kept_in, self._token, server)
            except OSError as error:
                what = f"cannot write {self.kept_in}: {error.strerror}"
                raise FlatwaterError(what, where="--out", hint="make room there") from None

    def _make_copies(
        self, snapshot: Snapshot, settings: Mapping[str, str], reporter: Reporter, interrupt: Interrupt
    ) -> None:
        """Gives each server a data directory of its own, which stays until the cell is over."""
        assert self._binary is not None and self._root is not None
        self._token = new_token()
        self._clear_leftovers(reporter)
        self._keep_token()
        reporter.phase("copy the data", None)
        for number in range(self._cell.server.instances):
            folder = self._run_folder(number, empty=True)
            copied = snapshot.copy_to(folder / "data", reporter.written, lambda: interrupt.asked)
            if self.kept_in is not None:
                binary, many, cell = self._binary, self._cell.server.instances, str(self.kept_in.absolute())
                kind, version = binary.flavour, binary.version_text
                write_copy(folder, Copy(self._token, number, many, kind, version, copied.how, cell))
            self._instances.append(self._instance(number, folder, settings))
            self._copied = copied.how

    def _run_folder(self, number: int, *, empty: bool = False) -> Path:
        assert self._root is not None
        name = name_of(self._token, self._plan.index, number)
        return self._root.run_folder(name) if empty else self._root.run_path(name)

    def _instance(self, number: int, folder: Path, settings: Mapping[str, str]) -> Instance:
        assert self._binary is not None
        server = self._cell.server
        connections = -(-self._cell.transactions.connections // server.instances) + SPARE_CONNECTIONS
        name = f"server {number}" if server.instances > 1 else "the server"
        chosen = {"max_connections": str(connections)}
        return Instance(
            self._binary, folder, split(settings, server.instances), chosen=chosen, name=name, stop=self._hurried
        )

    def _start(self, interrupt: Interrupt) -> None:
        """Launches all servers, and waits for each."""
        assert self._binary is not None
        for instance in self._instances:
            instance.launch()
        for number, instance in enumerate(self._instances):
            instance.wait_ready()
            self._facts.append(_facts(number, self._binary.flavour, self._binary.version_text, instance))
            self._facts[-1].data = self._copied
            self._variables.append(instance.variables())
            for name, (asked, got) in instance.adjusted(self._variables[-1]).items():
                self._warnings.append(f"{instance.name} runs with {name} = {got}, not {asked}")

    def _recover(self, settings: Mapping[str, str], reporter: Reporter, interrupt: Interrupt) -> None:
        """Starts the servers on the data as they stood: crash recovery is theirs, and its outcome is checked.

        Errors: FlatwaterError when they do not start, or their data are not consistent; nothing is deleted.
        """
        assert self._binary is not None and self._root is not None
        self._clear_leftovers(reporter)
        self._snapshot = find_snapshot(self._root, self._shape(settings))
        many = self._cell.server.instances
        for number, copy in enumerate(find_copies(self._root, self._token, self._plan.index, many)):
            folder = self._run_folder(number)
            if copy is not None:
                self._copied = "reflink" if copy.data == "reflink" else "copy"
                if self.kept_in is not None:
                    # The result may have been moved.
                    write_copy(folder, replace(copy, cell=str(self.kept_in.absolute())))
            self._instances.append(self._instance(number, folder, settings))
        reporter.phase("recover", None)
        places = " ".join(str(instance.folder) for instance in self._instances)
        hint = f"mend the cause and resume; or delete {places}, and the cell is measured anew"
        try:
            self._start(interrupt)
        except Interrupted:
            raise
        except FlatwaterError as error:
            raise FlatwaterError(
                f"the data that the cell stood on cannot be recovered: {error.what}", hint=hint
            ) from None
        took_s = max(instance.recovered_s for instance in self._instances)
        self._seam = f"; recovery took {took_s:.1f} s"
        broken = [one for one in self.check(reporter) if one.holds is False]
        if broken:
            told = ", ".join(str(one.number) for one in broken)
            what = f"after recovery the data are not consistent: TPC-C condition {told} of clause 3.3.2"
            raise FlatwaterError(what, hint=hint)

    def _clear_leftovers(self, reporter: Reporter) -> None:
        """Deletes what no run needs; tells of what another one does, once."""
        assert self._root is not None
        rubbish, told = sort_out(self._root, self._token)
        for name in rubbish:
            self._root.remove_run(name)
        for text in told:
            if text not in self._told:
                self._told.add(text)
                reporter.note(text)

    def _shape(self, settings: Mapping[str, str]) -> Shape:
        assert self._binary is not None
        return Shape.of(self._binary, describe_dataset(self._cell), settings, dataset_version=DATASET_VERSION)

    def _loaded(self, settings: Mapping[str, str], reporter: Reporter, interrupt: Interrupt) -> Snapshot:
        """The loaded data directory that cells start from; made if it is not there yet."""
        assert self._binary is not None and self._root is not None
        shape = self._shape(settings)
        found = find_snapshot(self._root, shape)
        if found is not None:
            return found
        loading = open_loading(self._root, shape)
        memory, size = psutil.virtual_memory().total, estimate_bytes(self._cell)
        chosen = loading_settings(self._binary, memory_bytes=memory, data_bytes=size)
        if not loading.resumed:
            check_space(self._root.path, size)
        shape_settings = shaping(settings)
        with Instance(self._binary, loading.folder, shape_settings, chosen=chosen, stop=self._hurried) as instance:
            if loading.resumed:
                try:
                    instance.start()
                except Interrupted:
                    raise
                except FlatwaterError:
                    reporter.note("what a load that was cut short left behind cannot be used: loading anew")
                    loading = loading.discard()
            if not instance.running:
                reporter.phase("make a data directory", None)
                instance.initialise()
                instance.start()
            load_dataset(self._cell, instance.login(), reporter, interrupt, instance.died)
            reporter.phase("settle", None)
            print_loaded(instance, self._cell.schema_name, self._hurried)
            instance.stop()
        return loading.commit()

    def _logins(self, schema: str | None) -> list[Login]:
        """How to log in to each server of the cell."""
        server = self._cell.server
        if server.attached:
            return [replace(server.login(), schema=schema)]
        return [instance.login(schema) for instance in self._instances]

    def probes(self) -> list[Probe]:
        logins = [to_json(login) for login in self._logins(None)]
        if self._attached is not None:
            return [*start_probes(None), ServerProbe(logins, local_pids(self._cell.server.login()))]
        # Asked at each sample: a server that is started again is another process.
        probe = ServerProbe(logins, lambda: [instance.pid for instance in self._instances], own=True)
        return [*start_probes(self._instances[0].data), probe]

    def workload_spec(self, seed: int) -> Plan:
        return write_real_database(self._cell, self._logins(self._cell.schema_name), seed)

    def start(self, plan: Plan, after: Run | None = None) -> Run:
        assert isinstance(plan, RealDatabase)
        try:
            # It asks every server for its data.
            return ask(lambda: Run.database(to_json(plan)), self._hurried)
        except EngineError as error:
            if self._attached is None:
                raise
            # That what its user asked for is not there is the experiment's fault, and nothing was measured.
            empty = any(sign in str(error) for sign in _SIGNS_OF_NO_DATA)
            hint = "database.load = true makes it" if empty and not self._cell.server.load else None
            raise UserError(str(error), where="database.url", hint=hint) from None

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        if self._crashes is not None:
            self._crashes.watch(journal, measured_s)

    def check(self, reporter: Reporter) -> list[Condition]:
        workload = self._cell.workload
        if self._attached is not None:
            # Nobody else watches it: one that died in mid-run must not pass for one that was slow.
            describe(self._logins(None)[0], self._hurried)
        if not isinstance(workload, Tpcc) or not workload.check_consistency:
            return []
        reporter.phase("check consistency", None)
        if self._crashes is not None:
            self._crashes.settle(self._interrupt)
        found = []
        for number, login in enumerate(self._logins(self._cell.schema_name)):
            for condition, title, reason, violations in self._ask_conditions(to_json(login)):
                found.append(
                    Condition(
                        number=condition,
                        title=title,
                        instance=number,
                        applies=reason is None,
                        holds=None if violations is None else violations == 0,
                        violations=violations,
                        note=reason or "",
                    )
                )
        return found

    def _ask_conditions(self, login: Json[Login]) -> list[tuple[int, str, str | None, int | None]]:
        """Number, title, why it does not apply, violations: of each condition. Its queries may take minutes."""
        try:
            return ask(lambda: check_consistency(login, after_run=True), self._hurried)
        except EngineError as error:
            died = next((f"{one.name} {how}" for one in self._instances if (how := one.died())), None)
            raise FlatwaterError(f"the consistency of the data cannot be checked: {died or error}") from None

    def response_limits(self, tally: Tally) -> list[ResponseLimit]:
        if not isinstance(self._cell.workload, Tpcc):
            return []
        found = []
        for kind, limit_s in RESPONSE_LIMITS_S.items():
            p90_us = tally.quantile_us(kind, 0.9)
            if p90_us is not None:
                limit_us = limit_s * 1e6
                found.append(ResponseLimit(kind=kind, limit_us=limit_us, p90_us=p90_us, within=p90_us <= limit_us))
        return found

    @property
    def recoveries_s(self) -> list[float]:
        return list(self._crashes.recoveries_s) if self._crashes is not None else []

    @property
    def servers(self) -> list[ServerFacts]:
        return self._facts

    def faults(self) -> list[str]:
        fault = self._cell.server.fault
        if fault is None or self._crashes is None or not self._crashes.injected:
            return []
        length = f", for {fault.duration_s:g} s" if fault.duration_s else ""
        return [f"{fault.kind} at {fault.at_s:g} s{length}"]

    @property
    def trouble(self) -> str | None:
        return self._crashes.trouble if self._crashes is not None else None

    def kept(self, text: str, logs: Path) -> str:
        if self._left is not None and not self._seam:
            return text  # of data that could not be recovered, which stay where they are
        for instance in self._instances:
            own = logs / instance.folder.name.rpartition("-")[2] if len(self._instances) > 1 else logs
            text = text.replace(str(instance.folder), str(own))
        return text

    def warnings(self) -> list[str]:
        recovered = [
            f"a server died and was started again: it answered after {recovery_s:.1f} s"
            for recovery_s in self.recoveries_s
        ]
        return [*self._warnings, *recovered]

    def end_cell(self, logs: Path, *, goes_on: bool = False) -> None:
        if self._crashes is not None:
            self._crashes.close()
        failures: list[str] = []
        several, schema = self._cell.server.instances > 1, self._cell.schema_name
        try:
            for number, variables in enumerate(self._variables):
                own = logs / str(number) if several else logs
                own.mkdir(parents=True, exist_ok=True)
                write_atomic(own / "variables.json", json.dumps(dict(variables), indent=1))
            for number, instance in enumerate(self._instances):
                own = logs / str(number) if several else logs
                if tables := index_sizes(instance, schema, self._hurried):
                    write_atomic(own / "tables.json", json.dumps(tables, indent=1))
                if self._snapshot is not None and (tables := loaded_sizes(self._snapshot.error_log, schema)):
                    write_atomic(own / "loaded-tables.json", json.dumps(tables, indent=1))
            if self._reporter is not None and self._instances:
                self._reporter.phase("stop", None)
            for number, instance in enumerate(self._instances):
                failures += self._end(instance, logs / str(number) if several else logs)
        finally:
            self._close_instances()
        if not goes_on or self.kept_in is None:
            self._forget_copies()
        if failures:
            raise FlatwaterError(failures[0])

    def _forget_copies(self) -> None:
        """The cell is over: nobody goes on with its data."""
        if self._root is not None and self._token:
            for number in range(self._cell.server.instances):
                self._root.remove_run(name_of(self._token, self._plan.index, number))
        if self.kept_in is not None:
            (self.kept_in / SERVERS).unlink(missing_ok=True)
        self._token, self._left = "", None

    def _hurried(self) -> bool:
        return self._interrupt is not None and self._interrupt.asked

    def _close_instances(self) -> None:
        for instance in self._instances:
            instance.close()
        self._instances = []

    def _end(self, instance: Instance, logs: Path) -> list[str]:
        """Stops one server, and keeps what it said; why it did not end well."""
        failures: list[str] = []
        running = instance.running
        try:
            logs.mkdir(parents=True, exist_ok=True)
            if running and not self._hurried():
                instance.stop()
        except FlatwaterError as error:
            failures.append(str(error))
        finally:
            instance.close()
        for path in (instance.folder / "my.cnf", instance.error_log):
            if path.exists():
                (logs / path.name).unlink(missing_ok=True)  # a link that took its name is not followed
                shutil.copyfile(path, logs / path.name)
        return failures

    def remove(self) -> None:
        if self._root is not None and self._snapshot is not None:
            remove_snapshot(self._root, self._snapshot.key)
            self._snapshot = None

    def release(self) -> None:
        # There are some only if the run was ended in the middle of a cell.
        self._close_instances()
        if self._root is not None:
            self._root.close()
            self._root = None


def _identity(server: Attached) -> str:
    """What tells servers apart, and names none of them."""
    names = ("hostname", "datadir", "port", "socket", "server_uuid")
    told = [server.flavour, server.version_text, *(str(server.variables.get(name, "")) for name in names)]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()


def _facts(number: int, flavour: str, version: str, told: Instance | Attached) -> ServerFacts:
    started_s = told.recovered_s if isinstance(told, Instance) else None
    return ServerFacts(
        instance=number, flavour=flavour, version=version, comment=told.version_comment, started_s=started_s
    )
