"""The statements of a query log of MySQL, MariaDB or Percona Server, or of a server that was observed, on a server."""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, SerializationInfo

from flatwater.errors import UserError
from flatwater.experiment.named_file import require_may_open
from flatwater.experiment.problem import Problem
from flatwater.experiment.units import AS_WRITTEN, Percent, read_duration
from flatwater.experiment.workload.own import OwnStatements
from flatwater.experiment.workload.timing import problem
from flatwater.experiment.workload.transactions import Connections
from flatwater.results.digests import digests_in

#: A longer path is shortened where an error shows it.
_LONGEST_PATH = 200
_NUL = "\0"
#: Fields of the other workloads that the log decides.
_LOG_SAYS = ("rate_per_s", "arrival", "reconnect_every")


def _speed(value: Any) -> Any:
    return 0.0 if value == "asap" else value


def _length(value: Any) -> Any:
    return value if value == math.inf else read_duration(value)


def _write_length(length_s: float, info: SerializationInfo) -> float | None:
    return None if info.context == AS_WRITTEN and length_s == math.inf else length_s


#: Seconds; infinity: as long as the log.
_Length = Annotated[float, Field(gt=0, allow_inf_nan=True), BeforeValidator(_length), PlainSerializer(_write_length)]


class QueryLog(OwnStatements):
    """Replays a query log: each statement at its recorded time, those of a recorded connection in their order."""

    kind: Literal["query-log"] = "query-log"
    #: A slow query log or a general query log; or the result folder of `flatwater observe --samples`.
    log: str = Field(min_length=1)
    #: 1.0: as recorded; 2.0: twice as fast; 0 or "asap": the statements of each session back to back.
    speed: Annotated[float, BeforeValidator(_speed), Field(ge=0, le=1e6)] = 1.0
    #: The most sessions. Recorded connections beyond it share them.
    connections: Connections = 64
    unit: Literal["qps"] = "qps"
    #: By default the run ends with its log, which may last longer than it was recorded.
    duration_s: _Length = math.inf
    #: What the log's own clients were refused is refused again, and an INSERT may meet the key of a row that is there.
    errors_max_pct: Percent = 100.0

    @property
    def log_file(self) -> Path:
        """The log itself: in a result folder, the record of the statements."""
        path = Path(self.log)
        require_may_open(path)
        return digests_in(path) or path

    @property
    def longest_s(self) -> float:
        """Seconds of the log at this speed, or of the run if that ends before; 0 if nobody can tell."""
        longest_s, log_s = super().longest_s, self._told()[2]
        if log_s is None or not self.speed:
            return longest_s if math.isfinite(longest_s) else 0.0
        return min(log_s / self.speed, longest_s)

    @property
    def default_schema(self) -> str:
        """The schema that the log names, if it names one alone."""
        named = self._told()[1]
        return next(iter(named)) if len(named) == 1 else super().default_schema

    @property
    def cannot_go_on(self) -> str | None:
        """A replay has no place in its log to go on from."""
        return "a replay begins at the beginning of its log"

    @property
    def reconnects(self) -> bool:
        """A session is made anew for another recorded connection."""
        return True

    def _told(self) -> tuple[str, set[str], float | None]:
        """What the log tells of itself; nothing of a file that cannot be read, which `conflicts` reports."""
        try:
            return _tell(self.log_file)
        except (OSError, ValueError, UserError):
            return "", set(), None

    def _mixing(self) -> Iterator[Problem]:
        """Transactions of a log that does not tell connections. Errors: OSError, ValueError."""
        found = _mixing(self.log_file) if self.allow_writes else None
        if found:
            line, statement = found
            what = (
                f"{self.log}:{line}: {statement}: this log does not tell which connection sent a statement, so the "
                "transactions of each user would be mixed, and what was rolled back could be committed"
            )
            hint = "replay a general log, or a slow log of MySQL 5.6 or later; or without allow_writes"
            yield problem("log", what, hint, "allow_writes")

    def conflicts(self) -> Iterator[Problem]:
        """Fields that the log decides, and a log that cannot be read."""
        fields = type(self).model_fields
        for name in _LOG_SAYS:
            if getattr(self, name) != fields[name].default:
                yield problem(name, "has no meaning in a replay: the log says it", "speed makes it faster", "kind")
        if self.steady_state == "snia":
            what = "a replay ends with its log, and has no rounds"
            yield problem("steady_state", what, 'take it out, or steady_state = "none"', "kind")
        log_s = self._told()[2]
        if log_s is not None and self.speed and 0 < log_s / self.speed <= self.warmup_s:
            what = f"the log lasts {log_s / self.speed:.3g} s at this speed: nothing is left behind the warm-up"
            yield problem("warmup_s", what, "a shorter warmup_s, or a longer log", "log", "speed")
        try:
            _tell(self.log_file)
            yield from self._mixing()
        except UserError as error:
            yield problem("log", error.what, error.hint)
        except (OSError, ValueError) as error:
            # What the system says of a path may come before a result folder is told from a file.
            said = error.strerror if isinstance(error, OSError) else str(error).partition(" (os error")[0]
            where = self.log if len(self.log) <= _LONGEST_PATH else f"{self.log[:_LONGEST_PATH]}..."
            what = f"{where}: {'a path has no zero byte' if _NUL in self.log else said}"
            hint = "a slow query log, a general query log, or a result of flatwater observe --samples"
            yield problem("log", what, hint)
        yield from super().conflicts()


def _tell(path: Path) -> tuple[str, set[str], float | None]:
    """Which log it is, the schemas that it names, its seconds. Errors: OSError, ValueError."""
    return _tell_version(path, _version(path))


def _mixing(path: Path) -> tuple[int, str] | None:
    """The first statement of a transaction, where those of a log would be mixed. Errors: OSError, ValueError."""
    return _mixing_of_version(path, _version(path))


def _version(path: Path) -> tuple[int, int]:
    found = path.stat()
    # A pipe would be waited for, and a device has no end.
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise ValueError("it is no file")
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=64)
def _mixing_of_version(path: Path, version: tuple[int, int]) -> tuple[int, str] | None:
    from flatwater._engine import query_log_mixing

    return query_log_mixing(path)


@lru_cache(maxsize=64)
def _tell_version(path: Path, version: tuple[int, int]) -> tuple[str, set[str], float | None]:
    from flatwater._engine import query_log_told

    return query_log_told(path)
