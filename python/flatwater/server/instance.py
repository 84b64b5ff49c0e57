"""A database server that flatwater runs: its files, its process and its account."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from flatwater._engine import Connection, EngineError
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment.database.login import Login
from flatwater.server.access import Access
from flatwater.server.answers import rows_of
from flatwater.server.asking import GRACE_S, Stop, ask, never
from flatwater.server.binary import Binary
from flatwater.server.error_log import find_cause
from flatwater.server.initialise import initialise
from flatwater.server.option_file import write_option_file
from flatwater.server.process import PATIENCE_S, OnWait, ServerProcess, describe_exit
from flatwater.server.server_folder import ServerFolder
from flatwater.server.variables import adjusted_settings, read_variables

#: How long one attempt to log in may take while a server starts. Then the next attempt follows, if the server shows
#: progress.
LOGIN_S = 60.0


class Instance:
    """A server on a data directory of flatwater's.

    `folder` gets `data/`, `tmp/`, `my.cnf` and `error.log`. `settings` are the result of `translate`; `chosen` are
    those that flatwater itself chooses for this use (`max_connections`, loading settings): `settings` override them.
    `placed` are the lines of parts that are elsewhere: they override all others.
    The socket is in a private temporary folder, which `close` removes, unless `socket_folder` names another one. Once
    `stop()` is true, nothing here waits for the server, not even for a frozen one.
    """

    def __init__(
        self,
        binary: Binary,
        folder: Path,
        settings: Mapping[str, str],
        *,
        chosen: Mapping[str, str] | None = None,
        placed: Mapping[str, str] | None = None,
        socket_folder: Path | None = None,
        name: str = "server",
        stop: Stop = never,
    ) -> None:
        self.binary = binary
        self.settings = dict(settings)
        self.chosen = dict(chosen or {})
        self.placed = dict(placed or {})
        self.name = name
        #: Seconds from the last start until the server answered. Recovery is part of it.
        self.recovered_s = 0.0
        self.version_comment = ""
        self._folder = ServerFolder(folder.absolute())
        self._access = Access(socket_folder)
        self._stop = stop
        #: Whether the server gave no answer in time after its user had asked to stop.
        self._is_silent = False
        self._process: ServerProcess | None = None
        self._launched_at = 0.0
        self._log_start = 0
        self._is_frozen = False
        self._is_stopped = False
        #: Why the server refused the account of flatwater, if it did.
        self._refusal = ""

    def __enter__(self) -> Instance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """The folder of the server's files, absolute."""
        return self._folder.path

    @property
    def data(self) -> Path:
        """The data directory."""
        return self._folder.data

    @property
    def error_log(self) -> Path:
        """The server's messages, over all its starts."""
        return self._folder.error_log

    @property
    def pid(self) -> int:
        """The process ID of the server, once it was started."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.exit_code() is None

    def initialise(self, *, on_wait: OnWait | None = None, stop: Stop | None = None) -> None:
        """Makes the data directory; see `flatwater.server.initialise`."""
        initialise(self.binary, self._folder, self.settings, self._access, on_wait=on_wait, stop=stop or self._stop)

    def start(self, *, on_wait: OnWait | None = None, stop: Stop | None = None) -> None:
        """Starts the server and waits until it answers; see `launch` and `wait_ready`."""
        self.launch()
        self.wait_ready(on_wait=on_wait, stop=stop)

    def launch(self) -> None:
        """Starts the process. Several servers may be launched before any is waited for."""
        assert self._process is None or self._process.exit_code() is not None
        self._folder.make()
        # The option file comes first. It names the private folder: a run that finds it after a kill deletes the files
        # in there (root.py).
        flatwaters = self._folder.settings(self.binary, self._access) | self.placed
        said = {name: value for name, value in self.settings.items() if name not in self.placed}
        if said.get("skip_networking") == "0":
            # Servers up to 5.1 take no value of it: they listen where the word is missing.
            del flatwaters["skip_networking"], said["skip_networking"]
        write_option_file(self._folder.option_file, flatwaters, self.chosen, said)
        self._access.write_init_file(self.binary.kind, self.binary.version)
        self._access.remove_socket()
        self._log_start = self.error_log.stat().st_size if self.error_log.exists() else 0
        self._launched_at = time.monotonic()
        self._is_frozen = self._is_stopped = self._is_silent = False
        command = [str(self.binary.path.absolute()), f"--defaults-file={self._folder.option_file}"]
        self._process = ServerProcess(command, self.folder, self.error_log)

    def wait_ready(
        self, *, on_wait: OnWait | None = None, stop: Stop | None = None, patience_s: float = PATIENCE_S
    ) -> None:
        """Waits until the launched server answers, for as long as it shows progress.

        Errors: FlatwaterError with the cause from the error log if it ends, or shows no progress for `patience_s`;
        Interrupted once `stop()` is true (the server is killed: it had no clients yet).
        """
        assert self._process is not None
        stop = stop or self._stop
        self._refusal = ""
        try:
            in_time = self._process.wait_while_progress(
                lambda: stop() or self._answers(stop, patience_s), patience_s, on_wait
            )
        except Interrupted:
            in_time = True  # raised again below
        finally:
            self._access.remove_init_file()
        if stop():
            self.kill()
            raise Interrupted("the start of a server was stopped")
        code = self._process.exit_code()
        if code is not None:
            cause = find_cause(self.error_log, self._log_start, first=True)
            raise FlatwaterError(
                f"{self.binary.title} did not start: {cause or describe_exit(code)}", hint=f"see {self.error_log}"
            )
        if not in_time or self._refusal:
            self.kill()
            why = self._refusal or f"it did nothing for {patience_s:.0f} s"
            raise FlatwaterError(f"{self.binary.title} does not become ready: {why}", hint=f"see {self.error_log}")
        self.recovered_s = time.monotonic() - self._launched_at

    def login(self, schema: str | None = None) -> Login:
        """How the engine logs in."""
        return self._access.login(schema)

    def query(self, sql: str, *, columns: int = 0) -> list[tuple[str | None, ...]]:
        """Rows of one statement, each of at least `columns` values, over a connection of its own.

        Errors: FlatwaterError, at once while it is frozen; Interrupted once the instance's `stop()` is true.
        """
        if self._is_frozen:
            raise FlatwaterError(f"{self.binary.title} is frozen, and answers nothing")
        if self._is_silent:
            raise Interrupted(f"{self.binary.title} does not answer")

        def question() -> list[tuple[str | None, ...]]:
            connection = Connection(to_json(self.login()))
            try:
                return rows_of(connection, sql, columns=columns)
            finally:
                connection.close()

        try:
            return ask(question, self._stop, grace_s=GRACE_S)
        except EngineError as error:
            raise FlatwaterError(f"{self.binary.title}: {self.died() or error}") from None
        except Interrupted:
            self._is_silent = True
            raise

    def variables(self) -> dict[str, str]:
        """The server's variables (SHOW GLOBAL VARIABLES), without those that could be secret."""
        return read_variables(self.query("SHOW GLOBAL VARIABLES"))

    def died(self) -> str | None:
        """How the server ended without a stop (`was killed by signal 9 (SIGKILL)`); None if it did not."""
        code = self._process.exit_code() if self._process is not None else None
        if code is None or self._is_stopped:
            return None
        cause = find_cause(self.error_log, self._log_start, first=False)
        return describe_exit(code) + (f": {cause}" if cause else "")

    def stop(self, *, on_wait: OnWait | None = None, patience_s: float = PATIENCE_S) -> None:
        """Shuts the server down cleanly, and waits as long as it shows progress.

        Errors: FlatwaterError if it was dead already, hangs (then it is killed), or ends with a failure; Interrupted
        once the instance's `stop()` is true (then it is killed, too).
        """
        if self._process is None or self._is_stopped:
            return
        died = self.died()
        if died is not None:
            raise FlatwaterError(f"{self.binary.title} {died}", hint=f"see {self.error_log}")
        if self._is_frozen:
            self.thaw()
        # Every server shuts down cleanly on SIGTERM. It needs no free connection.
        self._process.send(signal.SIGTERM)
        in_time = self._process.wait_while_progress(self._stop, patience_s, on_wait)
        if self.running and self._stop():
            self.kill()
            self._is_stopped = True
            raise Interrupted(f"{self.binary.title} was killed: the user did not wait until it had stopped")
        if not in_time:
            self.kill()
            raise FlatwaterError(
                f"{self.binary.title} did not stop: it did nothing for {patience_s:.0f} s, and was killed",
                hint=f"see {self.error_log}",
            )
        died = self.died() if self._process.exit_code() != 0 else None
        self._is_stopped = True
        if died is not None:
            raise FlatwaterError(f"{self.binary.title} {died} while it stopped", hint=f"see {self.error_log}")

    def kill(self) -> None:
        """Kills the server (kill -9), as a crash does. The next start recovers what was committed."""
        if self._process is not None:
            self._process.kill()
            self._is_frozen = False

    def freeze(self) -> None:
        """Stops every thread of the server (SIGSTOP), as if its storage or its machine hung."""
        assert self._process is not None
        self._process.send(signal.SIGSTOP)
        self._is_frozen = True

    def thaw(self) -> None:
        """Continues a frozen server (SIGCONT)."""
        assert self._process is not None
        self._process.send(signal.SIGCONT)
        self._is_frozen = False

    def close(self) -> None:
        """Kills the server if it runs, and deletes everything outside of `folder`."""
        self.kill()
        self._is_stopped = True
        self._access.close()

    def adjusted(self, variables: Mapping[str, str] | None = None) -> dict[str, tuple[str, str]]:
        """Settings that the server changed, which it reports only as a warning: name -> (asked for, got).

        `variables` are those of `variables()`, if the caller has them already.
        """
        return adjusted_settings(self.settings, self.variables() if variables is None else variables)

    def _answers(self, stop: Stop, patience_s: float) -> bool:
        """Whether it accepts a login by now, or has refused it for good. Errors: Interrupted."""
        return self._access.socket.exists() and ask(lambda: self._try_login(patience_s), stop)

    def _try_login(self, patience_s: float) -> bool:
        try:
            connection = Connection(to_json(self.login()), min(patience_s, LOGIN_S))
        except EngineError as error:
            # The server makes the account before it accepts logins. If it is missing now, it will never be there.
            self._refusal = str(error) if "(error 1045)" in str(error) else ""
            return bool(self._refusal)
        try:
            self.version_comment = rows_of(connection, "SELECT @@version_comment", columns=1, rows_min=1)[0][0] or ""
        except EngineError:
            return False
        finally:
            connection.close()
        return True
