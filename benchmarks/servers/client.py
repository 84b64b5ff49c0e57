"""Calling the clients of packages: apt, Maven and npm."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from flatwater.errors import FlatwaterError

#: A client that has not brought a package of some tens of MB after this long hangs.
PATIENCE_S = 900.0
#: How their lines of error begin.
_ERRORS = ("E:", "Err:", "[ERROR]", "npm error", "npm ERR!")


def call(command: Sequence[str], folder: Path) -> str:
    """The output of a client. Errors: FlatwaterError with its last line if it fails, hangs, or is not there."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False, errors="replace"
        )
    except FileNotFoundError:
        raise FlatwaterError(f"{command[0]} is not installed", hint=f"install {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise FlatwaterError(f"{command[0]} brought nothing in {PATIENCE_S:.0f} s") from None
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        told = next((line for line in lines if line.startswith(_ERRORS)), "")
        raise FlatwaterError(f"{command[0]}: {(told or (lines or ['it failed'])[-1])[:300]}")
    return done.stdout
