"""Asking a server whether it takes the values of its settings, before anything is loaded for it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flatwater.errors import UserError
from flatwater.server.binary import Binary

# A server reads its options before it prints its help, and says which it does not take, or not as they are:
# "option 'innodb-io-capacity': unsigned value 50 adjusted to 100".
_ADJUSTED = re.compile(r"option '([\w-]+)': (?:unsigned |signed |double )?value '?(\S+?)'? adjusted to '?(\S+?)'?$")
_REFUSED = re.compile(r"\[ERROR\]|ignoring option|Unknown suffix|unknown variable|ambiguous option|Illegal value", re.I)


# Settings and values that a server took, so that a sweep of thousands of cells asks for each but once.
_taken: set[tuple[Binary, str, str]] = set()


def check_values(lines: Mapping[str, str], binary: Binary) -> None:
    """Lets the server read these my.cnf lines as it would when it starts.

    Errors: UserError at `database.settings.NAME` for a value that it refuses, or would quietly replace by another.
    """
    lines = {name: value for name, value in lines.items() if (binary, name, value) not in _taken}
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
            said = re.sub(r"^.*?\[(?:ERROR|Warning)\]\s*(?:\[MY-\d+\]\s*)?(?:\[\w+\]\s*)?", "", line.strip())
            raise UserError(f"{binary.title} does not take {lines[name]!r}: {said}", where=f"database.settings.{name}")
    _taken.update((binary, name, value) for name, value in lines.items())


def _named(line: str, lines: Mapping[str, str]) -> str | None:
    """The setting that a message is about; the longest, since names begin with each other."""
    words = {word.replace("-", "_").lower() for word in re.findall(r"[\w-]+", line)}
    found = [name for name in lines if name in words or f"__{name}" in words]
    return max(found, key=len, default=None)
