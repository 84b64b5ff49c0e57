"""How a result was begun: what `flatwater resume` needs beside its experiment, and the command that it is."""

from __future__ import annotations

import json
import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Of a result folder.
STARTED = "started.json"
#: Where cells run unless told otherwise.
HERE = "local"


@dataclass(frozen=True)
class Started:
    """What the command line said that the experiment does not."""

    on: str = HERE
    jobs: int | None = None

    def to_json(self, out: Path) -> str:
        """For the folder `out`. Where it was begun, from which relative paths count, is told relative to the folder: a
        result names no user.
        """
        told: dict[str, object] = {"on": self.on}
        if self.jobs is not None:
            told["jobs"] = self.jobs
        with suppress(OSError):  # a directory that is gone
            told["from"] = os.path.relpath(Path.cwd(), out.resolve())
        return json.dumps(told)


def read_started(out: Path) -> tuple[Started, Path | None]:
    """How the result was begun, and in which directory, if that is told."""
    try:
        found = json.loads((out / STARTED).read_text())
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        return Started(), None
    on, jobs, place = found.get("on"), found.get("jobs"), found.get("from")
    started = Started(on if isinstance(on, str) else HERE, jobs if isinstance(jobs, int) and jobs > 0 else None)
    return started, (out.resolve() / place).resolve() if isinstance(place, str) else None


def resume_command(out: Path, *options: str) -> str:
    """What to type to go on with a result, from whatever directory."""
    return " ".join(["flatwater resume", shell_word(str(out.absolute())), *options])


def shell_word(text: str) -> str:
    """A text as one word of a shell. Blanks that a line of an error would lose are spelt (`$'...'`: bash, zsh, ksh)."""
    if text.isprintable() and not re.search(r"\s\s|^\s|\s$", text):
        return shlex.quote(text)
    spelt = "".join(
        one if one.isprintable() and one not in "\\' " else "".join(f"\\x{byte:02x}" for byte in os.fsencode(one))
        for one in text
    )
    return f"$'{spelt}'"
