"""Checks statements before anything runs: their text, and the parameters that they call by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from flatwater.experiment.problem import Problem, quote
from flatwater.experiment.workload.sql.parameter import Column, Latest, Parameter
from flatwater.experiment.workload.sql.parameter import Sequence as SequenceParameter
from flatwater.experiment.workload.sql.transaction import SetupStatement, Transaction
from flatwater.experiment.workload.timing import problem
from flatwater.spelling import nearest, suggest

_A_SEQUENCE = '[workload.parameters] n = { kind = "sequence" }'
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
    named = {one.name for transaction in transactions.values() for one in transaction.statements} - {""}
    used = {source.sequence for source in parameters.values() if isinstance(source, Latest)}
    texts = [one.sql for transaction in transactions.values() for one in transaction.statements]
    texts += [*(one.sql for one in setup), *on_connect]
    for name, transaction in transactions.items():
        found: set[str] = set()
        for number, statement in enumerate(transaction.statements):
            place = f"transactions.{name}.statements.{number}"
            yield from _text_problems(place, statement.sql, parameters, used)
            for called in called_by(statement.sql):
                source = parameters.get(called)
                if isinstance(source, Column) and source.statement in named - found:
                    what = f"it uses :{called} before the statement {quote(source.statement)} that finds it"
                    hint = f"{_named(source.statement)}, earlier in the transaction"
                    yield problem(place, what, hint, f"parameters.{called}")
            if statement.name in found:
                what = f"a second statement of the transaction is named {quote(statement.name)}"
                yield problem(place, what, "a name of its own")
            found |= {statement.name} - {""}
    for number, one in enumerate(setup):
        place = f"setup.{number}"
        yield from _text_problems(place, one.sql, parameters, used)
        columns = [called for called in called_by(one.sql) if isinstance(parameters.get(called), Column)]
        if columns:
            what = f":{columns[0]} is a column that a transaction finds, and the setup is none"
            yield problem(place, what, "another parameter", f"parameters.{columns[0]}")
    for number, sql in enumerate(on_connect):
        place = f"on_connect.{number}"
        yield from _text_problems(place, sql, parameters, used)
        if called_by(sql):
            yield problem(place, "a statement of a new connection has no parameters", "write the value itself")
    yield from _parameter_problems(parameters, named)
    of_setup = {called for one in setup for called in called_by(one.sql)}
    for name, source in parameters.items():
        if not isinstance(source, SequenceParameter) or source.start_from is None or name in of_setup:
            continue
        # A resolved experiment has every field written.
        if source.start != type(source).model_fields["start"].default:
            what = "start and start_from both say where it begins (the setup begins at start, and does not use it)"
            yield problem(f"parameters.{name}", what, "keep one", "setup")
    # What a statement calls that cannot be read is not known.
    for name in parameters if all(_is_readable(text) for text in texts) else ():
        if name not in used:
            yield problem(f"parameters.{name}", "no statement uses it", "take it out", "transactions.*", "setup")


def called_by(sql: str) -> tuple[str, ...]:
    """The parameters of a statement in their order; none of one that cannot be read."""
    try:
        return read_statement(sql)[0]
    except ValueError:
        return ()


def _named(name: str) -> str:
    return f'{{ sql = "SELECT ...", name = "{name}" }}'


def _is_readable(sql: str) -> bool:
    try:
        read_statement(sql)
    except ValueError:
        return False
    return True


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
            yield problem(place, f"there is no parameter {name}", hint, f"parameters.{name}")


def _parameter_problems(parameters: Mapping[str, Parameter], named: set[str]) -> Iterator[Problem]:
    sequences = {name for name, source in parameters.items() if isinstance(source, SequenceParameter)}
    for name, source in parameters.items():
        place = f"parameters.{name}"
        if isinstance(source, Latest) and source.sequence not in sequences:
            what = f"sequence = {quote(source.sequence)} is no parameter of the kind sequence"
            hint = suggest(source.sequence, sorted(sequences)) if sequences else _A_SEQUENCE
            yield problem(place, what, hint, f"parameters.{source.sequence}")
        if isinstance(source, Column) and source.statement not in named:
            what = f"statement = {quote(source.statement)} is no statement's name"
            hint = suggest(source.statement, sorted(named)) if named else _named(source.statement)
            yield problem(place, what, hint, "transactions.*")
        if isinstance(source, SequenceParameter) and source.start_from is not None:
            yield from _start_problems(place, source.start_from)


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
