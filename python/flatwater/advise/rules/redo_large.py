"""A redo log that is never nearly used: it only makes recovery longer."""

from __future__ import annotations

import math

import numpy as np

from flatwater.advise.advice import Advice
from flatwater.advise.redo_log import RedoLog, redo_log
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.evidence import Database
from flatwater.analysis.bound.line import Line
from flatwater.analysis.bound.still_moving import GROWTH_MIN
from flatwater.analysis.bound.words import size
from flatwater.experiment import print_size

#: The age never came to a quarter of the server's own limit, and half of that limit is left when the advice is heeded.
_NEVER_NEAR, _LEFT = 1 / 4, 1 / 2
#: A limit below this is not large: such a log is read in seconds.
_LARGE_BYTES = 4 << 30
_ROUND_BYTES = 256 << 20
#: So many times the age must have been written, or the age was still growing.
_WRITTEN_TIMES = 4


class RedoLarge(Rule):
    """The checkpoint age never comes near the log's limit: a smaller log would do."""

    name = "redo-large"
    about = "a redo log that is needlessly large"
    source = "MySQL manual, innodb_log_file_size: larger log files make crash recovery slower"
    elsewhere = "it buys a shorter recovery and disk space, and no throughput"

    def advise(self, case: Case) -> Advice | None:
        """A log whose limit is twice the largest age, where the age has settled far below the limit."""
        server, database = case.server, case.evidence.database
        # Who asked for less than the server can do has measured how much log that little needs.
        if case.is_served or server is None or database is None or case.finding("log limit") is not None:
            return None
        age, log = _settled_age(database, case.evidence.interval_s), redo_log(server)
        if age is None or log is None or database.redo is None:
            return None
        limit = database.redo.async_bytes
        if limit < _LARGE_BYTES or age.max >= _NEVER_NEAR * limit:
            return None
        after = _smaller(log, max(age.max, _LEFT * _LARGE_BYTES) / (_LEFT * limit))
        change = server.change(f"A redo log of {print_size(after * log.files)} would do.", {log.name: after})
        if change is None:
            return None
        return self.advice(
            "The redo log is larger than this load needs.",
            change,
            f"the checkpoint age was {size(age.max)} at most, and the server must flush from {size(limit)} on",
            f"the log has {print_size(log.bytes)}",
            confidence="low",
            risk="it buys a shorter recovery and disk space, no throughput: keep the log if the load can grow",
        )


def _settled_age(database: Database, interval_s: float) -> Line | None:
    """The checkpoint age, where it is known and had stopped growing."""
    age, redo = database.checkpoint_age_bytes, database.redo_bytes_per_s
    halves = age.halves if age is not None else None
    if age is None or redo is None or halves is None:
        return None
    if np.nansum(redo.value) * interval_s < _WRITTEN_TIMES * age.max:
        return None
    first, second = halves
    return age if second.median <= GROWTH_MIN * first.median else None


def _smaller(log: RedoLog, share: float) -> int:
    return math.ceil(log.size * share / _ROUND_BYTES) * _ROUND_BYTES
