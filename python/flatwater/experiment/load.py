"""From a file, or a name of the library, to a validated experiment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment.database.settings import spell_all
from flatwater.experiment.device import KINDS
from flatwater.experiment.device.load import device_files
from flatwater.experiment.device.parameters import spell_parameters
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.faults import validate
from flatwater.experiment.library import library_files
from flatwater.experiment.lines import LineIndex
from flatwater.experiment.overrides import override, shown
from flatwater.experiment.problem import Problem
from flatwater.experiment.reading import parse_toml, read_text
from flatwater.experiment.scale import apply_scale
from flatwater.experiment.sweep import swept_fields
from flatwater.spelling import guessed, nearest


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
    spell_parameters(data)
    set_by = {}
    # A kind brings fields of its own, which others may set: kinds first.
    for written in sorted(overrides, key=lambda written: not _is_kind(written)):
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


def _is_kind(written: str) -> bool:
    return written.partition("=")[0].replace('"', "").strip().endswith(".kind")


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
    if written in device_files():
        what, hint = (
            "is a modelled device, not an experiment",
            f"flatwater run fill-level --set storage.device={written}",
        )
        raise UserError(what, where=written, hint=f"{hint} --set storage.kind=KIND")
    hint = guessed(written, files) or "`flatwater list` shows the library"
    raise UserError("neither a file nor an experiment of the library", where=written, hint=hint)


def _parse(path: Path, text: str) -> dict[str, Any]:
    data = parse_toml(path, text)
    if not data:
        hint = "start from one of the library: `flatwater show quick`"
        raise UserError("the file is empty", where=str(path), hint=hint)
    if "workload" not in data and isinstance(kind := data.get("kind"), str) and kind in KINDS:
        hint = f"flatwater run fill-level --set storage.kind={kind} --set storage.device={_as_path(path)}"
        raise UserError("is a modelled device's file, not an experiment", where=str(path), hint=hint)
    return data


def _as_path(path: Path) -> str:
    """Written so that it cannot be taken for the name of a device."""
    return str(path) if "/" in str(path) else f"./{path}"


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
