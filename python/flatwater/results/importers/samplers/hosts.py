"""The hosts that recordings are of: a result is of one machine, and a file of one host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from flatwater.results.importers.samplers.sampler import Recording

#: sysstat's first line: Linux 6.8.0 (db1.example.com) 03/13/2026 _x86_64_ (8 CPU)
_HEADING = re.compile(r"(?:Linux|FreeBSD) \S+ \(([^()\s]{1,255})\)\s")


def host_in(line: str) -> str:
    """The host that a line of sysstat's names; empty if it names none."""
    match = _HEADING.match(line)
    return match[1] if match is not None else ""


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one host: with its domain, or without."""
    return not one or not other or one == other or one.partition(".")[0] == other.partition(".")[0] != ""


class OneHost:
    """Lines of the first host that a file names. Those behind the heading of another are none of it, and are told."""

    def __init__(self) -> None:
        self.name = ""
        self.told: list[str] = []

    def lines(self, numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines of the first host."""
        is_own = True
        for number, line in numbered:
            if host := host_in(line):
                is_own = self.is_own(host, number)
            if is_own:
                yield number, line

    def is_own(self, host: str, line: int) -> bool:
        """Whether what follows is of the host that the file named first."""
        self.name = self.name or host
        if is_same(self.name, host):
            return True
        note = f"line {line}: from here on it is of {host}, and not of {self.name}: left out. Import it by itself"
        self.told += [] if self.told else [note]
        return False


def of_two_hosts(recordings: Mapping[Path, Recording]) -> list[str]:
    """The warning about recordings of several hosts in one result; empty if they are of one."""
    found: dict[str, list[str]] = {}
    for path, one in recordings.items():
        if one.host:
            name = next((host for host in found if is_same(host, one.host)), one.host)
            found.setdefault(name, []).append(path.name)
    if len(found) < 2:
        return []
    named = " and ".join(f"{host} ({', '.join(files)})" for host, files in found.items())
    return [f"the readings are of {len(found)} hosts: {named}. Import without those that are not of the server"]
