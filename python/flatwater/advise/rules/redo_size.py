"""A redo log that is full makes the server write pages earlier than it must."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from flatwater.advise.advice import Advice, Change
from flatwater.advise.dialect import Dialect
from flatwater.advise.each_server import each_line
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
    elsewhere = "nobody is known to have published a larger log alone, with all else unchanged"

    def advise(self, case: Case) -> Advice | None:
        """Logs four times as large, where the checkpoint age stands at the servers' own limit."""
        found, database = case.finding("log limit"), case.evidence.database
        if found is None or database is None:
            return None
        servers = Dialect.each(database)
        resized = {name: new for name, server in servers.items() if (new := _resized(server)) is not None}
        lines = tuple(each_line(servers, {name: settings for name, (_, _, settings) in resized.items()}))
        if not lines:
            return None
        alike = len({tuple(settings.items()) for _, _, settings in resized.values()}) == 1
        settings = next(iter(resized.values()))[2] if alike and len(resized) == len(servers) else {}
        largest = max(after for _, after, _ in resized.values())
        told = self.advice(
            "The redo log is too small: pages are written because the log is at its limit.",
            Change(
                "setting",
                _text(resized, len(servers)),
                lines,
                tuple(f"database.settings.{key}={value}" for key, value in settings.items()),
            ),
            *found.evidence,
            _logs_text(resized) if len(servers) > 1 else None,
            confidence="high",
            risk=f"recovery after a crash reads up to {print_size(largest)} of log, and takes longer",
            relieves=found,
        )
        findings = case.diagnosis.findings
        before = findings[: findings.index(found)]
        collector = next((one for one in before if one.name == "garbage collection"), None)
        # What a larger log leaves of the waits for pages is the collector's.
        return told if collector is None else replace(told, share=found.share * (1 - collector.share))


#: Bytes of a log before and after, and the settings that make it so.
_Resized = tuple[int, int, dict[str, int]]


def _text(resized: Mapping[str, _Resized], servers: int) -> str:
    sizes = {(before, after) for before, after, _ in resized.values()}
    if len(sizes) > 1 or len(resized) < servers:
        told = ", ".join(f"{name} {print_size(after)}" for name, (_, after, _) in resized.items())
        return f"Make the redo logs larger: {told}."
    before, after = sizes.pop()
    whose = "the redo log" if servers == 1 else f"the redo log of each of the {servers} servers"
    return f"Make {whose} {print_size(after)}, {after / before:.3g} times as large."


def _logs_text(resized: Mapping[str, _Resized]) -> str:
    """Whose log is how large. The ages were recorded of all servers together."""
    told = ", ".join(f"{print_size(before)} ({name})" for name, (before, _, _) in resized.items())
    return f"the logs have {told}; ages and limits above are those of all servers together"


def _resized(server: Dialect) -> _Resized | None:
    """The log's size before and after in bytes, and the settings that make it so; None if it cannot be larger."""
    log = redo_log(server)
    if log is None:
        return None
    old = server.flavour == "mysql" and not server.is_mysql((5, 6, 3))
    largest = (_LARGEST_BEFORE_5_6 if old else _LARGEST) // log.files
    after = min(math.ceil(_TIMES * log.size / _MIB), largest // _MIB) * _MIB
    return (log.bytes, after * log.files, {log.name: after}) if after > log.size else None
