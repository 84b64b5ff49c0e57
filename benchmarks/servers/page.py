"""`docs/servers-tried.md`, from the records of the matrix."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from benchmarks.servers.records import Record
from benchmarks.servers.registry import Server
from benchmarks.servers.steps import Step

_WIDTH = 120
#: The folders of a path: they are this machine's.
_FOLDERS = re.compile(r"(?<![\w./])/(?:[^\s/:]+/)+")
_HEAD = """\
# Servers that were tried
`make test-servers` gets every server below that can be had on this machine, and runs every step on each of them. It
writes this page. [Database servers](servers.md) says what flatwater does with servers in general.

The steps are short and small (one warehouse of TPC-C, tables of a few thousand rows, a pool of 32 MiB), on a machine
that may be busy with other work. They show what works. **The rates are no benchmark**: do not compare servers by them.
A step that is "not run" was not reached when the page was written. Each step has the day of its last run. `fit
workload` and `what-if` need 500 New-Orders: a machine that is too busy for them fails these steps, and the table says
so. `what-if` also fails where the twin, with nothing fitted, is more than 2 times faster or slower than the server. "A
full disk" is one that fills up while the server is measured: the run ends with an error, or the server waits for room,
and flatwater must say which.

Servers whose TLS is older than flatwater's are behind a hop, which speaks both: what is logged in with, and how the
server takes it, is theirs. The network of "over a network" is one of namespaces: all its machines are this one.

What observing costs is measured under a load that keeps all processors busy. Up to 1 % of a core is taken then, twice
what flatwater promises; above 0.5 % the result must say so.

What a server does not have is no fault of the server: MySQL before 5.6 counts flushed pages, but not why it flushed
them, and it keeps no statistics of the sizes of its indexes.
"""


def page(servers: Sequence[Server], steps: Sequence[Step], records: Mapping[str, Mapping[str, Record]]) -> str:
    """The page. A server without records is told as not tried, with the reason why it may not be here."""
    tried = [server for server in servers if records.get(server.name)]
    lines = [_HEAD, *_overview(tried, steps, records)]
    absent = [server.title for server in servers if server not in tried]
    if absent:
        lines += ["", *textwrap.wrap(f"Not tried: {'; '.join(absent)}.", _WIDTH)]
    for server in tried:
        lines += ["", f"## {_version(records[server.name])}", "", *_server(server, steps, records[server.name])]
    return "\n".join(lines) + "\n"


def _overview(
    servers: Sequence[Server], steps: Sequence[Step], records: Mapping[str, Mapping[str, Record]]
) -> list[str]:
    heads = "".join(f" {step.title} |" for step in steps)
    rows = [f"| server | tried |{heads}", f"|---|---|{'---|' * len(steps)}"]
    for server in servers:
        of = records[server.name]
        cells = "".join(f" {_word(of.get(step.name))} |" for step in steps)
        rows.append(f"| {_version(of)} | {_days(of)} |{cells}")
    return rows


def _word(record: Record | None) -> str:
    if record is None:
        return "not run"
    if not record.passed:
        return "**failed**"
    return "passed, in part" if record.missing else "passed"


def _server(server: Server, steps: Sequence[Step], of: Mapping[str, Record]) -> list[str]:
    heads = ["| step | tried | what was found | what it does not have |", "|---|---|---|---|"]
    lines = [f"From: {server.origin.about}.", "", *heads]
    for step in steps:
        one = of.get(step.name)
        if one is None:
            continue
        found = "; ".join(one.figures) if one.passed else f"failed: {one.failure}"
        lines.append(f"| {step.title} | {one.when[:10]} | {_cell(found)} | {_cell(', '.join(one.missing))} |")
    return lines


def _cell(text: str) -> str:
    """Text that can stand in a table: what servers say may have anything in it."""
    return _FOLDERS.sub("", text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _days(of: Mapping[str, Record]) -> str:
    """When it was tried: the first day and the last one, if its steps ran on different ones."""
    days = sorted({one.when[:10] for one in of.values()})
    return " to ".join(dict.fromkeys((days[0], days[-1])))


def _version(of: Mapping[str, Record]) -> str:
    """What was tried: each version of it, if the steps ran on different ones."""
    return ", ".join(dict.fromkeys(one.server for one in sorted(of.values(), key=lambda one: one.when)))
