"""Transactions of the user's own statements, what their sessions wait, and the statements of the setup."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from flatwater.experiment.problem import Table, explain_error, quote, refuse
from flatwater.experiment.units import Seconds
from flatwater.experiment.workload.sql.parameter import AnyTable, read_strictly

#: Statements of one transaction: undo of more than this measures something else.
MAX_STATEMENTS = 10_000
#: Bytes of a statement: what fits into a packet of MySQL's protocol, with its parameters.
MAX_STATEMENT_BYTES = 2**20
#: Executions of a statement of the setup.
MAX_TIMES = 10**9
#: A think time is cut at so many times its mean, as TPC-C cuts it (clause 5.2.5.4).
THINK_CUT = 10.0

SqlText = Annotated[str, Field(min_length=1, max_length=MAX_STATEMENT_BYTES)]


class Statement(Table):
    """A statement of a transaction."""

    sql: SqlText
    #: The name by which parameters of the kind `column` reach its first row.
    name: str = ""
    #: Prepared or as text; the workload's choice if absent.
    prepared: bool | None = None


class SetupStatement(Table):
    """A statement that makes a part of the schema or of its rows, before the run."""

    sql: SqlText
    #: How often it runs, each time with new values.
    times: int = Field(default=1, ge=1, le=MAX_TIMES)


def _statement(value: Any) -> Statement:
    return _read(Statement, value)


def _setup_statement(value: Any) -> SetupStatement:
    return _read(SetupStatement, value)


def _read(model: type[AnyTable], value: Any) -> AnyTable:
    if isinstance(value, model):
        return value
    if isinstance(value, str):
        value = {"sql": value}
    if not isinstance(value, dict):
        raise refuse(f"must be a statement (in quotes) or a table, not {quote(value)}", '{ sql = "SELECT 1" }')
    return read_strictly(model, value)


class Think(Table):
    """A think time that is drawn anew after each transaction."""

    kind: Literal["constant", "uniform", "exponential"]
    #: constant and exponential: the time, or the mean.
    mean_s: Seconds | None = None
    #: uniform: the limits.
    min_s: Seconds = 0.0
    #: uniform: the longest; exponential: the longest, 10 times the mean if absent.
    max_s: Seconds | None = None

    @property
    def average_s(self) -> float:
        """The mean of what is drawn, seconds; that of an exponential one is a little less, as it is cut."""
        return (self.min_s + (self.max_s or 0.0)) / 2 if self.kind == "uniform" else self.mean_s or 0.0

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.kind == "uniform":
            if self.max_s is None or self.mean_s is not None:
                raise refuse("a uniform think time has min_s and max_s", '{ kind = "uniform", max_s = 2 }')
            if self.min_s > self.max_s:
                raise refuse(f"min_s = {self.min_s:g} is more than max_s = {self.max_s:g}", "swap them")
        elif self.mean_s is None:
            raise refuse("mean_s is missing", '{ kind = "exponential", mean_s = 1 }')
        elif self.min_s or (self.kind == "constant" and self.max_s is not None):
            raise refuse("only a uniform think time has min_s, and a constant one has no max_s", "take it out")
        return self


def _think(value: Any) -> Think:
    if isinstance(value, Think):
        return value
    if isinstance(value, dict):
        return read_strictly(Think, value)
    try:
        return read_strictly(Think, {"kind": "constant", "mean_s": value})
    except ValidationError as error:
        # The file has no mean_s: the number stands for it.
        what, hint = explain_error(error.errors(include_url=False)[0])
    raise refuse(what, hint)


class Transaction(Table):
    """A transaction: its statements in their order."""

    #: How often it is chosen compared with the others.
    weight: float = Field(default=1.0, gt=0, le=1e9)
    statements: Annotated[
        list[Annotated[Statement, BeforeValidator(_statement)]], Field(min_length=1, max_length=MAX_STATEMENTS)
    ]
    #: Without BEGIN and COMMIT: each statement is a transaction of its own.
    autocommit: bool = False
    #: What the session waits after the transaction: seconds, or a table.
    think: Annotated[Think, BeforeValidator(_think)] | None = None


#: An entry of `setup`.
AnySetupStatement = Annotated[SetupStatement, BeforeValidator(_setup_statement)]
#: Text is a list of one statement.
Statements = Annotated[list[SqlText], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
