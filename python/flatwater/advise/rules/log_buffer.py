"""The buffer of the redo log is full before it is written."""

from __future__ import annotations

from dataclasses import replace

from flatwater.advise.advice import Advice
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.sessions import session_time
from flatwater.analysis.bound.words import each_second
from flatwater.experiment import print_size

_NAME = "innodb_log_buffer_size"
#: The default since MySQL 8.4.
_BYTES = 64 << 20
#: Fewer waits than one a second delay too few transactions to see.
_WAITS_MIN = 1.0


class LogBuffer(Rule):
    """Transactions wait for room in the log buffer: a larger one."""

    name = "log-buffer"
    about = "waits for room in the log buffer"
    source = (
        "MySQL manual, Optimizing InnoDB Redo Logging, and Innodb_log_waits: waits because the buffer was too small"
    )
    elsewhere = "nobody is known to have published a server that waited for it, with both sizes"

    def advise(self, case: Case) -> Advice | None:
        """The default of MySQL 8.4, where waits were counted."""
        server, database = case.server, case.evidence.database
        if case.is_served or server is None or database is None or database.log_buffer_waits_per_s is None:
            return None
        size = server.number(_NAME)
        if size is None or size >= _BYTES or database.log_buffer_waits_per_s.mean < _WAITS_MIN:
            return None
        change = server.change(f"Make the log buffer {print_size(_BYTES)}.", {_NAME: _BYTES})
        if change is None:
            return None
        time = session_time(case.evidence)
        told = self.advice(
            "Transactions wait for room in the log buffer.",
            change,
            each_second(database.log_buffer_waits_per_s, "waits for room"),
            f"the log buffer has {print_size(size)}",
            confidence="high",
        )
        return told if time is None else replace(told, share=time.of(time.log_buffer))
