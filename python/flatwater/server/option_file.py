"""Writing a server's my.cnf."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from flatwater.errors import UserError

_HEAD = """\
# Written by flatwater for one server, which it starts with --defaults-file: no other file is read.
[mysqld]
"""


def write_option_file(path: Path, own: Mapping[str, str], chosen: Mapping[str, str], said: Mapping[str, str]) -> None:
    """Writes a my.cnf of three groups of settings.

    `own`: those that flatwater needs; `chosen`: those that it chooses; `said`: those of the experiment. If two groups
    have the same setting, only the line of the later group is written. Errors: UserError for a value of several lines.
    """
    sections = [
        ("where it lies and how it is reached", own, {*chosen, *said}),
        ("picked by flatwater for this use", chosen, {*said}),
        ("from the experiment: database.settings", said, set[str]()),
    ]
    lines = [_HEAD]
    for title, settings, hidden in sections:
        shown = [_line(name, value) for name, value in settings.items() if name not in hidden]
        lines += [f"\n# {title}\n", *shown] if shown else []
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
        handle.write("".join(lines))


def _line(name: str, value: str) -> str:
    if any(ord(character) < 32 for character in value):
        raise UserError("a setting's value is one line of text", where=f"database.settings.{name}")
    if not value:
        return f"{name}\n"
    # In option files a backslash is an escape character. A # begins a comment, unless the value is quoted.
    plain = value.replace("\\", "\\\\")
    quoted = f'"{plain}"' if any(character in value for character in " #;'\"\\") else plain
    return f"{name} = {quoted}\n"
