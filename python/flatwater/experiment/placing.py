"""The place of each problem: a line of the file, or a word of the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from flatwater.errors import UserError
from flatwater.experiment.lines import LineIndex
from flatwater.experiment.problem import Problem


class InvalidExperimentError(UserError):
    """An invalid experiment. Its text is the first problem; `problems` has all of them."""

    def __init__(self, problems: Sequence[UserError]) -> None:
        first, others = problems[0], len(problems) - 1
        more = f" (and {others} more: `flatwater check` lists them)" if others else ""
        super().__init__(first.what + more, where=first.where, hint=first.hint)
        self.problems = list(problems)


def place_problems(
    problems: Sequence[Problem], path: Path, text: str, set_by: Mapping[str, str], swept: set[str]
) -> InvalidExperimentError:
    """All problems of a file, in the order of its lines. `set_by` has the options of the command line, by field."""
    lines = LineIndex(text)
    placed = [_place(problem, path, lines, set_by, swept) for problem in problems]
    return InvalidExperimentError([error for _, error in sorted(placed, key=lambda pair: pair[0])])


def _place(
    problem: Problem, path: Path, lines: LineIndex, set_by: Mapping[str, str], swept: set[str]
) -> tuple[int, UserError]:
    """The place of a problem: an override, or a line of the file (0 = unknown).

    A default has no line: its problem is shown at a written field that it depends on.
    """
    fields = (problem.field, *problem.rests_on)
    shown = re.sub(r"\.(\d+)", r"[\1]", problem.field)
    what = f"{shown}: {problem.what}"
    for field in fields:
        for name, where in set_by.items():
            if f"{field}.".startswith(f"{name}.") or name.startswith(f"{field}."):
                return 0, UserError(what, where=where, hint=problem.hint)
    # The value of a swept field is in the sweep.
    written = [f"sweep.{field}" if field in swept else field for field in fields]
    line = lines.line_of(next((field for field in written if field in lines), problem.field))
    return line or 0, UserError(what, where=f"{path}:{line}" if line else str(path), hint=problem.hint)
