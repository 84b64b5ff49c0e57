"""What a page asks for: an experiment of the library and lines of `--set`, checked before anything is started."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment import CELLS_ASKED, Experiment, InvalidExperimentError, load
from flatwater.experiment.database import settings
from flatwater.experiment.overrides import meant
from flatwater.experiment.paths import split_open
from flatwater.experiment.storage.file import local_path
from flatwater.runner.check import Checked, check
from flatwater.server.binary import NAMES

#: The most lines, and the most letters of one: the longest argument of a program is 128 KiB (execve(2)).
LINES_MAX, LETTERS_MAX = 200, 8000
_NO_DIRECTORY = "from a page the place of a storage is a directory that exists: no device, no file, no new name"
_NO_SERVER = (
    f"a program is not named by its path from a page, and only a server is named: {' or '.join(NAMES)}, also with a"
    " version (mysqld-5.7), in the PATH of flatwater serve"
)
_TERMINAL = "on the command line only: `flatwater run` in a terminal"
#: Statements that a server would run, and files of them: with the rights of flatwater's account they reach other files.
_STATEMENTS = tuple(
    f"workload.{name}" for name in ("transactions", "parameters", "on_connect", "setup", "setup_file", "log")
)
#: Fields that describe, and do nothing.
_WORDS = ("title", "about", "source", "tags", "report")
#: Settings of a server that may have a slash and name no file.
_NO_FILES = ("database.settings.default_time_zone",)
#: What a server's program is called, also beside another one of its kind: mysqld-debug, mysqld-5.7.
_SERVER_NAME = re.compile(rf"(?:{'|'.join(NAMES)})(?:-debug|-?[0-9][0-9.]*)?", re.ASCII)
#: The places of storages: directories. Nothing there that is not flatwater's is written (`overwrite` is refused).
PLACES = re.compile(r"(?:(?:cache\.)?storage|database\.storages\.[^.]+)\.path")
#: Fields that open whatever file has the name, also one beside this server, without a slash.
_FILES = (
    *("workload.trace", "thresholds.baseline", "cost.prices"),
    *("database.ssl_ca", "database.ssl_cert", "database.ssl_key", "database.server_public_key_path"),
)
#: Names that are files wherever a name is taken: of devices, machines and measured workloads, and a policy's module.
_FILE_NAME = re.compile(r"\.(?:toml|py)(?:$|:)", re.IGNORECASE)
#: Tables of figures beside the run: their cells are looked up when the experiment is read, with the files they name.
_BESIDE = ("published", "expected")


@dataclass(frozen=True)
class Wish:
    """An experiment, and the lines that change it."""

    file: Path
    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lines, as the page shows them."""
        return "\n".join(self.lines)


def read_wish(file: Path, text: str) -> Wish:
    """The lines of a form: `FIELD=VALUE` each, with or without `--set` before it.

    Errors: UserError for more than a run could be given.
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line.removeprefix("--set ").strip() for line in lines if line and not line.startswith("#")]
    return Wish(file, fitting(lines))


def fitting(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines. Errors: UserError for more than a run could be given."""
    if len(lines) > LINES_MAX:
        raise UserError(f"{len(lines)} lines, and a page takes {LINES_MAX}", hint="write an experiment file")
    for line in lines:
        if len(line) > LETTERS_MAX or "\0" in line:
            raise UserError("a line is too long, or no text", where=f"--set {line[:40]}...")
    return tuple(lines)


def checked(wish: Wish) -> tuple[Checked | None, list[UserError]]:
    """What is known of the run, or all mistakes of the wish."""
    own = load(str(wish.file))
    # Before any file that a line names is opened: what is wrong with it would tell that it is there.
    if refused := [*_refused(said_by(wish.lines), own)]:
        return None, refused
    try:
        found = check(str(wish.file), wish.lines, complete=True)
    except InvalidExperimentError as error:
        return None, list(error.problems)
    except UserError as error:
        return None, [error]
    refused = [*_refused(values_of(found.experiment), own)]
    if found.cells > CELLS_ASKED:
        hint = f"sweep fewer values; {_TERMINAL} with --yes"
        refused.append(UserError(f"{found.cells:,} cells, {found.cells_text}", where="sweep", hint=hint))
    return (None, refused) if refused else (found, [])


