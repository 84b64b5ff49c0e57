"""One server of ours: its data directory, its my.cnf and its process."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from flatwater._engine import Connection, EngineError
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment.database.login import Login, Socket
from flatwater.server.answers import rows_of
from flatwater.server.asking import GRACE_S, Stop, ask, never
from flatwater.server.binary import Binary
from flatwater.server.error_log import find_cause
from flatwater.server.flavours.flavour import base_folder
from flatwater.server.option_file import write_option_file
from flatwater.server.process import ServerProcess, describe_exit
from flatwater.server.settings import shaping
from flatwater.server.sizes import read_size
from flatwater.server.variables import read_variables

#: The account that flatwater logs in with.
USER = "flatwater"
#: What a tool says that makes a data directory; it is there until that is done.
INITIALISE_LOG = "initialise.log"
#: Bytes that an address of a unix socket has room for, without the closing zero (unix(7)).
SOCKET_PATH_BYTES_MAX = 107
#: A server that shows no progress for so long will show none: MySQL and MariaDB tell of recovery every 15 s.
PATIENCE_S = 300.0
#: A server that lets a login wait for longer than this while it starts is tried again, if it shows progress.
LOGIN_S = 60.0

OnWait = Callable[[float], None]


class Instance:
    """A server on a data directory of flatwater's.

    `folder` gets `data/`, `tmp/`, `my.cnf` and `error.log`; `settings` are what `translate` returned; `chosen` is what
    flatwater itself picks for this use (`max_connections`, loading settings): `settings` have the last word. The
    socket lies in a private temporary folder, which `close` removes, unless `socket_folder` names another. `stop`
    tells that its user waits no longer: from then on nothing here waits for a server, not even for a frozen one.
    """

    def __init__(
        self,
        binary: Binary,
        folder: Path,
        settings: Mapping[str, str],
        *,
        chosen: Mapping[str, str] | None = None,
        socket_folder: Path | None = None,
        name: str = "server",
        stop: Stop = never,
    ) -> None:
        self.binary = binary
        self.folder = folder.absolute()
        self.settings = dict(settings)
        self.chosen = dict(chosen or {})
        self.name = name
        self._stop = stop
        #: It owed an answer when its user had asked to stop.
        self._silent = False
        #: Seconds from its start until it answered; recovery is in it.
        self.recovered_s = 0.0
        self.version_comment = ""
        self._process: ServerProcess | None = None
        # One for all its starts: whoever was logged in may come back after a crash.
        self._password = secrets.token_urlsafe(24)
        self._own_socket_folder = socket_folder is None
        self._socket_folder = socket_folder if socket_folder is not None else _private_folder()
        self._launched_at = 0.0
        self._log_start = 0
        self._frozen = False
        self._stopped = False
        self._answer = ""

    def __enter__(self) -> Instance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def error_log(self) -> Path:
        """What the server says of itself, over all its starts."""
        return self.folder / "error.log"

    @property
    def pid(self) -> int:
        """The process ID of the server, once it was started."""
        assert self._process is not None
        return self._process.pid

    @property
    def _socket(self) -> Path:
        return self._socket_folder / "mysql.sock"

    @property
    def _init_file(self) -> Path:
        return self._socket_folder / "init.sql"

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.exit_code() is None

    def initialise(self, *, on_wait: OnWait | None = None, stop: Stop | None = None) -> None:
        """Makes a data directory with the system tables, in the format that the settings ask for.

        Errors: FlatwaterError with the tool's reason; UserError when its tools are missing; Interrupted.
        """
        stop = stop or self._stop
        self._make_folders()
        shape = [f"--{name.replace('_', '-')}={value}" for name, value in shaping(self.settings).items()]
        link = self._socket_folder / "data"
        command = self.binary.kind.initialise(
            self.binary.path.resolve(), self.binary.version, self._plain_path(link), [*_user_option(), *shape]
        )
        log = self.folder / INITIALISE_LOG
        log.write_bytes(b"")
        process = ServerProcess(command, self.folder, log, tmp=self.folder / "tmp")
        try:
            process.wait_while_progress(stop, PATIENCE_S, on_wait)
        finally:
            # With all that it started: the tool may be a script.
            process.kill()
            link.unlink(missing_ok=True)
        if stop():
            raise Interrupted("the making of a data directory was stopped")
        code = process.exit_code()
        if code != 0:
            cause = find_cause(log, first=True) or _last_line(log) or describe_exit(code or 0)
            raise FlatwaterError(
                f"{self.binary.title} cannot make a data directory in {self.data}: {cause}", hint=f"see {log}"
            )
        log.unlink(missing_ok=True)

    def start(self, *, on_wait: OnWait | None = None, stop: Stop | None = None) -> None:
        """Starts the server and waits until it answers; see `launch` and `wait_ready`."""
        self.launch()
        self.wait_ready(on_wait=on_wait, stop=stop)

    def launch(self) -> None:
        """Starts the process. Several servers may be launched before any is waited for."""
        assert self._process is None or self._process.exit_code() is not None
        self._make_folders()
        # First what tells where the private folder is: who finds it after a kill deletes what is in there.
        write_option_file(self.folder / "my.cnf", self._own_settings(), self.chosen, self.settings)
        self._write_init_file()
        self._socket.unlink(missing_ok=True)
        self._log_start = self.error_log.stat().st_size if self.error_log.exists() else 0
        self._launched_at = time.monotonic()
        self._frozen = self._stopped = self._silent = False
        command = [str(self.binary.path.absolute()), f"--defaults-file={self.folder / 'my.cnf'}"]
        self._process = ServerProcess(command, self.folder, self.error_log)

    def wait_ready(
        self, *, on_wait: OnWait | None = None, stop: Stop | None = None, patience_s: float = PATIENCE_S
    ) -> None:
        """Waits until the launched server answers, for as long as it shows progress.

        Errors: FlatwaterError with the error log's reason when it ends, or shows no progress for `patience_s`;
        Interrupted when `stop()` says so (the server is killed: nothing was running on it yet).
        """
        assert self._process is not None
        stop = stop or self._stop
        self._answer = ""
        try:
            in_time = self._process.wait_while_progress(
                lambda: stop() or self._answers(stop, patience_s), patience_s, on_wait
            )
        except Interrupted:
            in_time = True  # told below
        finally:
            self._init_file.unlink(missing_ok=True)
        if stop():
            self.kill()
            raise Interrupted("the start of a server was stopped")
        code = self._process.exit_code()
        if code is not None:
            cause = find_cause(self.error_log, self._log_start, first=True)
            raise FlatwaterError(
                f"{self.binary.title} did not start: {cause or describe_exit(code)}", hint=f"see {self.error_log}"
            )
        if not in_time or self._answer:
            self.kill()
            why = self._answer or f"it did nothing for {patience_s:.0f} s"
            raise FlatwaterError(f"{self.binary.title} does not become ready: {why}", hint=f"see {self.error_log}")
        self.recovered_s = time.monotonic() - self._launched_at

    def login(self, schema: str | None = None) -> Login:
        """How the engine logs in."""
        return Login(Socket(str(self._socket)), USER, self._password, schema)

    def query(self, sql: str, *, columns: int = 0) -> list[tuple[str | None, ...]]:
        """Rows of one statement, each of at least `columns` values, over a connection of its own.

        Errors: FlatwaterError, at once while it is frozen; Interrupted when the user waits no longer.
        """
        if self._frozen:
            raise FlatwaterError(f"{self.binary.title} is frozen, and answers nothing")
        if self._silent:
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
            self._silent = True
            raise

    def variables(self) -> dict[str, str]:
        """What the server runs with (SHOW GLOBAL VARIABLES), without what could be secret."""
        return read_variables(self.query("SHOW GLOBAL VARIABLES"))

    def died(self) -> str | None:
        """How the server ended although nobody stopped it (`was killed by signal 9 (SIGKILL)`); None while it lives."""
        code = self._process.exit_code() if self._process is not None else None
        if code is None or self._stopped:
            return None
        cause = find_cause(self.error_log, self._log_start, first=False)
        return describe_exit(code) + (f": {cause}" if cause else "")

    def stop(self, *, on_wait: OnWait | None = None, patience_s: float = PATIENCE_S) -> None:
        """Shuts the server down cleanly, and waits as long as that shows progress.

        Errors: FlatwaterError when it was dead already, hangs (it is killed then), or ends with a failure; Interrupted
        when the user does not wait for it (it is killed, too).
        """
        if self._process is None or self._stopped:
            return
        died = self.died()
        if died is not None:
            raise FlatwaterError(f"{self.binary.title} {died}", hint=f"see {self.error_log}")
        if self._frozen:
            self.thaw()
        # SIGTERM is a clean shutdown for every server, and needs no free connection.
        self._process.send(signal.SIGTERM)
        in_time = self._process.wait_while_progress(self._stop, patience_s, on_wait)
        if self.running and self._stop():
            self.kill()
            self._stopped = True
            raise Interrupted(f"{self.binary.title} was killed: the user did not wait until it had stopped")
        if not in_time:
            self.kill()
            raise FlatwaterError(
                f"{self.binary.title} did not stop: it did nothing for {patience_s:.0f} s, and was killed",
                hint=f"see {self.error_log}",
            )
        died = self.died() if self._process.exit_code() != 0 else None
        self._stopped = True
        if died is not None:
            raise FlatwaterError(f"{self.binary.title} {died} while it stopped", hint=f"see {self.error_log}")

    def kill(self) -> None:
        """Kill -9, as when the machine or the server fails; what was committed is for recovery to find."""
        if self._process is not None:
            self._process.kill()
            self._frozen = False

    def freeze(self) -> None:
        """Stops every thread of the server where it is (SIGSTOP), as when its storage or its machine hangs."""
        assert self._process is not None
        self._process.send(signal.SIGSTOP)
        self._frozen = True

    def thaw(self) -> None:
        """Lets a frozen server go on."""
        assert self._process is not None
        self._process.send(signal.SIGCONT)
        self._frozen = False

    def close(self) -> None:
        """Leaves nothing running and nothing outside of `folder`: a server that still lives is killed."""
        self.kill()
        self._stopped = True
        self._init_file.unlink(missing_ok=True)
        if self._own_socket_folder:
            shutil.rmtree(self._socket_folder, ignore_errors=True)

    def adjusted(self, variables: Mapping[str, str] | None = None) -> dict[str, tuple[str, str]]:
        """Settings that the server runs with another value of: name -> (asked for, got). It only warns of it.

        `variables` are what `variables()` told, if that was asked already.
        """
        runs_with = self.variables() if variables is None else variables
        return {
            name: (asked, runs_with[name])
            for name, asked in self.settings.items()
            # The name of the binary log's files is told as whether there is one.
            if name in runs_with and name != "log_bin" and not _same(asked, runs_with[name])
        }

    def _answers(self, stop: Stop, patience_s: float) -> bool:
        """Whether it answers by now. Errors: Interrupted."""
        return self._socket.exists() and ask(lambda: self._try_login(patience_s), stop)

    def _try_login(self, patience_s: float) -> bool:
        try:
            connection = Connection(to_json(self.login()), min(patience_s, LOGIN_S))
        except EngineError as error:
            # Its account is made before it lets anyone in: one that is missing now will never be there.
            self._answer = str(error) if "(error 1045)" in str(error) else ""
            return bool(self._answer)
        try:
            self.version_comment = rows_of(connection, "SELECT @@version_comment", columns=1, rows_min=1)[0][0] or ""
        except EngineError:
            return False
        finally:
            connection.close()
        return True

    def _make_folders(self) -> None:
        try:
            for folder in (self.data, self.folder / "tmp"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FlatwaterError(f"cannot make {folder}: {error.strerror}", where="storage.path") from None

    def _plain_path(self, link: Path) -> Path:
        """The data directory under a name without blanks and the like, which the shell scripts of servers trip over."""
        if re.fullmatch(r"[\w./@:+-]+", str(self.data), re.ASCII):
            return self.data
        link.unlink(missing_ok=True)
        link.symlink_to(self.data)
        return link

    def _write_init_file(self) -> None:
        # The account's password must not reach a binary log either.
        lines = ["SET sql_log_bin = 0;", *self.binary.kind.account(self.binary.version, USER, self._password)]
        self._init_file.unlink(missing_ok=True)
        with os.fdopen(os.open(self._init_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
            handle.write("\n".join(lines) + "\n")

    def _own_settings(self) -> dict[str, str]:
        own = {
            "datadir": str(self.data),
            "tmpdir": str(self.folder / "tmp"),
            "secure_file_priv": str(self.folder / "tmp"),
            "pid_file": str(self.folder / "server.pid"),
            "log_error": str(self.error_log),
            "socket": str(self._socket),
            "init_file": str(self._init_file),
            # Reached through its socket only, so no names of hosts are looked up.
            "skip_networking": "",
            "skip_name_resolve": "",
            "server_id": "1",
        }
        if os.geteuid() == 0:
            own["user"] = "root"
        prefix = base_folder(self.binary.path)
        if prefix is not None:
            own["basedir"] = str(prefix)
        options = self.binary.options()
        own |= {name: value for name, value in self.binary.kind.quiet().items() if name in options}
        return own


def _user_option() -> list[str]:
    # Started by root, a server must be told that it may stay root.
    return ["--user=root"] if os.geteuid() == 0 else []


def _private_folder() -> Path:
    """A folder that only this user can enter, with a path short enough for a socket."""
    places = dict.fromkeys([tempfile.gettempdir(), "/tmp", "/dev/shm"])  # noqa: S108 (mkdtemp makes it private)
    for place in places:
        if len(os.fsencode(place)) + len("/flatwater-12345678/mysql.sock") <= SOCKET_PATH_BYTES_MAX:
            try:
                return Path(tempfile.mkdtemp(prefix="flatwater-", dir=place))
            except OSError:
                continue
    raise FlatwaterError(
        f"no folder for a server's socket can be made in {' or '.join(places)}", hint="set TMPDIR to a short path"
    )


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] if log.exists() else []
    return lines[-1] if lines else ""


_TRUE, _FALSE = {"on", "true", "1", "yes"}, {"off", "false", "0", "no"}


def _same(asked: str, got: str) -> bool:
    """Whether a my.cnf value and what SHOW VARIABLES tells are the same."""
    one, other = asked.lower(), got.lower()
    if one == other or {one, other} <= _TRUE or {one, other} <= _FALSE:
        return True
    size = read_size(asked)
    if size is not None and got.isdigit():
        return size == int(got)
    numbers = re.compile(r"-?\d+(\.\d+)?")
    if numbers.fullmatch(one) and numbers.fullmatch(other):
        return float(one) == float(other)
    # Enumerations are told by name where a number was given, and the other way round.
    return one.isdigit() != other.isdigit()
