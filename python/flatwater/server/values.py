"""Checking with the server's own program whether it accepts the values of settings, before any data is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flatwater.errors import UserError
from flatwater.server.binary import Binary

# A server reads its options before it prints its help. It reports those that it refuses or adjusts:
# "option 'innodb-io-capacity': unsigned value 50 adjusted to 100".
_ADJUSTED = re.compile(r"option '([\w-]+)': (?:unsigned |signed |double )?value '?(\S+?)'? adjusted to '?(\S+?)'?$")
_REFUSED = re.compile(r"\[ERROR\]|ignoring option|Unknown suffix|unknown variable|ambiguous option|Illegal value", re.I)


# Settings and values that a server accepted, so that a sweep of thousands of cells checks each of them only once.
_accepted: set[tuple[Binary, str, str]] = set()


def check_values(lines: Mapping[str, str], binary: Binary) -> None:
    """Makes the server's program read these my.cnf lines as it would when it starts.

    Errors: UserError at `database.settings.NAME` for a value that it refuses, or would silently replace by another.
    """
    lines = {name: value for name, value in lines.items() if (binary, name, value) not in _accepted}
    if not lines:
        return
    arguments = [f"--{name.replace('_', '-')}" + (f"={value}" if value else "") for name, value in lines.items()]
    for line in binary.read_help(arguments):
        adjusted = _ADJUSTED.search(line)
        name = _named(line, lines)
        if adjusted and name:
            raise UserError(
                f"{binary.title} would run with {adjusted[3]} instead of {lines[name]}",
                where=f"database.settings.{name}",
                hint="give a value that it takes as it is",
            )
        if _REFUSED.search(line) and name:
            message = re.sub(r"^.*?\[(?:ERROR|Warning)\]\s*(?:\[MY-\d+\]\s*)?(?:\[\w+\]\s*)?", "", line.strip())
            raise UserError(
                f"{binary.title} does not take {lines[name]!r}: {message}", where=f"database.settings.{name}"
            )
    _accepted.update((binary, name, value) for name, value in lines.items())


def _named(line: str, lines: Mapping[str, str]) -> str | None:
    """The setting that a message is about: the longest name in it, because names can be prefixes of each other."""
    words = {word.replace("-", "_").lower() for word in re.findall(r"[\w-]+", line)}
    found = [name for name in lines if name in words or f"__{name}" in words]
    return max(found, key=len, default=None)
