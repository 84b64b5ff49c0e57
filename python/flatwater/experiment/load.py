"""From a file, or a name of the library, to a validated experiment."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment.database.settings import spell_all
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.faults import validate
from flatwater.experiment.library import library_files
from flatwater.experiment.lines import LineIndex
from flatwater.experiment.overrides import override, shown
from flatwater.experiment.problem import Problem, nearest, suggest
from flatwater.experiment.scale import apply_scale
from flatwater.experiment.sweep import swept_fields

#: An experiment is written by hand; a file this large is something else (a result, a disk image).
MAX_FILE_SIZE = 16 * 2**20


class InvalidExperimentError(UserError):
    """An experiment that cannot be used. Reads as its first problem; `problems` has every one."""

    def __init__(self, problems: Sequence[UserError]) -> None:
        first, others = problems[0], len(problems) - 1
        more = f" (and {others} more: `flatwater check` lists them)" if others else ""
        super().__init__(first.what + more, where=first.where, hint=first.hint)
        self.problems = list(problems)


def load(path_or_name: str | Path, overrides: Sequence[str] = (), seed: int | None = None) -> Experiment:
    """Reads an experiment: a file, or a name of the library.

    `overrides` are texts like `storage.path=/mnt/flash`; each replaces what the file says, a sweep of the field
    included. `seed` replaces the file's. What the report and the published figures say of cells that an override
    takes away is dropped. Raises InvalidExperimentError, or another UserError, if anything is wrong.
    """
    path = find_experiment(path_or_name)
    text = read_text(path)
    data = _parse(path, text)
    spell_all(data)
    set_by = {}
    for written in overrides:
        set_by[override(data, written)] = shown(written)
    if seed is not None:
        data["seed"] = seed
        set_by["seed"] = f"--seed {seed}"
    data.setdefault("name", path.stem)
    try:
        apply_scale(data)
        experiment, problems = validate(data, overridden=bool(overrides))
        if experiment is not None:
            return experiment
        lines = LineIndex(text)
        swept = swept_fields(data.get("sweep"))
        placed = [_place(problem, path, lines, set_by, swept) for problem in problems]
    except RecursionError:
        raise InvalidExperimentError([UserError("the tables are nested too deeply", where=str(path))]) from None
    raise InvalidExperimentError([error for _, error in sorted(placed, key=lambda pair: pair[0])])


def find_experiment(path_or_name: str | Path) -> Path:
    """The file that a path or a name of the library means."""
    written = str(path_or_name)
    path = Path(path_or_name)
    try:
        if path.is_file():
            return path
        exists, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:  # not permitted, too long, a NUL inside
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot be read: {reason}", where=written) from None
    files = library_files()
    if written in files:
        return files[written]
    if is_folder:
        raise UserError("is a directory, not an experiment file", where=written or "''")
    if exists:
        raise UserError("is not a regular file", where=written)
    if "/" in written or written.endswith(".toml"):
        siblings = [str(other) for other in path.parent.glob("*.toml")]
        close = nearest(str(path), siblings) or nearest(path.stem, files)
        raise UserError("no such file", where=written, hint=f"did you mean {close}?" if close else None)
    raise UserError(
        "neither a file nor an experiment of the library", where=written, hint=suggest(written, list(files))
    )


def read_text(path: Path) -> str:
    """The text of an experiment file. Raises UserError if it is too large, unreadable or not UTF-8."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if len(raw) > MAX_FILE_SIZE:
        raise UserError("is larger than 16 MiB: not an experiment file", where=str(path))
    try:
        # Some editors begin a file with a byte order mark; TOML knows none.
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UserError("is not UTF-8 text", where=f"{path}:{line}", hint="save the file as UTF-8") from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where, what = str(path), str(error)
        if place := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", what, re.DOTALL):
            what, where = place[1], f"{path}:{place[2]}:{place[3]}"
        if what.startswith(("Cannot overwrite", "Cannot declare", "Cannot mutate")):
            what = f"a key or table stands twice ({what})"
        raise UserError(f"not valid TOML: {what}", where=where) from None
    except RecursionError:
        raise UserError("the values are nested too deeply", where=str(path)) from None
    except ValueError:  # Python reads no whole numbers of more than 4,300 digits
        raise UserError("not valid TOML: a number is too long", where=str(path)) from None
    if not data:
        hint = "start from one of the library: `flatwater show quick`"
        raise UserError("the file is empty", where=str(path), hint=hint)
    return data


def _place(
    problem: Problem, path: Path, lines: LineIndex, set_by: dict[str, str], swept: set[str]
) -> tuple[int, UserError]:
    """Where a problem stands: an override, or a line of the file (0 = unknown).

    A default has no line; a problem with one stands where a field is written that it rests on.
    """
    fields = (problem.field, *problem.rests_on)
    shown = re.sub(r"\.(\d+)", r"[\1]", problem.field)
    what = f"{shown}: {problem.what}"
    for field in fields:
        for name, where in set_by.items():
            if f"{field}.".startswith(f"{name}.") or name.startswith(f"{field}."):
                return 0, UserError(what, where=where, hint=problem.hint)
    # A swept field's value stands in the sweep.
    written = [f"sweep.{field}" if field in swept else field for field in fields]
    line = lines.line_of(next((field for field in written if field in lines), problem.field))
    return line or 0, UserError(what, where=f"{path}:{line}" if line else str(path), hint=problem.hint)
