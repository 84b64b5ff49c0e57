"""What an experiment may say of TLS with a server that runs already, in the names of the servers' own client.

Each is a field of `[database]` or a parameter of the url: `ssl_mode = "REQUIRED"` or `?ssl-mode=REQUIRED`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from flatwater.experiment.database.login import Tls
from flatwater.experiment.parse import expanded
from flatwater.experiment.problem import quote, refuse

SslMode = Literal["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"]
#: Modes that look at the server's certificate.
_CHECKING = ("VERIFY_CA", "VERIFY_IDENTITY")


def _mode(value: Any) -> Any:
    # The servers' client takes any case.
    return value.upper() if isinstance(value, str) and value.upper() in get_args(SslMode) else value


def _path(value: Any) -> Any:
    # As with storage.path: nobody else expands the ~.
    if isinstance(value, str) and value.startswith("~/"):
        return str(expanded(value))
    if isinstance(value, str) and "\0" in value:
        raise refuse("no path has a zero in it")
    return value


Mode = Annotated[SslMode, BeforeValidator(_mode)]
PemFile = Annotated[str, BeforeValidator(_path), Field(min_length=1)]


@dataclass(frozen=True)
class TlsWords:
    """What a file or a url says of TLS; None where it says nothing."""

    ssl_mode: SslMode | None = None
    #: Certificates of the trusted authorities, a client's certificate, its key, the server's public key: PEM files.
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    server_public_key_path: str | None = None

    def over(self, other: TlsWords) -> TlsWords:
        """These words, and where they say nothing the other's."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return TlsWords(**{name: getattr(other, name) if word is None else word for name, word in own.items()})

    @property
    def mode(self) -> SslMode:
        """The mode that is meant: as with the servers' client, who names an authority wants it to be asked."""
        if self.ssl_mode is not None:
            return self.ssl_mode
        if self.ssl_ca is not None:
            return "VERIFY_CA"
        return "REQUIRED" if self.ssl_cert is not None else "DISABLED"

    @property
    def tls(self) -> Tls | None:
        """TLS as the engine takes it; None without."""
        mode = self.mode
        return None if mode == "DISABLED" else Tls(mode, self.ssl_ca, self.ssl_cert, self.ssl_key)

    def conflicts(self) -> Iterator[tuple[str, str, str, str]]:
        """What does not go together: the field, what is wrong, a hint, and the other field."""
        mode = self.mode
        if self.ssl_ca is not None and mode not in _CHECKING:
            hint = 'ssl_mode = "VERIFY_CA", or "VERIFY_IDENTITY", which also looks at the host\'s name'
            yield "ssl_ca", f"{mode} looks at no certificate", hint, "ssl_mode"
        if (self.ssl_cert is None) != (self.ssl_key is None):
            lone, missing = ("ssl_cert", "ssl_key") if self.ssl_key is None else ("ssl_key", "ssl_cert")
            yield lone, f"is of no use without {missing}", f"give {missing}, or take it out", missing
        elif self.ssl_cert is not None and mode == "DISABLED":
            yield "ssl_cert", "DISABLED shows no certificate", 'ssl_mode = "REQUIRED"', "ssl_mode"


#: What the url may say of TLS, in the names of the fields.
PARAMETERS = tuple(one.name for one in fields(TlsWords))
#: Those of them that are paths of files.
TLS_FILES = PARAMETERS[1:]


def read_parameters(said: Mapping[str, str]) -> TlsWords:
    """The words of a url's parameters. Raises what validators raise."""
    for name in PARAMETERS:
        if said.get(name) == "":
            raise refuse(f"says nothing for {name.replace('_', '-')}", "give a value, or take it out")
    mode = next((word for word in get_args(SslMode) if word == said.get("ssl_mode", "").upper()), None)
    if mode is None and "ssl_mode" in said:
        raise refuse(f"has no ssl-mode {quote(said['ssl_mode'])}", f"there is: {', '.join(get_args(SslMode))}")
    files = {name: _path(said[name]) for name in TLS_FILES if name in said}
    return TlsWords(mode, **files)
