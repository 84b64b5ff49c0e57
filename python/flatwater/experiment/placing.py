"""The place of each problem: a line of the file, or a word of the command line."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
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


#: A dotted field of an experiment's layers, as a pattern.
FIELD = r"(?:workload|database|cache|storage|load)(?:\.\w+)+"
#: A field, and what is said of it.
_SAID = re.compile(rf"(?<![\w.-]){FIELD}(?=: )")


class Places:
    """Where the fields of an experiment are written: on lines of its file, or as options of the command line."""

    def __init__(self, path: Path, text: str, set_by: Mapping[str, str], swept: Collection[str]) -> None:
        self._path = path
        self._lines = LineIndex(text)
        self._set_by = dict(set_by)
        self._swept = frozenset(swept)

    def __eq__(self, other: object) -> bool:
        """Experiments that say the same are equal, wherever they are written."""
        return other is None or isinstance(other, Places)

    __hash__ = None  # type: ignore[assignment]

    def find(self, *fields: str) -> tuple[int, str]:
        """The place of the first of these fields that is written: its line (0 = unknown), and the place in words."""
        for field in fields:
            for name, where in self._set_by.items():
                if f"{field}.".startswith(f"{name}.") or name.startswith(f"{field}."):
                    return 0, where
        # The value of a swept field is in the sweep.
        written = [f"sweep.{field}" if field in self._swept else field for field in fields]
        line = self._lines.line_of(next((field for field in written if field in self._lines), fields[0]))
        return line or 0, f"{self._path}:{line}" if line else str(self._path)

    def tell(self, text: str) -> str:
        """A text of the engine or of a server, with the places of the fields that it speaks of."""
        return _SAID.sub(lambda found: f"{self.find(found[0])[1]}: {shown_field(found[0])}", text)


def shown_field(field: str) -> str:
    """A dotted field as users read it: places in lists are in brackets."""
    return re.sub(r"\.(\d+)", r"[\1]", field)


def place_problems(
    problems: Sequence[Problem], path: Path, text: str, set_by: Mapping[str, str], swept: set[str]
) -> InvalidExperimentError:
    """All problems of a file, in the order of its lines. `set_by` has the options of the command line, by field."""
    places = Places(path, text, set_by, swept)
    placed = [_place(problem, places) for problem in problems]
    return InvalidExperimentError([error for _, error in sorted(placed, key=lambda pair: pair[0])])


def _place(problem: Problem, places: Places) -> tuple[int, UserError]:
    """The line of a problem, and its error. A default has no line: its problem is at a field that it depends on."""
    line, where = places.find(problem.field, *problem.rests_on)
    return line, UserError(f"{shown_field(problem.field)}: {problem.what}", where=where, hint=problem.hint)
