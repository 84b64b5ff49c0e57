"""Checks statements before anything runs: their text, and the parameters that they call by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from flatwater.experiment.problem import Problem
from flatwater.experiment.workload.sql.parameter import Column, Latest, Parameter
from flatwater.experiment.workload.sql.parameter import Sequence as SequenceParameter
from flatwater.experiment.workload.sql.transaction import SetupStatement, Transaction
from flatwater.experiment.workload.timing import problem
from flatwater.spelling import nearest

#: The number of statements whose texts are kept read.
_KEPT = 4096


@lru_cache(maxsize=_KEPT)
def read_statement(sql: str) -> tuple[tuple[str, ...], bool]:
    """The parameters of a statement, and whether it certainly only reads. Errors: ValueError(what, hint)."""
    from flatwater._engine import sql_statement

    parameters, reads = sql_statement(sql)
    return tuple(parameters), reads


def statement_problems(
    transactions: Mapping[str, Transaction],
    parameters: Mapping[str, Parameter],
    setup: Sequence[SetupStatement],
    on_connect: Sequence[str],
) -> Iterator[Problem]:
    """The problems of all statements and parameters of a workload."""
    used: set[str] = set()
    for name, transaction in transactions.items():
        found: set[str] = set()
        for number, statement in enumerate(transaction.statements):
            place = f"transactions.{name}.statements.{number}"
            yield from _text_problems(place, statement.sql, parameters, used)
            for called in called_by(statement.sql):
                source = parameters.get(called)
                if isinstance(source, Column) and source.statement not in found:
                    what = f"it uses :{called} before the statement {source.statement!r} that finds it"
                    hint = f'name = "{source.statement}" for an earlier statement of the transaction'
                    yield problem(place, what, hint, "parameters")
            if statement.name in found:
                yield problem(place, f"a second statement of the transaction is named {statement.name!r}", None)
            found |= {statement.name} - {""}
    for number, one in enumerate(setup):
        place = f"setup.{number}"
        yield from _text_problems(place, one.sql, parameters, used)
        columns = [called for called in called_by(one.sql) if isinstance(parameters.get(called), Column)]
        if columns:
            what = f":{columns[0]} is a column that a transaction finds, and the setup is none"
            yield problem(place, what, None, "parameters")
    for number, sql in enumerate(on_connect):
        place = f"on_connect.{number}"
        yield from _text_problems(place, sql, parameters, used)
        if called_by(sql):
            yield problem(place, "a statement of a new connection has no parameters", "write the value itself")
    yield from _parameter_problems(parameters, used)


def called_by(sql: str) -> tuple[str, ...]:
    """The parameters of a statement in their order; none of one that cannot be read."""
    try:
        return read_statement(sql)[0]
    except ValueError:
        return ()


def _text_problems(place: str, sql: str, parameters: Mapping[str, Parameter], used: set[str]) -> Iterator[Problem]:
    try:
        called, _ = read_statement(sql)
    except ValueError as error:
        what, hint = error.args
        yield problem(place, what, hint)
        return
    used.update(called)
    for name in dict.fromkeys(called):
        if name not in parameters:
            close = nearest(name, parameters)
            hint = (
                f"did you mean :{close}?"
                if close
                else f'[workload.parameters] {name} = {{ kind = "uniform", max = 1000 }}'
            )
            yield problem(place, f"there is no parameter {name}", hint, "parameters")


def _parameter_problems(parameters: Mapping[str, Parameter], used: set[str]) -> Iterator[Problem]:
    sequences = {name for name, source in parameters.items() if isinstance(source, SequenceParameter)}
    for name, source in parameters.items():
        place = f"parameters.{name}"
        if isinstance(source, Latest):
            used.add(source.sequence)
            if source.sequence not in sequences:
                what = f"sequence = {source.sequence!r} is no parameter of the kind sequence"
                yield problem(place, what, ", ".join(sorted(sequences)) or None, "parameters")
        if isinstance(source, SequenceParameter) and source.start_from is not None:
            yield from _start_problems(place, source.start_from)
    for name in parameters:
        if name not in used:
            yield problem(f"parameters.{name}", "no statement uses it", "take it out", "transactions", "setup")


def _start_problems(place: str, sql: str) -> Iterator[Problem]:
    try:
        called, reads = read_statement(sql)
    except ValueError as error:
        what, hint = error.args
        yield problem(place, f"start_from {what}", hint)
        return
    if called or not reads:
        what = "start_from is a SELECT without parameters"
        yield problem(place, what, 'start_from = "SELECT MAX(id) + 1 FROM t"')
