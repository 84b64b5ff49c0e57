"""A database server that is already running (`database.url`). flatwater keeps no files for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from flatwater._engine import EngineError
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment import Observed, OwnStatements, PlannedCell
from flatwater.experiment.database.login import Login
from flatwater.owned import write_atomic
from flatwater.probe import Probe, start_probes
from flatwater.probe.server import OF_A_RUN, OF_AN_OBSERVATION, Also, ServerProbe
from flatwater.results.observation import Gap
from flatwater.results.schema import ServerFacts
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.stack.database.real.apart import Found, find_apart
from flatwater.runner.stack.database.real.copies import SERVERS, keep_token, kept_token
from flatwater.runner.stack.database.real.dataset import load_dataset
from flatwater.runner.stack.database.real.full import explain_elsewhere
from flatwater.runner.stack.database.real.machine_gaps import gaps_of_machine
from flatwater.runner.stack.database.real.outages import Outages
from flatwater.runner.stack.layers.servers import Check, Servers
from flatwater.runner.stack.layers.storage import Used
from flatwater.server import Attached, Local, describe, find_local, in_url, is_stopped

#: Parts of the error messages for a schema without data, of the engine and of servers (error 1049: unknown database).
_SIGNS_OF_NO_DATA = ("holds no data of this workload", "(error 1049)")

#: Signs of an address at which nobody listens.
_NOBODY = ("Connection refused", "No such file or directory")
#: How often the process of a server that was started anew is looked for, seconds.
LOOK_AGAIN_S = 1.0
#: A server under load may answer later than an interval of 0.1 s ends. That is no outage; this silence is one.
SILENT_S = 2.0


class AttachedServer(Servers):
    """The server at `database.url`."""

    def __init__(self) -> None:
        self._server: Attached | None = None
        self._facts: list[ServerFacts] = []
        self._resumed = False
        self._kept_in: Path | None = None
        self._reporter: Reporter | None = None
        self._local = Local()
        #: The devices of its parts that are not with its data.
        self._found = Found()
        self._looked_at_s = 0.0
        self._probe: ServerProbe | None = None
        self._outages = Outages()
        self._seen_s = 0.0

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        self._facts, self._resumed = [], False
        self._server = describe(self.logins(None)[0])
        self._local = find_local(self.logins(None)[0], self._server)
        self._found = find_apart(self._server, self._local)

    @property
    def used(self) -> Used | None:
        data = self._local.data
        return Used(data, data) if data is not None else None

    @property
    def others(self) -> dict[str, str]:
        return {one.name: one.text for one in self._found.apart}

    @property
    def other_places(self) -> list[Path]:
        return [one.place for one in self._found.apart]

    @property
    def pid(self) -> int | None:
        """The server's process, if it is on this machine; another one after the server was started anew."""
        pid, now_s = self._local.pid, time.monotonic()
        if pid is not None and not Path(f"/proc/{pid}").exists() and now_s >= self._looked_at_s + LOOK_AGAIN_S:
            self._looked_at_s = now_s
            assert self._server is not None
            found = find_local(self.logins(None)[0], self._server)
            self._local = replace(self._local, pid=found.pid) if found.pid is not None else self._local
        return self._local.pid

    def is_down(self) -> bool:
        """Whether the server is known not to run: its process is gone or stopped, or nobody listens for it."""
        pid = self.pid
        if pid is not None:
            return is_stopped(pid)
        return self._probe is not None and any(sign in self._probe.trouble for sign in _NOBODY)

    def why_not_anew(self, left: Left) -> str | None:
        workload = self._cell.workload
        why = workload.cannot_go_on if isinstance(workload, OwnStatements) and workload.allow_writes else None
        _, begun = kept_token(left.folder)
        if why is None or not (begun or left.phases) or (left.over and left.why_not is None):
            return None
        # Also with `load`: what was loaded once is not loaded again.
        return (
            f"cannot be resumed: {why}, and the server at database.url has what was written before (hint: put its data "
            "back as they were, and run the experiment into a new result)"
        )

    def take_up(self, left: Left) -> str | None:
        _, server = kept_token(left.folder)
        assert self._server is not None
        if server != self._server.identity:
            return "another server answers at database.url now"
        self._resumed = True
        return None

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None, check: Check) -> None:
        assert self._server is not None
        self._interrupt, self._kept_in, self._reporter = interrupt, kept_in, reporter
        told = self._server
        comment = told.version_comment
        facts = ServerFacts(instance=0, flavour=told.flavour, version=told.version_text, comment=comment, tls=told.tls)
        self._facts = [facts]
        server = self._cell.server
        if server.load and not self._resumed:
            load_dataset(self._cell, server.login(), reporter, interrupt)
        if kept_in is not None:
            keep_token(kept_in, "", told.identity)

    def logins(self, schema: str | None) -> list[Login]:
        return [replace(self._cell.server.login(), schema=schema)]

    def probes(self) -> list[Probe]:
        machine = [*start_probes(self._local.data), *(one.probe() for one in self._found.apart)]
        if self._is_observed:
            # The observing asks the server itself. Of a server elsewhere, this machine has nothing to tell.
            return machine if self._local.pid is not None else []
        return [*machine, self.watch_itself()]

    def watch_itself(self, also: Also | None = None) -> ServerProbe:
        """Starts to ask the server for its figures, and after each answer what else is wanted; `end_cell` ends it."""
        logins = [to_json(login) for login in self.logins(None)]
        pace = OF_AN_OBSERVATION if self._is_observed else OF_A_RUN
        words: Callable[[str], str] = in_url if self._is_observed else str
        pids = lambda: [pid] if (pid := self.pid) is not None else []  # noqa: E731 (one line)
        self._probe = ServerProbe(logins, pids, pace=pace, also=also, words=words)
        self._outages, self._seen_s = Outages(SILENT_S), self._probe.sampled_at_s
        return self._probe

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        # An observation looks itself, at the moments of its own intervals.
        if self._probe is None or self._probe.sampled_at_s == self._seen_s or self._is_observed:
            return
        self._seen_s, reading = self._probe.sampled_at_s, self._probe.newest
        down = reading is None and self.is_down()
        for news in self._outages.see(journal.at_s, reading, self._probe.trouble, down=down):
            journal.event(news.kind, news.text, news.at_s)
            if self._reporter is not None:
                self._reporter.note(news.text)

    def gaps(self) -> list[Gap]:
        of_server = self._probe.gaps if self._probe is not None else []
        return [*of_server, *gaps_of_machine(self._local), *self._found.gaps]

    def why_not_started(self, error: EngineError) -> UserError:
        # Missing data are an error of the experiment, and nothing was measured.
        self._forget_cell()
        empty = any(sign in str(error) for sign in _SIGNS_OF_NO_DATA)
        hint = "database.load = true makes it" if empty and not self._cell.server.load else None
        # An error of the user's own statements begins with its place.
        where = None if str(error).startswith("workload.") else "database.url"
        return UserError(str(error), where=where, hint=hint)

    def explained(self, text: str) -> str:
        return explain_elsewhere(text, self._local.data)

    def require_there(self) -> None:
        describe(self.logins(None)[0], self.hurried)

    @property
    def _is_observed(self) -> bool:
        return isinstance(self._cell.workload, Observed)

    @property
    def facts(self) -> list[ServerFacts]:
        return self._facts

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        if self._probe is not None:
            self._probe.close()
        if self._facts and self._server is not None:
            logs.mkdir(parents=True, exist_ok=True)
            write_atomic(logs / "variables.json", json.dumps(dict(self._server.variables), indent=1))
        # Of a workload that can only begin anew, it is known from then on that it began.
        if not resumable and self._cell.workload.cannot_go_on is None:
            self._forget_cell()

    def _forget_cell(self) -> None:
        if self._kept_in is not None:
            (self._kept_in / SERVERS).unlink(missing_ok=True)
