"""Every field of the user's own statements with every kind of wrong value: told once, in the words of the file.

The fields are those of the classes: a new kind of parameter, or a new field, is tried without a line here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic_core.core_schema import ErrorType

from flatwater.errors import UserError
from flatwater.experiment import InvalidExperimentError, load
from flatwater.experiment.problem import explain_error
from flatwater.experiment.workload.query_log import QueryLog
from flatwater.experiment.workload.sql import Sql
from flatwater.experiment.workload.sql.parameter import KINDS
from flatwater.experiment.workload.sql.transaction import SetupStatement, Statement, Think, Transaction

#: As TOML writes them. Every field takes some of them; what it takes is not told at all.
VALUES = {
    "nan": "nan",
    "inf": "inf",
    "minus-inf": "-inf",
    "list": "[[1], [2]]",
    "table": "{ a = 1 }",
    "text": "'nonsense'",
    "bool": "true",
    "huge": str(10**30),
    "minus-huge": str(-(10**30)),
    "huge-float": "1e300",
    "small-float": "1.5",
    "zero": "0",
    "empty": "''",
    "empty-list": "[]",
    "empty-table": "{}",
    "date": "2026-01-01",
    "time": "12:00:00",
}
#: What each kind of parameter needs.
NEEDED = {
    "uniform": "max = 9",
    "zipf": "max = 9",
    "exponential": "max = 9",
    "normal": "max = 9, stddev = 2",
    "latest": "sequence = 'n'",
    "sequence": "",
    "constant": "value = 1",
    "choice": "values = [1,2]",
    "string": "length = 5",
    "text": "length = 5",
    "now": "",
    "column": "statement = 'found', column = 'a'",
}
#: Before and behind the table that is tried, on line 8 and by the name of the problem's field.
PARAMETERS = """\
[database]
kind = "server"
[workload]
kind = "sql"
transactions.t.statements = [{ sql = "SELECT 1 AS a", name = "found" }, "SELECT :p, :n"]
[workload.parameters]
n = { kind = "sequence" }
p = { %s }
"""
TRANSACTION = """\
[database]
kind = "server"
[workload]
kind = "sql"
setup = [%s]
[workload.transactions.t]
# The next line is tried.
%s
"""
STATEMENT = "sql = 'SELECT 1', "
#: Of pydantic, of Python, and of the engine's reader.
FOREIGN = re.compile(
    r"[Ii]nput|valid|instance|dict|tuple|None|NoneType|\bstr\b|\bint\b|\bfloat\b|Error\b|deserial|expected"
)


def fields_of(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for field in model.model_fields:
        for name, value in VALUES.items():
            yield field, name
            assert value


def cases() -> Iterator[Any]:
    """Text of a file, the table that is tried, its line."""
    for kind, model in KINDS.items():
        for field, name in fields_of(model):
            needed = [one for one in NEEDED[kind].split(", ") if one and not one.startswith(f"{field} ")]
            table = ", ".join(
                [*([f"kind = '{kind}'"] if field != "kind" else []), *needed, f"{field} = {VALUES[name]}"]
            )
            yield pytest.param(PARAMETERS % table, "workload.parameters.p", 8, id=f"{kind}-{field}-{name}")
    statements = "statements = ['SELECT 1', { %s }]"
    tables = (
        (Statement, "sql = 'SELECT 1'", statements, "workload.transactions.t.statements[1]"),
        (
            Think,
            "kind = 'constant', mean_s = 1",
            "statements = ['SELECT 1']\nthink = { %s }",
            "workload.transactions.t.think",
        ),
        (Transaction, "statements = ['SELECT 1']", "%s", "workload.transactions.t"),
    )
    for model, needs, around, place in tables:
        for field, name in fields_of(model):
            needed = [one for one in needs.split(", ") if not one.startswith(f"{field} ")]
            table = [*needed, f"{field} = {VALUES[name]}"]
            own = around % ("\n" if model is Transaction else ", ").join(table)
            line = 8 + own.partition(f"{field} = {VALUES[name]}")[0].count("\n")
            yield pytest.param(TRANSACTION % ("", own), place, line, id=f"{model.__name__}-{field}-{name}")
    for field, name in fields_of(SetupStatement):
        table = f"{{ {'' if field == 'sql' else STATEMENT}{field} = {VALUES[name]} }}"
        text = TRANSACTION % (table, "statements = ['SELECT 1']")
        yield pytest.param(text, "workload.setup[0]", 5, id=f"SetupStatement-{field}-{name}")
    for model, kind in ((Sql, "sql"), (QueryLog, "query-log")):
        for field, name in fields_of(model):
            own = f"{field} = {VALUES[name]}\n" + (f"kind = '{kind}'\n" if field != "kind" else "")
            own += "log = 'LOG'\n" if kind == "query-log" and field != "log" else ""
            own += "transactions.t.statements = ['SELECT 1']\n" if kind == "sql" and field != "transactions" else ""
            text = f"[database]\nkind = 'server'\n[workload]\n{own}"
            yield pytest.param(text, f"workload.{field}", 4, id=f"{model.__name__}-{field}-{name}")


@pytest.mark.parametrize(("text", "place", "line"), list(cases()))
def test_a_wrong_value_is_told_once_by_its_field(tmp_path: Path, text: str, place: str, line: int) -> None:
    log = tmp_path / "query.log"
    log.write_text("231123 13:15:00\t     3 Query\tSELECT 1\n")
    path = tmp_path / "one.toml"
    path.write_text(text.replace("'LOG'", f"'{log}'"))
    try:
        load(path)
    except InvalidExperimentError as error:
        told = [str(problem) for problem in error.problems]
    except UserError as error:
        pytest.fail(f"it is told elsewhere: {error}")
    else:
        return
    fields = [one.removeprefix(f"{path}:{line}: ").partition(": ")[0] for one in told]
    assert all(one.startswith(f"{path}:{line}: {place}") for one in told), told
    assert len(set(fields)) == len(fields), told
    # A list or a table has a line for each wrong entry of it, and everything else one.
    assert len(told) == 1 or all(re.search(r"[\[.]", field.removeprefix(place)) for field in fields), told
    assert not [one for one in told if FOREIGN.search(re.sub(r"'[^']*'|\(hint: .*", "", one))], told


@pytest.mark.parametrize("kind", get_args(ErrorType))
def test_no_error_is_told_in_the_words_of_a_library(kind: str) -> None:
    limits = dict.fromkeys(("gt", "ge", "lt", "le", "max_length", "actual_length"), 1)
    context = {**limits, "expected": "'x'", "what": "told", "hint": None, "error": "told"}
    told, _ = explain_error({"type": kind, "loc": ("x",), "msg": "Input", "input": "value", "ctx": context})
    assert told and not FOREIGN.search(re.sub(r"'[^']*'", "", told)), told
