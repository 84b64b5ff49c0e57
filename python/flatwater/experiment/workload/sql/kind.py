"""The user's own transactions on a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from flatwater.experiment.problem import Problem, quote, refuse
from flatwater.experiment.workload.own import OwnStatements
from flatwater.experiment.workload.sql.check import called_by, read_statement, statement_problems
from flatwater.experiment.workload.sql.parameter import AnyParameter, Latest, Sequence
from flatwater.experiment.workload.sql.transaction import AnySetupStatement, Statements, Transaction
from flatwater.experiment.workload.timing import problem

#: Kinds of transactions: each has a histogram and series of its own.
MAX_TRANSACTIONS = 64


def _transaction_name(name: str) -> str:
    if not (name.isascii() and name.replace("_", "").isalnum() and name[0].isalpha() and len(name) <= 40):
        raise refuse(f"{quote(name)} is no name for a transaction", "letters, digits and _, at most 40")
    return name


def _parameter_name(name: str) -> str:
    if not (name.isascii() and name.isidentifier() and len(name) <= 64):
        raise refuse(f"{quote(name)} is no name for a parameter", "letters, digits and _, at most 64")
    return name


class Sql(OwnStatements):
    """Transactions of the user's own statements, with parameters that are drawn anew for each."""

    kind: Literal["sql"] = "sql"
    #: By name; each has its own latency.
    transactions: Annotated[
        dict[Annotated[str, AfterValidator(_transaction_name)], Transaction], Field(max_length=MAX_TRANSACTIONS)
    ] = Field(default_factory=dict)
    #: What statements call `:name`. Within a transaction a parameter has one value.
    parameters: dict[Annotated[str, AfterValidator(_parameter_name)], AnyParameter] = Field(default_factory=dict)
    #: Statements of each new connection.
    on_connect: Statements = Field(default_factory=list)
    #: Statements that make the schema and its rows, once, before the run and behind `setup_file`.
    setup: list[AnySetupStatement] = Field(default_factory=list)
    #: Prepared statements; off: text.
    prepared: bool = True
    #: tps counts transactions a second, qps statements.
    unit: Literal["tps", "qps"] = "tps"

    @property
    def commits_per_operation(self) -> float:
        """How many changes a transaction commits on average: one, or one for each statement without BEGIN."""
        total = sum(one.weight for one in self.transactions.values())
        commits = 0.0
        for one in self.transactions.values():
            writing = sum(not read_statement(statement.sql)[1] for statement in one.statements)
            commits += one.weight * (writing if one.autocommit else min(1, writing))
        return commits / total if total else 0.0

    @property
    def pause_s(self) -> float:
        total = sum(one.weight for one in self.transactions.values())
        pauses_s = (one.weight * one.think.average_s for one in self.transactions.values() if one.think is not None)
        return sum(pauses_s) / total if total else 0.0

    @property
    def has_setup(self) -> bool:
        """Whether something is to be made before the run."""
        return bool(self.setup) or super().has_setup

    @property
    def drawn_sequences(self) -> list[str]:
        """The sequences whose numbers transactions use, not only the setup."""
        texts = [statement.sql for one in self.transactions.values() for statement in one.statements]
        called = {name for text in texts for name in called_by(text)}
        called |= {source.sequence for name in called if isinstance(source := self.parameters.get(name), Latest)}
        return sorted(name for name in called if isinstance(self.parameters.get(name), Sequence))

    @property
    def cannot_go_on(self) -> str | None:
        """A sequence that begins at its `start` gives its numbers again."""
        fixed = [name for name in self.drawn_sequences if getattr(self.parameters[name], "start_from", None) is None]
        return f"the sequence {fixed[0]} would begin again at its start (start_from lets it go on)" if fixed else None

    def conflicts(self) -> Iterator[Problem]:
        """No transactions; statements that cannot be sent, or call what there is not."""
        if not self.transactions:
            hint = '[workload.transactions.read] statements = ["SELECT 1"]'
            yield problem("transactions", "there is no transaction", hint, "transactions.*")
        yield from statement_problems(self.transactions, self.parameters, self.setup, self.on_connect)
        yield from super().conflicts()