def refused_beside_places(wish: Wish) -> list[UserError]:
    """What no page may ask for. Places of storages are left out: nothing is looked up."""
    beside = ((field, value) for field, value in said_by(wish.lines) if not PLACES.fullmatch(field))
    return [*_refused(beside, load(str(wish.file)))]


def _refused(asked: Iterator[tuple[str, Any]], own: Experiment) -> Iterator[UserError]:
    """What no page may ask for: what could destroy what is not flatwater's, a server of others, files by their paths.

    Looked at is what the lines say, and then what the experiment is in the end, whichever line or sweep made it so.
    What the library's `own` file says stands.
    """
    told, said = set(), {(field, repr(value)) for field, value in values_of(own)}
    for field, value in asked:
        why = None if (field, repr(value)) in said else _why_not(field, value)
        if why is not None and field not in told:
            told.add(field)
            yield UserError(f"{field}: {why}", where=own.name, hint=_TERMINAL)


def _why_not(field: str, value: Any) -> str | None:
    """Why a page may not give a field this value; None if it may.

    Text with a slash is taken for the path of a file in every field, so that a new field is refused, too.
    """
    name = field.rpartition(".")[2]
    if name == "overwrite" and value is True:
        return "what is on a device, or in a file of yours, is not overwritten from a page"
    if field == "database.url" and value is not None:
        return "a load on a server of others is not started from a page"
    if field == "database.binary" and isinstance(value, str) and not _SERVER_NAME.fullmatch(value):
        return _NO_SERVER
    if field == "load.hosts":
        return "other hosts are not made to load anything from a page"
    field = field.removeprefix("twin.")
    if field.partition(".")[0] in _BESIDE:
        return "figures beside the run are not brought by a page"
    table, entry = split_open(field)
    if (table == settings.TABLE and settings.holds_statements(entry)) or _is_of(field, _STATEMENTS):
        return "statements of your own are not run from a page" if value else None
    if PLACES.fullmatch(field) and isinstance(value, str) and value:
        return None if _is_directory(value) else _NO_DIRECTORY
    free = field in _NO_FILES or field.partition(".")[0] in _WORDS
    if not isinstance(value, str) or not value or free:
        return None
    if settings.is_path(value) or value.startswith("~") or _FILE_NAME.search(value) or field in _FILES:
        return "a file is not named by its path from a page, only the place of a storage (storage.path)"
    return None


def _is_directory(written: str) -> bool:
    """Whether a directory is there, seen without opening anything."""
    try:
        return stat.S_ISDIR(Path(local_path(written)).stat().st_mode)
    except (OSError, ValueError):
        return False


def _is_of(field: str, tables: Sequence[str]) -> bool:
    return any(field == table or field.startswith(f"{table}.") for table in tables)


def values_of(experiment: Experiment) -> Iterator[tuple[str, Any]]:
    """Each field with each of its values."""
    yield from _flat("", experiment.model_dump(exclude={"sweep", "published", "expected"}))
    for dimension in experiment.sweep.dimensions:
        for field, values in dimension.items():
            for value in values:
                yield from _flat(field, value)


def said_by(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Each field of the lines with each of its values, as the run would read them: also swept ones, and inline tables.

    A line that is no `FIELD=VALUE` has none. It is told as a mistake.
    """
    for line in lines:
        field, values = meant(line)
        for value in values if field else ():
            for name, inner in _flat(field, value):
                yield name.removeprefix("sweep.").removeprefix("zip."), inner


def _flat(field: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{field}.{name}" if field else str(name), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _flat(field, inner)
    else:
        # Option files take dashes for underscores.
        yield settings.spell(field), value


def problem_texts(problems: Sequence[UserError]) -> list[tuple[str, str, str]]:
    """Each problem as (where, what, what to do next)."""
    return [(one.where or "", one.what, one.hint or "") for one in problems]
