"""A redo log that is full makes the server write pages earlier than it must."""

from __future__ import annotations

import math

from flatwater.advise.advice import Advice, Change
from flatwater.advise.dialect import Dialect
from flatwater.advise.redo_log import redo_log
from flatwater.advise.rule import Case, Rule
from flatwater.experiment import print_size

#: A log that is twice as large takes a page twice as long to be written again, while there are pages that are changed
#: again. Four times is a step that shows, and recovery reads at most four times as much.
_TIMES = 4
_MIB = 1 << 20
#: The largest sum of all log files: under 4 GB before 5.6.3, 512 GB since (MySQL manual 5.6, innodb_log_file_size).
#: Percona Server and MariaDB have XtraDB's larger limit in 5.5 too.
_LARGEST_BEFORE_5_6, _LARGEST = (4 << 30) - _MIB, 512 << 30


class RedoSize(Rule):
    """The log's limit bounds the run: a larger log."""

    name = "redo-size"
    about = "a redo log at its limit"
    source = "MySQL manual, Optimizing InnoDB Redo Logging: make the redo log files big, even as big as the buffer pool"

    def advise(self, case: Case) -> Advice | None:
        """A log four times as large, where the checkpoint age stands at the server's own limit."""
        found, server = case.finding("log limit"), case.server
        if found is None or server is None:
            return None
        resized = _resized(server)
        if resized is None:
            return None
        before, after, settings = resized
        lines = server.lines(settings)
        if not lines:
            return None
        text = f"Make the redo log {print_size(after)}, {after / before:.3g} times as large."
        return self.advice(
            "The redo log is too small: pages are written because the log is at its limit.",
            Change(
                "setting", text, lines, tuple(f"database.settings.{key}={value}" for key, value in settings.items())
            ),
            *found.evidence,
            confidence="high",
            risk=f"recovery after a crash reads up to {print_size(after)} of log, and takes longer",
            relieves=found,
        )


def _resized(server: Dialect) -> tuple[int, int, dict[str, int]] | None:
    """The log's size before and after in bytes, and the settings that make it so; None if it cannot be larger."""
    log = redo_log(server)
    if log is None:
        return None
    old = server.flavour == "mysql" and not server.is_mysql((5, 6, 3))
    largest = (_LARGEST_BEFORE_5_6 if old else _LARGEST) // log.files
    after = min(math.ceil(_TIMES * log.size / _MIB), largest // _MIB) * _MIB
    return (log.bytes, after * log.files, {log.name: after}) if after > log.size else None
