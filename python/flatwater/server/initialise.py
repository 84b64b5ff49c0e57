"""Making a data directory with the server's own tool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.server.access import Access
from flatwater.server.asking import Stop
from flatwater.server.binary import Binary
from flatwater.server.error_log import find_cause
from flatwater.server.flavours import Making
from flatwater.server.process import PATIENCE_S, OnWait, ServerProcess, describe_exit
from flatwater.server.server_folder import ServerFolder
from flatwater.server.settings import shaping


def initialise(
    binary: Binary,
    folder: ServerFolder,
    settings: Mapping[str, str],
    access: Access,
    *,
    on_wait: OnWait | None,
    stop: Stop,
) -> None:
    """Makes a data directory with the system tables, in the format that the settings ask for.

    Errors: FlatwaterError with the tool's reason; UserError when the server's tools are missing; Interrupted.
    """
    folder.make()
    options = [f"--{name.replace('_', '-')}={value}" for name, value in shaping(settings).items()]
    if os.geteuid() == 0:
        # A server that root starts must be told that it may stay root.
        options = ["--user=root", *options]
    making = binary.kind.initialise(binary.path.resolve(), binary.version, access.link_to(folder.data), options)
    log = folder.initialise_log
    log.write_bytes(b"")
    statements = _statements(making, folder)
    process = ServerProcess(making.command, folder.path, log, tmp=folder.tmp, reads=statements)
    try:
        process.wait_while_progress(stop, PATIENCE_S, on_wait)
    finally:
        # Kills also what the tool started: the tool may be a script.
        process.kill()
        access.unlink()
        if statements is not None:
            statements.unlink(missing_ok=True)
    if stop():
        raise Interrupted("the making of a data directory was stopped")
    code = process.exit_code()
    if code != 0:
        cause = find_cause(log, first=True) or _last_line(log) or describe_exit(code or 0)
        raise FlatwaterError(
            f"{binary.title} cannot make a data directory in {folder.data}: {cause}", hint=f"see {log}"
        )
    log.unlink(missing_ok=True)


def _statements(making: Making, folder: ServerFolder) -> Path | None:
    """What the command reads from its standard input: the scripts, in the database of the system tables."""
    if not making.scripts:
        return None
    path = folder.tmp / "system-tables.sql"
    # The server makes no folder for the database when it is asked to in this mode: it finds one.
    (folder.data / "mysql").mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(b"USE mysql;\n" + b"\n".join(script.read_bytes() for script in making.scripts))
    return path


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] if log.exists() else []
    return lines[-1] if lines else ""
