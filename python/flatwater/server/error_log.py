"""The cause of a server's failure, in one line from its error log."""

from __future__ import annotations

import re
from pathlib import Path

#: The end of a long log is enough: the cause of a failure is near it.
_TAIL_BYTES = 256 * 1024
#: A cause may quote a whole statement.
_LINE_CHARACTERS = 400

# "[ERROR]" in all servers; before 5.7 InnoDB wrote lines of its own: "InnoDB: Error: ...".
_ERROR = re.compile(
    r"\[ERROR\]|\[FATAL\]|InnoDB: (?:Fatal|Error|Assertion|Operating system error)|^[^ ]*(?:mysqld|mariadbd): ",
    re.IGNORECASE,
)
# These messages follow from another error, and do not say which.
_CONSEQUENCE = re.compile(
    r"Aborting$|init function returned error|registration as a STORAGE ENGINE failed|Unknown/unsupported storage engine"
    r"|Failed to initiali[sz]e (?:DD|plugins|builtin plugins)|Data Dictionary initialization failed"
    r"|designated data directory"
    r"|Plugin initialization aborted|DD Storage Engine|Database creation was aborted|InnoDB: Cannot start InnoDB"
    r"|got signal|got exception|Shutdown complete|Could not open mysql\.plugin table"
)
# "2026-01-31 12:00:00 0 [ERROR] ", "2026-01-31T12:00:00.123456Z 0 [ERROR] [MY-012345] [InnoDB] ",
# "260131 12:00:00  InnoDB: "
_STAMP = re.compile(
    r"^(?:\d{4}-\d\d-\d\d[ T]\s?\d?\d:\d\d:\d\d(?:\.\d+)?Z?|\d{6}\s+\d?\d:\d\d:\d\d)\s*"
    r"(?:(?:0x)?[0-9a-f]+\s+(?=\[|InnoDB))?(?:\[(?:ERROR|FATAL|Warning|Note)\]\s*)*(?:\[MY-\d+\]\s*)?(?:\[\w+\]\s*)?",
    re.IGNORECASE,
)


def find_cause(log: Path, since: int = 0, *, first: bool) -> str | None:
    """The line of the log with the cause of a server's failure; None if there is no such line.

    `since` is the log's length when the server was started. If a server does not start, its *first* error is the cause;
    if a running one dies, the last. Messages about consequences ("Aborting") are used only if there are no others.
    """
    try:
        with log.open("rb") as handle:
            size = handle.seek(0, 2)
            handle.seek(max(since, size - _TAIL_BYTES))
            text = handle.read().decode(errors="replace")
    except OSError:
        return None
    errors = [line for line in text.splitlines() if _ERROR.search(line)]
    causes = [line for line in errors if not _CONSEQUENCE.search(line)] or errors
    if not causes:
        return None
    return message_of(causes[0] if first else causes[-1])


def message_of(line: str) -> str:
    """What a line of the log says, without its time, thread and code; cut where it is very long."""
    message = _STAMP.sub("", line.strip()).strip()
    return message if len(message) <= _LINE_CHARACTERS else message[:_LINE_CHARACTERS] + "..."
