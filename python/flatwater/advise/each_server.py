"""Lines for the option files of several servers: one line where all need the same, else each with the server's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flatwater.advise.dialect import Dialect
from flatwater.server.lines import Value


def each_line(servers: Mapping[str, Dialect], wanted: Mapping[str, Mapping[str, Value]]) -> Iterator[str]:
    """The lines of the servers that `wanted` names, in their own words. A server that lacks a setting has no line."""
    lines = {name: servers[name].lines(settings) for name, settings in wanted.items()}
    if len(lines) == len(servers) and len(set(lines.values())) == 1:
        yield from next(iter(lines.values()))
        return
    for name, own in lines.items():
        for line in own:
            yield f"{line}  # {name}"
