"""The statements of a query log of MySQL, MariaDB or Percona Server, or of a server that was observed, on a server."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from flatwater.experiment.problem import Problem
from flatwater.experiment.workload.own import OwnStatements
from flatwater.experiment.workload.timing import problem
from flatwater.experiment.workload.transactions import Connections
from flatwater.results.digests import digests_in

#: Fields of the other workloads that the log decides.
_LOG_SAYS = ("rate_per_s", "arrival", "reconnect_every")


def _speed(value: Any) -> Any:
    return 0.0 if value == "asap" else value


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

    @property
    def log_file(self) -> Path:
        """The log itself: in a result folder, the record of the statements."""
        path = Path(self.log)
        return digests_in(path) or path

    def conflicts(self) -> Iterator[Problem]:
        """Fields that the log decides, and a log that cannot be read."""
        fields = type(self).model_fields
        for name in _LOG_SAYS:
            if getattr(self, name) != fields[name].default:
                yield problem(name, "has no meaning in a replay: the log says it", "speed makes it faster", "kind")
        path = self.log_file
        try:
            found = path.stat()
            # A pipe would be waited for, and a device has no end.
            if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                raise ValueError("it is no file")
            _format(path, (found.st_mtime_ns, found.st_size))
        except (OSError, ValueError) as error:
            what = f"{path}: {error.strerror if isinstance(error, OSError) else error}"
            hint = "a slow query log, a general query log, or a result of flatwater observe --samples"
            yield problem("log", what, hint)
        yield from super().conflicts()


@lru_cache(maxsize=64)
def _format(path: Path, version: tuple[int, int]) -> str:
    """Which log it is, by its first statement. Errors: ValueError."""
    from flatwater._engine import query_log_format

    return query_log_format(path)
