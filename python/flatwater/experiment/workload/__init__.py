"""The workload layer: the requests to the stack. One file for each kind; timing.py has the common fields."""

from __future__ import annotations

from flatwater.experiment.layer import Layer
from flatwater.experiment.workload.fileio import Fileio
from flatwater.experiment.workload.observed import Observed
from flatwater.experiment.workload.oltp import Oltp
from flatwater.experiment.workload.own import OwnStatements
from flatwater.experiment.workload.query_log import QueryLog
from flatwater.experiment.workload.replay import Replay
from flatwater.experiment.workload.sql import Sql
from flatwater.experiment.workload.timing import Timing
from flatwater.experiment.workload.tpcc import Tpcc

__all__ = [
    "ALTERNATIVES",
    "KINDS",
    "PLANNED",
    "Fileio",
    "Observed",
    "Oltp",
    "OwnStatements",
    "QueryLog",
    "Replay",
    "Sql",
    "Timing",
    "Tpcc",
    "Workload",
]

#: Any workload: `kind` decides which.
Workload = Replay | Fileio | Oltp | Tpcc | Sql | QueryLog | Observed

#: Every kind of workload that works.
KINDS: dict[str, type[Layer]] = {
    "fileio": Fileio,
    "observed": Observed,
    "oltp": Oltp,
    "query-log": QueryLog,
    "replay": Replay,
    "sql": Sql,
    "tpcc": Tpcc,
}
#: Kinds of the design that are not built yet.
PLANNED: tuple[str, ...] = ()

#: Two fields with one meaning: setting the first (by a sweep or --set) replaces the second.
ALTERNATIVES = {"workload.read_pct": "workload.rw_ratio", "workload.rw_ratio": "workload.read_pct"}
