"""The work of a server's own clients, watched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar

from flatwater._engine import Connection, EngineError, Run
from flatwater.engine_json import to_json
from flatwater.experiment import Observed
from flatwater.probe.server.digests import DigestLooks
from flatwater.probe.server.statements import Digests, read_digests, statements_between, without_samples
from flatwater.results.digests import DIGESTS, DigestFile
from flatwater.results.observation import Gap, Statement
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.database.real.attached import AttachedServer
from flatwater.runner.stack.layers.running import Observation
from flatwater.runner.stack.layers.workload import Workload
from flatwater.runner.stack.workload.real.observing import ObservedRun
from flatwater.server import ask

T = TypeVar("T")
#: A server that does not answer when the observing ends is not waited for longer, seconds.
ANSWER_S = 1.0
_SILENT = Digests(
    {}, Gap(what="the statements that take the time", figures=["workload.statements"], why="the server did not answer")
)


class ObservedWork(Workload[Observation]):
    """Watches one server that runs already."""

    ends_at_will: ClassVar[bool] = True

    def __init__(self, server: AttachedServer) -> None:
        self._server = server
        self._reporter: Reporter | None = None
        self._run: ObservedRun | None = None
        self._digests = _SILENT
        self._looks = DigestLooks(samples=False)
        self._file: DigestFile | None = None
        self._zero_s = 0.0

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None) -> None:
        self._reporter = reporter
        self._server.prepare(reporter, interrupt, kept_in, lambda: ())

    def plan(self, seed: int) -> Observation:
        return Observation(self._cell.record.interval_s, self._cell.workload.unit)

    def start(self, plan: Observation, after: Run | None = None) -> ObservedRun:
        self._digests = self._ask_for_digests()
        self._looks = DigestLooks(samples=self._observed.samples)
        probe = self._server.watch_itself(self._looks.look)
        self._run = ObservedRun(plan, probe, self._server.is_down, lambda: self._server.pid)
        return self._run

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        if self._run is None:
            return
        if self._file is None:
            self._zero_s = self._run.begun_s - journal.at_s
            self._file = DigestFile(journal.folder / DIGESTS, samples=self._observed.samples)
        self._keep_looks()
        news, self._run.news = self._run.news, []
        for one in news:
            journal.event(one.kind, one.text, one.at_s)
            if self._reporter is not None:
                self._reporter.note(one.text)

    def gaps(self) -> list[Gap]:
        figures = ["workload.latency_p50_us", "workload.latency_p95_us", "workload.latency_p99_us"]
        why = "a server's counters do not tell how long each statement took"
        found = [Gap(what="latencies of statements", figures=figures, why=why)]
        no_digests, no_samples = self._digests.gap, self._looks.gap
        # A server that was silent in the beginning may have told samples later.
        if no_digests is not None and self._digests is not _SILENT and self._observed.samples:
            no_samples = without_samples(no_digests)
        return [*found, *(gap for gap in (no_digests, no_samples) if gap is not None)]

    def statements(self) -> list[Statement]:
        before = self._digests
        if before.gap is not None:
            return []

        def compare(connection: Connection) -> list[Statement]:
            return statements_between(connection, before, read_digests(connection))

        return self._ask(compare) or []

    def _ask_for_digests(self) -> Digests:
        return self._ask(read_digests) or _SILENT

    def _ask(self, question: Callable[[Connection], T]) -> T | None:
        """The answer to one question over a connection of its own; None if the server does not answer."""
        login = to_json(self._server.logins(None)[0])

        def answer() -> T:
            connection = Connection(login, ANSWER_S)
            try:
                return question(connection)
            finally:
                connection.close()

        try:
            return ask(answer)
        except EngineError:
            return None

    def _keep_looks(self) -> None:
        if self._file is not None:
            for look in self._looks.take():
                self._file.add(look, self._zero_s)

    @property
    def _observed(self) -> Observed:
        workload = self._cell.workload
        assert isinstance(workload, Observed)
        return workload

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        self._run = None
        if self._file is None:
            return
        # What was done since the last look of the watch.
        self._ask(lambda connection: self._looks.look(connection, last=True))
        self._keep_looks()
        self._file.close()
        written, self._file = self._file.path, None
        if not resumable:
            logs.mkdir(parents=True, exist_ok=True)
            written.replace(logs / DIGESTS)
