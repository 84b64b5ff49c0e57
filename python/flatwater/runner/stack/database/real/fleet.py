"""The running servers of one cell: launched, queried for their settings, watched and stopped, with their logs kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError
from flatwater.experiment import Experiment
from flatwater.owned import write_atomic
from flatwater.probe import Probe, start_probes
from flatwater.probe.server import ServerProbe
from flatwater.results.schema import ServerFacts
from flatwater.runner.stack.database.real.crashes import Crashes
from flatwater.runner.stack.database.real.index_sizes import index_sizes
from flatwater.server import Binary, Instance
from flatwater.server.process import PATIENCE_S

#: Connections of a server in addition to the workload's: for the recorder and the checks.
SPARE_CONNECTIONS = 16
#: A server that waits for room on a full disk ends only when it has some: it is killed after so long without progress.
FULL_PATIENCE_S = 10.0


class Fleet:
    """The server instances of a cell."""

    def __init__(self) -> None:
        self.instances: Sequence[Instance] = ()
        #: Watches the servers while a workload runs.
        self.crashes: Crashes | None = None
        self.facts: list[ServerFacts] = []
        #: Settings that differ from the requested ones, and servers that ended badly.
        self.warnings: list[str] = []
        #: The variables of each server, queried when it was ready: at the end it may be dead.
        self._variables: list[Mapping[str, str]] = []
        self._several = False

    def launch(self, instances: Sequence[Instance], binary: Binary, copied: Literal["reflink", "copy"] | None) -> None:
        """Launches all servers, and waits for each. `copied` is how their data were copied from the snapshot.

        Errors: FlatwaterError, Interrupted.
        """
        self.instances, self._several = instances, len(instances) > 1
        for instance in instances:
            make_doublewrite_file(instance)
            instance.launch()
        for number, instance in enumerate(instances):
            instance.wait_ready()
            self.facts.append(_facts(number, binary, instance, copied))
            self._variables.append(instance.variables())
            for name, (requested, got) in instance.adjusted(self._variables[-1]).items():
                self.warnings.append(f"{instance.name} runs with {name} = {got}, not {requested}")

    def look_after(
        self, cell: Experiment, tell: Callable[[str], None], measured_s: float, explain: Callable[[str], str]
    ) -> None:
        """Starts to watch the servers; `measured_s` were measured by an earlier run. `explain` adds which storage is
        full.
        """
        self.crashes = Crashes(cell, self.instances, tell, measured_s=measured_s, explain=explain)

    def probes(self) -> list[Probe]:
        """The probes of the servers, and of the storage below them."""
        logins = [to_json(instance.login(None)) for instance in self.instances]
        # The pids are read at each sample: a restarted server is a new process.
        probe = ServerProbe(logins, lambda: [instance.pid for instance in self.instances], own=True)
        return [*start_probes(self.instances[0].data), probe]

    def died(self) -> str | None:
        """The name and the exit status of a dead server; None if all are alive."""
        return next((f"{one.name} {how}" for one in self.instances if (how := one.died())), None)

    def kept(self, text: str, logs: Path) -> str:
        """The text with the servers' folders replaced by the folders where their logs are kept."""
        for instance in self.instances:
            own = logs / instance.folder.name.rpartition("-")[2] if self._several else logs
            text = text.replace(str(instance.folder), str(own))
        return text

    def end(
        self,
        logs: Path,
        cell: Experiment,
        loaded: Sequence[JsonValue],
        hurried: Callable[[], bool],
        tell: Callable[[], None],
    ) -> list[str]:
        """Stops all servers, and copies their logs to `logs`; returns why some ended badly.

        `loaded` are the sizes of the indexes in the snapshot, which are kept beside those of the end. `tell` is called
        before the first server is stopped.
        """
        if self.crashes is not None:
            self.crashes.close()
        failures: list[str] = []
        try:
            if loaded:
                logs.mkdir(parents=True, exist_ok=True)
                write_atomic(logs / "tables-loaded.json", json.dumps(loaded, indent=1))
            for number, variables in enumerate(self._variables):
                own = self._logs(logs, number)
                own.mkdir(parents=True, exist_ok=True)
                write_atomic(own / "variables.json", json.dumps(dict(variables), indent=1))
            for number, instance in enumerate(self.instances):
                own = self._logs(logs, number)
                # TPC-C's model does not read what servers without statistics say (`MeasuredWorkload.rows_a_page`).
                worth = cell.workload.kind == "oltp"
                if tables := index_sizes(instance, cell.schema_name, hurried, worth_a_wait=worth):
                    write_atomic(own / "tables.json", json.dumps(tables, indent=1))
            if self.instances:
                tell()
            for number, instance in enumerate(self.instances):
                patience_s = FULL_PATIENCE_S if self.crashes is not None and self.crashes.trouble else PATIENCE_S
                failures += _end(instance, self._logs(logs, number), hurried, patience_s)
        finally:
            self.close()
        return failures

    def _logs(self, logs: Path, number: int) -> Path:
        return logs / str(number) if self._several else logs

    def close(self) -> None:
        """Kills all servers at once."""
        for instance in self.instances:
            instance.close()
        self.instances = ()


def _end(instance: Instance, logs: Path, hurried: Callable[[], bool], patience_s: float) -> list[str]:
    """Stops one server, and copies its logs; returns why it ended badly."""
    failures: list[str] = []
    running = instance.running
    try:
        logs.mkdir(parents=True, exist_ok=True)
        if running and not hurried():
            instance.stop(patience_s=patience_s)
    except FlatwaterError as error:
        failures.append(str(error))
    finally:
        instance.close()
    for path in (instance.folder / "my.cnf", instance.error_log):
        if path.exists():
            (logs / path.name).unlink(missing_ok=True)  # a link with this name must not be followed
            shutil.copyfile(path, logs / path.name)
    return failures


def _facts(number: int, binary: Binary, instance: Instance, copied: Literal["reflink", "copy"] | None) -> ServerFacts:
    return ServerFacts(
        instance=number,
        flavour=binary.flavour,
        version=binary.version_text,
        comment=instance.version_comment,
        started_s=instance.recovered_s,
        data=copied,
    )


def make_doublewrite_file(instance: Instance) -> None:
    """Lets a server make the file of its doublewrite buffer, and write it, if it is to have one (XtraDB before 5.6).

    The first page of a new file is in memory only until the server stops. One that is killed before that does not
    recover: it takes its data for those of a server before 4.1 (srv0start.c makes the file, trx0sys.c reads it), and
    ends with an assertion of ibuf0ibuf.c. Errors: FlatwaterError, Interrupted.
    """
    name = {**instance.settings, **instance.placed}.get("innodb_doublewrite_file")
    if name is not None and not (instance.data / name).exists():
        instance.start()
        instance.stop()
