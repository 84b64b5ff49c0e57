"""One server, queried on its own thread, so that a dead or frozen server delays nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from flatwater._engine import Connection, EngineError
from flatwater.engine_json import Json
from flatwater.errors import FlatwaterError
from flatwater.experiment.database import login as experiment
from flatwater.probe.server.names import Names, find_names, thread_of
from flatwater.probe.server.replication import Channel, Replication, figures_of, find_replication
from flatwater.probe.server.spacing import Spacing
from flatwater.results.observation import Gap

#: How the engine logs in, as JSON; or a function that returns it, because it may change when a server is restarted. The
#: function may raise FlatwaterError or EngineError while there is no server.
Login = Json[experiment.Login] | Callable[[], Json[experiment.Login]]
#: What else is asked over the connection; it returns how many statements it sent, and raises EngineError if it is lost.
Also = Callable[[Connection], int]
#: The pause after a failed connection. It doubles from the first to the last of these, so that the probe notices a
#: restarted server within seconds.
BACKOFF_MIN_S, BACKOFF_MAX_S = 0.25, 2.0
#: How long `close` waits for the thread; a thread that is still logging in ends by itself.
CLOSE_S = 1.0
#: How long an answer of a server that somebody else runs is waited for. After that its connection is given up.
ANSWER_S = 10.0
#: How long a login lasts at most: first as long as an answer, and twice as long after each that failed. A frozen server
#: counts each login that was given up, and shuts out a host with a hundred (max_connect_errors).
LOGIN_MAX_S = 60.0
#: A server that is no replica is asked again after so many readings whether it has become one.
REPLICA_EVERY = 60


@dataclass(frozen=True)
class Reading:
    """The figures of a server at a moment (of the monotonic clock), by figure of `names.PLACES`."""

    at_s: float
    #: Counters of two sessions are not compared, because the server may have been restarted between them.
    session: int
    figures: dict[str, float]
    #: The statements of the watch in this session so far, which the server counted too.
    asked: int = 0
    #: Of a replica that somebody else runs.
    channels: tuple[Channel, ...] = ()


class Watch:
    """Queries a server on request, and keeps its newest answer."""

    def __init__(self, login: Login, *, own: bool = False, also: Also | None = None, spared: bool = False) -> None:
        """`also` is called after each answer that came. A server that is `spared` is asked for its InnoDB monitor no
        oftener than a small share of its time allows.
        """
        self._login = login
        self._own = own
        self._also = also
        self._monitor = Spacing() if spared else None
        #: When the LSN was told last in this session, and which it was.
        self._logged: tuple[float, float] | None = None
        self._patience_s = LOGIN_MAX_S if own else ANSWER_S
        self._changed = threading.Condition()
        self._asked = 0
        self._dealt_with = 0
        self._closed = False
        self._newest: Reading | None = None
        self._asked_in_session = 0
        self._gaps: tuple[Gap, ...] = ()
        self._trouble = ""
        self._own_thread: int | None = None
        self._replication: Replication | None = None
        self._replicates = False
        self._until_asked = 0
        self._connection: Connection | None = None
        self._names: Names | None = None
        self._session = 0
        self._retry_at_s = 0.0
        self._backoff_s = BACKOFF_MIN_S
        self._thread = threading.Thread(target=self._work, name="server-probe", daemon=True)
        self._thread.start()

    def ask(self) -> bool:
        """Starts a query; False if the server has not answered an earlier one yet."""
        with self._changed:
            free = self._asked == self._dealt_with
            self._asked += 1
            self._changed.notify_all()
            return free

    def answer(self, since_s: float, until_s: float) -> Reading | None:
        """The newest reading, if it came after `since_s`; waits for the current query until `until_s` (monotonic)."""
        with self._changed:
            self._changed.wait_for(lambda: self._dealt_with == self._asked, max(0.0, until_s - time.monotonic()))
            newest = self._newest
        return newest if newest is not None and newest.at_s > since_s else None

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What the server of the newest session does not tell."""
        return self._gaps

    @property
    def trouble(self) -> str:
        """Why the last question had no answer; empty if it had one, or still waits for it."""
        return self._trouble

    @property
    def own_thread(self) -> int | None:
        """The server's thread that answers this session, by the number that the kernel gave it."""
        return self._own_thread

    def end(self) -> None:
        """Ends the session, and requests the thread to end as soon as it can."""
        with self._changed:
            self._closed = True
            connection = self._connection
            self._changed.notify_all()
        if connection is not None:
            connection.close()

    def close(self, until_s: float | None = None) -> None:
        """Ends the session and the thread; waits for that until `until_s` (monotonic) at most."""
        self.end()
        self._thread.join(CLOSE_S if until_s is None else max(0.0, until_s - time.monotonic()))

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._asked > self._dealt_with)
                if self._closed:
                    return
                turn = self._asked
            reading = self._read()
            with self._changed:
                self._dealt_with = turn
                if reading is not None:
                    self._newest = reading
                self._changed.notify_all()
            if reading is not None:
                self._ask_also()

    def _read(self) -> Reading | None:
        if self._connection is None and time.monotonic() < self._retry_at_s:
            return None
        try:
            connection, names = self._connection, self._names
            if connection is None or names is None:
                connection, names = self._connect()
            begun_s = time.monotonic()
            answer = names.ask(connection, monitor=self._monitor is None or self._monitor.is_due())
            answered_s = time.monotonic()
            channels = self._channels(connection)
        except (EngineError, FlatwaterError, OSError) as error:
            self._trouble = str(error)
            self._drop()
            return None
        self._backoff_s, self._trouble = BACKOFF_MIN_S, ""
        self._patience_s = LOGIN_MAX_S if self._own else ANSWER_S
        if self._monitor is not None and answer.monitor_s is not None:
            self._monitor.asked(begun_s, answer.monitor_s)
        self._asked_in_session += answer.statements
        figures = answer.figures | figures_of(channels)
        if self._monitor is not None and "lsn" in names.monitor & figures.keys():
            figures |= self._log_rate(answered_s, figures["lsn"])
        return Reading(time.monotonic(), self._session, figures, self._asked_in_session, channels)

    def _log_rate(self, at_s: float, lsn: float) -> dict[str, float]:
        """Bytes of log a second since the LSN was told before: it is not in each reading of a spared server."""
        before, self._logged = self._logged, (at_s, lsn)
        if before is None or lsn < before[1] or at_s <= before[0]:
            return {}
        return {"log_rate": (lsn - before[1]) / (at_s - before[0])}

    def _ask_also(self) -> None:
        connection = self._connection
        if self._also is None or connection is None:
            return
        try:
            self._asked_in_session += self._also(connection)
        except (EngineError, OSError) as error:
            self._trouble = str(error)
            self._drop()

    def _channels(self, connection: Connection) -> tuple[Channel, ...]:
        """The channels of a replica. A server that is none is asked once in a while. Errors: EngineError."""
        if self._replication is None:
            return ()
        self._until_asked -= 1
        if not self._replicates and self._until_asked > 0:
            return ()
        self._until_asked = REPLICA_EVERY
        channels = self._replication.read(connection)
        self._asked_in_session += self._replication.question is not None
        self._replicates = bool(channels)
        return channels

    def _connect(self) -> tuple[Connection, Names]:
        login = self._login if isinstance(self._login, str) else self._login()
        connection = Connection(login, self._patience_s)
        with self._changed:
            self._connection = connection
            self._session += 1
        self._names = find_names(connection, own=self._own)
        self._gaps, self._asked_in_session, self._logged = self._names.gaps, 0, None
        self._own_thread = thread_of(connection)
        if not self._own:
            self._replication, channels = find_replication(connection)
            self._replicates, self._until_asked = bool(channels), REPLICA_EVERY
            self._gaps += (self._replication.gap,) if self._replication.gap is not None else ()
        return connection, self._names

    def _drop(self) -> None:
        with self._changed:
            connection, self._connection, self._names = self._connection, None, None
        if connection is not None:
            connection.close()
        self._retry_at_s = time.monotonic() + self._backoff_s
        self._backoff_s = min(2 * self._backoff_s, BACKOFF_MAX_S)
        if connection is None:
            self._patience_s = min(2 * self._patience_s, LOGIN_MAX_S)
