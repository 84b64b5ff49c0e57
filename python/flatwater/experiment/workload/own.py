"""The common part of the workloads whose statements, and whose schema, are the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from flatwater.errors import UserError
from flatwater.experiment.named_file import require_may_open
from flatwater.experiment.problem import Problem, quote
from flatwater.experiment.units import Percent
from flatwater.experiment.workload.timing import problem
from flatwater.experiment.workload.transactions import Transactions


class OwnStatements(Transactions):
    """Statements of the user's own, on a schema that the user's file makes, or that is there."""

    SCHEMA: ClassVar[str] = "flatwater"

    #: A file of statements that makes the schema and its rows, as a dump is one.
    setup_file: Annotated[str, Field(min_length=1)] | None = None
    #: Allow statements that write; with database.url the setup, too.
    allow_writes: bool = False
    #: Errors are counted by their numbers, and the run goes on.
    on_error: Literal["stop", "continue"] = "continue"
    #: A larger share of failed operations makes the run fail.
    errors_max_pct: Percent = 10.0

    @property
    def commits_per_operation(self) -> float:
        """How many changes an operation commits on average, as far as the statements tell; 0 if they do not."""
        return 0.0

    @property
    def has_setup(self) -> bool:
        """Whether something is to be made before the run."""
        return self.setup_file is not None

    def conflicts(self) -> Iterator[Problem]:
        """A file that is not there; statements sent together."""
        if self.pipeline:
            yield problem("pipeline", "the user's own statements are sent one by one", "take it out", "kind")
        if self.setup_file is not None:
            yield from _file_problems(self.setup_file)
        yield from super().conflicts()


def _file_problems(setup_file: str) -> Iterator[Problem]:
    try:
        require_may_open(Path(setup_file))
    except UserError as error:
        yield problem("setup_file", error.what, error.hint)
    else:
        if not Path(setup_file).is_file():
            what = f"there is no file {quote(setup_file)}"
            yield problem("setup_file", what, "the path of a file of SQL statements")
