"""Writing a server's my.cnf."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from flatwater.errors import UserError
from flatwater.experiment.database.option_line import line_fault, option_line
from flatwater.experiment.database.settings import TABLE

_HEAD = """\
# Written by flatwater for one server, which it starts with --defaults-file: no other file is read.
[mysqld]
"""


def write_option_file(path: Path, own: Mapping[str, str], chosen: Mapping[str, str], said: Mapping[str, str]) -> None:
    """Writes a my.cnf of three groups of settings.

    `own`: those that flatwater needs; `chosen`: those that it chooses; `said`: those of the experiment. If two groups
    have the same setting, only the line of the later group is written. Errors: UserError for a setting that the server
    would read as another one; nothing is written then.
    """
    sections = [
        ("where it lies and how it is reached", own, {*chosen, *said}, "my.cnf: "),
        ("picked by flatwater for this use", chosen, {*said}, "my.cnf: "),
        (f"from the experiment: {TABLE}", said, set[str](), f"{TABLE}."),
    ]
    lines = [_HEAD.encode()]
    for title, settings, hidden, table in sections:
        shown = [_line(name, value, table) for name, value in settings.items() if name not in hidden]
        lines += [f"\n# {title}\n".encode(), *shown] if shown else []
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
        handle.write(b"".join(lines))


def _line(name: str, value: str, table: str) -> bytes:
    if fault := line_fault(name, value):
        raise UserError(fault, where=f"{table}{name}")
    return option_line(name, value)
