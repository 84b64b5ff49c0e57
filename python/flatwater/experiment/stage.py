"""The result of a stage of reading, and the collection of the problems of all stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from flatwater.experiment.problem import Problem

Value = TypeVar("Value")
ValueOut = TypeVar("ValueOut", covariant=True)


@dataclass(frozen=True)
class Read(Generic[ValueOut]):
    """The output of a stage: always a value that later stages can use.

    Where the input is wrong, the value has a default. `problems` describe the errors. `left_out` has the fields whose
    value is not the file's: a statement that depends on one of them may be true only of the default.
    """

    value: ValueOut
    problems: tuple[Problem, ...] = ()
    left_out: frozenset[str] = frozenset()


class Findings:
    """All problems of an experiment, in the order in which they are found."""

    def __init__(self) -> None:
        #: A dictionary with empty values serves as a set that keeps its order.
        self._problems: dict[Problem, None] = {}
        self._left_out: set[str] = set()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems so far."""
        return tuple(self._problems)

    def keep(self, read: Read[Value]) -> Value:
        """Adds the problems of a stage, and returns its value."""
        self.add(read.problems)
        self._left_out |= read.left_out
        return read.value

    def add(self, problems: Iterable[Problem]) -> None:
        """Adds problems, except those that depend on a field that an earlier stage left out."""
        for problem in problems:
            if not self._depends_on_left_out(problem):
                self._problems[problem] = None

    @property
    def left_out(self) -> frozenset[str]:
        """The fields that some stage left out."""
        return frozenset(self._left_out)

    def _depends_on_left_out(self, problem: Problem) -> bool:
        about = {problem.field.removeprefix("sweep."), *problem.rests_on}
        every = tuple(field.removesuffix("*") for field in about if field.endswith(".*"))
        if every and any(name.startswith(every) for name in self._left_out):
            return True
        return any(name in self._left_out for field in about for name in _enclosing(field.removesuffix(".*")))


def _enclosing(field: str) -> Iterator[str]:
    """A dotted field, and the tables that it is in."""
    while field:
        yield field
        field = field.rpartition(".")[0]
