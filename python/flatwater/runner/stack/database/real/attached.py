"""A database server that is already running (`database.url`). flatwater keeps no files for it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from flatwater._engine import EngineError
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment import PlannedCell
from flatwater.experiment.database.login import Login
from flatwater.owned import write_atomic
from flatwater.probe import Probe, start_probes
from flatwater.probe.server import ServerProbe
from flatwater.results.schema import ServerFacts
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.stack.database.real.copies import SERVERS, keep_token, kept_token
from flatwater.runner.stack.database.real.dataset import load_dataset
from flatwater.runner.stack.layers.servers import Check, Servers
from flatwater.server import Attached, describe, local_pids

#: Parts of the error messages for a schema without data, of the engine and of servers (error 1049: unknown database).
_SIGNS_OF_NO_DATA = ("holds no data of this workload", "(error 1049)")


class AttachedServer(Servers):
    """The server at `database.url`."""

    def __init__(self) -> None:
        self._server: Attached | None = None
        self._facts: list[ServerFacts] = []
        self._resumed = False
        self._kept_in: Path | None = None

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        self._facts, self._resumed = [], False
        self._server = describe(self.logins(None)[0])

    def take_up(self, left: Left) -> str | None:
        _, server = kept_token(left.folder)
        assert self._server is not None
        if server != _identity(self._server):
            return "another server answers at database.url now"
        self._resumed = True
        return None

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None, check: Check) -> None:
        assert self._server is not None
        self._interrupt, self._kept_in = interrupt, kept_in
        told = self._server
        comment = told.version_comment
        self._facts = [ServerFacts(instance=0, flavour=told.flavour, version=told.version_text, comment=comment)]
        server = self._cell.server
        if server.load and not self._resumed:
            load_dataset(self._cell, server.login(), reporter, interrupt)
        if kept_in is not None:
            keep_token(kept_in, "", _identity(told))

    def logins(self, schema: str | None) -> list[Login]:
        return [replace(self._cell.server.login(), schema=schema)]

    def probes(self) -> list[Probe]:
        logins = [to_json(login) for login in self.logins(None)]
        return [*start_probes(None), ServerProbe(logins, local_pids(self._cell.server.login()))]

    def why_not_started(self, error: EngineError) -> UserError:
        # Missing data are an error of the experiment, and nothing was measured.
        empty = any(sign in str(error) for sign in _SIGNS_OF_NO_DATA)
        hint = "database.load = true makes it" if empty and not self._cell.server.load else None
        return UserError(str(error), where="database.url", hint=hint)

    def require_there(self) -> None:
        describe(self.logins(None)[0], self.hurried)

    @property
    def facts(self) -> list[ServerFacts]:
        return self._facts

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        if self._facts and self._server is not None:
            logs.mkdir(parents=True, exist_ok=True)
            write_atomic(logs / "variables.json", json.dumps(dict(self._server.variables), indent=1))
        if not resumable and self._kept_in is not None:
            (self._kept_in / SERVERS).unlink(missing_ok=True)


def _identity(server: Attached) -> str:
    """A digest that differs between servers, and reveals nothing about them."""
    names = ("hostname", "datadir", "port", "socket", "server_uuid")
    told = [server.flavour, server.version_text, *(str(server.variables.get(name, "")) for name in names)]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()
