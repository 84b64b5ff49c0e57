"""A MySQL-compatible server: one or several that flatwater starts, or one that it attaches to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from flatwater.experiment.database.address import SCHEMA_NAME, Address, has_password, parse_url, without_password
from flatwater.experiment.database.login import Login, Socket, Tcp
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.database.settings import Setting, read_settings
from flatwater.experiment.database.tls import PARAMETERS, TLS_FILES, Mode, PemFile, TlsWords
from flatwater.experiment.parse import expanded
from flatwater.experiment.problem import Problem, Table, quote, refuse
from flatwater.experiment.units import Seconds

#: Instances past this have less than two of the largest machines' threads each; published runs went up to 32.
MAX_INSTANCES = 64
#: Where the password of a server that flatwater attaches to may be, so that it need not be in a file.
PASSWORD_VARIABLE = "FLATWATER_PASSWORD"  # noqa: S105 (its name, not its value)


def _binary(value: Any) -> Any:
    # As with storage.path: nobody else expands the ~.
    if isinstance(value, str) and value.startswith("~/"):
        return str(expanded(value))
    return value


def _url(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    parse_url(value)
    return without_password(value)


def _schema_name(value: Any) -> Any:
    if isinstance(value, str) and not SCHEMA_NAME.fullmatch(value):
        raise refuse(f"{quote(value)} is no name for a schema", "letters, digits, _, $ and -, at most 64")
    return value


class ServerFault(Table):
    """A fault of the server that is injected on purpose, to see what its clients make of it."""

    #: kill: SIGKILL, as a crash; freeze: SIGSTOP for duration_s, as a stalled machine.
    kind: Literal["kill", "freeze"]
    #: After the start of the measurement.
    at_s: Seconds
    #: How long a freeze lasts.
    duration_s: Seconds = 0.0


class Server(PlacedLayer):
    """MariaDB, MySQL or Percona Server, started by flatwater; or, with `url`, any that runs already."""

    LAYER: ClassVar[str] = "database"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "real"

    kind: Literal["server"] = "server"
    #: Path or name of the server's program; the first mariadbd or mysqld that is found if absent.
    binary: Annotated[str, BeforeValidator(_binary), Field(min_length=1)] | None = None
    #: A server that runs already. Its password is kept apart: `login` has it, nothing that is written does.
    url: Annotated[str, BeforeValidator(_url)] | None = None
    #: With a url: how its connections are encrypted (DISABLED if nothing is said of TLS, so that figures are not of its
    #: cost), and files in PEM. See tls.py.
    ssl_mode: Mode | None = None
    ssl_ca: PemFile | None = None
    ssl_cert: PemFile | None = None
    ssl_key: PemFile | None = None
    server_public_key_path: PemFile | None = None
    #: The server's own settings by their names, values as written. See settings.py for those that are refused.
    settings: Annotated[dict[str, Setting], BeforeValidator(read_settings)] = Field(default_factory=dict)
    #: Servers side by side; connections and innodb_buffer_pool_size are shared out among them, each has all the data.
    instances: int = Field(default=1, ge=1, le=MAX_INSTANCES)
    #: Where the tables are; `tpcc` or `sbtest` if neither this nor the url says.
    schema_name: Annotated[str, BeforeValidator(_schema_name)] | None = None
    #: What a server that dies does to the run: end it, or be started again.
    on_crash: Literal["stop", "restart"] = "stop"
    #: With a url: load the workload's data where the schema is empty or was being loaded. Servers of flatwater's own
    #: always get theirs.
    load: bool = False
    fault: ServerFault | None = None

    _password: str | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_password(cls, data: Any, handler: Callable[[Any], Self]) -> Self:
        server = handler(data)
        if isinstance(data, Mapping) and has_password(data.get("url")):
            server._password = parse_url(data["url"]).password
        return server

    @property
    def attached(self) -> bool:
        """Whether the server runs already, so that nothing of it may be changed."""
        return self.url is not None

    @property
    def address(self) -> Address | None:
        """The parts of the url, its password left out."""
        return parse_url(self.url) if self.url is not None else None

    def login(self, schema: str | None = None) -> Login:
        """How to connect to the server of the url.

        The password is the url's, or that of the environment's FLATWATER_PASSWORD, or empty. `schema` is used where the
        experiment names none. Raises ValueError without a url.
        """
        address = self.address
        if address is None:
            raise ValueError("only a server with a url has a login of its own")
        password = self._password if self._password is not None else os.environ.get(PASSWORD_VARIABLE, "")
        place = Tcp((address.host, address.port)) if address.socket is None else Socket(address.socket)
        schema, words = self.schema_name or address.schema or schema, self._tls_words().over(address.tls)
        return Login(place, address.user, password, schema, words.tls, words.server_public_key_path)

    def tls_files(self) -> Iterator[tuple[str, str]]:
        """The files in PEM of its connections, by their paths, each behind the field that names it."""
        of_url = self.address.tls if self.address is not None else TlsWords()
        for name in TLS_FILES:
            for field, path in ((name, getattr(self, name)), ("url", getattr(of_url, name))):
                if path is not None:
                    yield field, path

    def _tls_words(self) -> TlsWords:
        return TlsWords(**{name: getattr(self, name) for name in PARAMETERS})

    def with_password_of(self, other: Server) -> Server:
        """The server with the password of the experiment that it is a cell of, if it is of the same url."""
        if self._password is not None or self.url != other.url:
            return self
        server = self.model_copy()
        server._password = other._password
        return server

    def conflicts(self) -> Iterator[Problem]:
        """What makes no sense of a server that runs already; faults without a length, or with one too many."""
        if self.url is not None:
            yield from self._attached_conflicts()
        else:
            yield from self._started_conflicts()
        fault = self.fault
        if fault is not None and fault.kind == "freeze" and not fault.duration_s:
            yield _problem(
                "fault.duration_s", "is missing: for how long the server is frozen", "duration_s = 5", "fault.kind"
            )
        if fault is not None and fault.kind == "kill" and fault.duration_s:
            hint = 'on_crash = "restart" starts it again'
            yield _problem("fault.duration_s", "a server that is killed stays dead", hint, "fault.kind")
        yield from self.placed_conflicts()

    def _started_conflicts(self) -> Iterator[Problem]:
        hint = "take it out, or give the url of a server that runs already"
        if self.load:
            yield _problem("load", "servers that flatwater starts always get their data", hint, "url")
        for name in PARAMETERS:
            if getattr(self, name) is not None:
                what = "servers that flatwater starts listen on a private socket, and have no TLS"
                yield _problem(name, what, hint, "url")

    def _attached_conflicts(self) -> Iterator[Problem]:
        why = "flatwater changes nothing of a server that it did not start (url)"
        hint = "take it out, or take out the url"
        for name in ("binary", "settings", "fault"):
            if getattr(self, name):
                yield _problem(name, why, hint, "url")
        for name, written in (("placement", self.placement.said), ("storages", self.storages)):
            if written:
                yield _problem(name, why, hint, "url")
        if self.on_crash != "stop":
            yield _problem("on_crash", why, hint, "url")
        if self.instances > 1:
            yield _problem("instances", f"a url is one server, not {self.instances}", hint, "url")
        address = parse_url(self.url or "")
        if self.schema_name is not None and address.schema not in (None, self.schema_name):
            what = f"{self.schema_name} and the url's {address.schema} contradict each other"
            yield _problem("schema_name", what, "keep one", "url")
        for name in PARAMETERS:
            if None not in (getattr(self, name), getattr(address.tls, name)):
                yield _problem(name, "the url says it, too", "keep one", "url")
        for name, what, hint, other in self._tls_words().over(address.tls).conflicts():
            yield _problem(name, what, hint, other, "url")


def _problem(field: str, what: str, hint: str | None, *others: str) -> Problem:
    names = tuple(f"database.{name}" for name in (field, *others))
    return Problem(names[0], what, hint, names)
