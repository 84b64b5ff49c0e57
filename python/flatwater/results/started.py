"""How a result was started: the options that `flatwater resume` needs beside the experiment, and its command line."""

from __future__ import annotations

import json
import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flatwater.results.foreign import open_regular

#: A file of the result folder.
STARTED = "started.json"
#: A file of a result folder that is uploaded to a store: where to (`flatwater.stores` writes it).
UPLOAD = "upload.json"
#: The default executor.
HERE = "local"
#: Why a result is not resumed that no run made.
IMPORTED = "was imported, and not run: nothing is missing of it"
#: Its few options are far below this.
_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Started:
    """The options of the command line that are not in the experiment."""

    on: str = HERE
    jobs: int | None = None
    #: The scheduler of the load hosts.
    load_on: str | None = None

    def to_json(self, out: Path) -> str:
        """The JSON text for the folder `out`. The working directory, which relative paths depend on, is stored relative
        to the folder: a result contains no user name.
        """
        told: dict[str, object] = {"on": self.on}
        if self.jobs is not None:
            told["jobs"] = self.jobs
        if self.load_on is not None:
            told["load_on"] = self.load_on
        with suppress(OSError):  # the directory is gone
            told["from"] = os.path.relpath(Path.cwd(), out.resolve())
        return json.dumps(told)


def read_started(out: Path) -> tuple[Started, Path | None]:
    """The options of a result, and its working directory if that is stored."""
    try:
        with open_regular(out / STARTED) as handle:
            found = json.loads(handle.read(_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return Started(), None
    on, jobs, load_on, place = (found.get(name) for name in ("on", "jobs", "load_on", "from"))
    started = Started(
        on if isinstance(on, str) else HERE,
        jobs if isinstance(jobs, int) and jobs > 0 else None,
        load_on if isinstance(load_on, str) else None,
    )
    return started, _resolved(out, place) if isinstance(place, str) else None


def _resolved(out: Path, place: str) -> Path | None:
    """A stored working directory; None for a text that is no path."""
    try:
        return (out.resolve() / place).resolve()
    except (OSError, ValueError, RuntimeError):  # a zero byte, half a character, links in a circle
        return None


def resume_command(out: Path, *options: str) -> str:
    """The command that continues a result, from any directory."""
    return " ".join(["flatwater resume", shell_word(str(out.absolute())), *options])


def shell_word(text: str) -> str:
    """A text as one shell word. Blanks that an error line would lose are escaped (`$'...'`: bash, zsh, ksh)."""
    if text.isprintable() and not re.search(r"\s\s|^\s|\s$", text):
        return shlex.quote(text)
    spelt = "".join(
        one if one.isprintable() and one not in "\\' " else "".join(f"\\x{byte:02x}" for byte in os.fsencode(one))
        for one in text
    )
    return f"$'{spelt}'"
