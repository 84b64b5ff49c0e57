"""What programs that keep logs write before each line of another one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

#: What it looks like, and how the log is had without it.
_PREFIXES = (
    (re.compile(r"[A-Za-z0-9._-]{1,80}\s{1,40}\| ?"), "docker compose logs --no-log-prefix"),
    (re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} [^\s:]{1,80}: "), "journalctl -o cat"),
    (re.compile(r"\d{4}-\d\d-\d\dT\S{8,30} \S{1,80} [^\s:]{1,80}: "), "journalctl -o cat"),
)
#: What sysbench.report_json prints (sysbench's own hook; the text and the CSV have the same figures).
_JSON_HOOK = re.compile(r'"threads":\s{0,9}\d{1,9},\s{0,9}"tps":\s{0,9}[\d.]{1,20},\s{0,9}"qps":\s{0,9}\{')
_JSON_HINT = "it is of sysbench.report_json, which is not read: report as text (--report-interval=1) or as CSV"


def prefix_of(head: str, recognisers: Sequence[Callable[[Path, str], bool]], path: Path) -> str:
    """The hint about the beginnings of lines without which a format would be recognised; empty if there is none.

    Also that about a form of a known program that is not read.
    """
    if _JSON_HOOK.search(head):
        return _JSON_HINT
    lines = head.splitlines()
    for pattern, command in _PREFIXES:
        having = [match for line in lines if (match := pattern.match(line)) is not None]
        without = "\n".join(pattern.sub("", line, count=1) for line in lines)
        if having and any(recognises(path, without) for recognises in recognisers):
            return f"each line begins with {having[0][0].strip()[:40]!r}: take that away ({command})"
    return ""
