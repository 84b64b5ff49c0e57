from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment.experiment import Experiment
from flatwater.experiment.problem import ProblemsError
from flatwater.experiment.validation import make_experiment
from flatwater.experiment.workload.sql import Sql
from flatwater.experiment.workload.sql.parameter import KINDS

READ = {"read": {"statements": ["SELECT a FROM t WHERE id = :id"]}}
ID = {"id": {"kind": "uniform", "max": 10}}
URL = {"kind": "server", "url": "mysql://me@db1/shop"}


def make(workload: Mapping[str, Any] = {}, database: Mapping[str, Any] = {"kind": "server"}) -> Experiment:
    own = {"kind": "sql", "transactions": READ, "parameters": ID}
    return make_experiment({"workload": own | dict(workload), "database": dict(database)})


def problems(workload: Mapping[str, Any] = {}, database: Mapping[str, Any] = {"kind": "server"}) -> dict[str, str]:
    try:
        make(workload, database)
    except ProblemsError as error:
        assert len({problem.field for problem in error.problems}) == len(error.problems)
        return {problem.field: f"{problem.what} ({problem.hint})" for problem in error.problems}
    return {}


def statement(sql: Any, parameters: Mapping[str, Any] = ID) -> dict[str, str]:
    """The problems of a statement beside one that uses :id."""
    own = {"read": {"statements": [*READ["read"]["statements"], sql]}}
    return problems({"transactions": own, "parameters": parameters})


def test_a_transaction_is_all_that_it_needs() -> None:
    workload = make().workload
    assert isinstance(workload, Sql)
    assert [one.sql for one in workload.transactions["read"].statements] == ["SELECT a FROM t WHERE id = :id"]
    assert workload.on_error == "continue" and workload.errors_max_pct == 10
    assert "no transaction" in problems({"transactions": {}, "parameters": {}})["workload.transactions"]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT 1; DELETE FROM t", "several statements"),
        ("SELECT '", "without an end"),
        ("SELECT ?", "parameters have names"),
        ("SELECT * FROM t:id", "inside a name"),
        (" -- nothing", "no statement"),
        ("SELECT :ids", "did you mean :id?"),
        ("SELECT :other", '[workload.parameters] other = { kind = "uniform", max = 1000 }'),
        (7, "must be a statement (in quotes) or a table, not 7"),
        ({"sql": "SELECT 1", "nmae": "x"}, "did you mean name?"),
        ({"name": "x"}, "is missing"),
    ],
)
def test_a_statement_is_told_by_its_place(sql: Any, told: str) -> None:
    found = statement(sql)
    ((field, problem),) = found.items()
    assert field.startswith("workload.transactions.read.statements.1") and told in problem, found


def test_what_stands_in_strings_and_comments_is_no_parameter() -> None:
    assert statement("SELECT ':a', \"it's :b\", `:c` /* :d */ -- :e") == {}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"kind": "uniform"}, ".max: is missing"),
        ({"kind": "uniform", "min": 5, "max": 4}, "min = 5 is more than max = 4"),
        ({"kind": "uniform", "min": 0.005, "max": 0.025, "decimals": 2}, "more than 2 decimal places (decimals = 3)"),
        ({"kind": "sequence", "start": 5, "start_from": "SELECT 1"}, "both say where it begins"),
        ({"kind": "uniform", "max": 4.5}, "decimals = 2 for two decimal places"),
        ({"kind": "uniform", "max": "4"}, ".max: must be"),
        ({"kind": "uniform", "max": 2**62, "decimals": 2}, "too large"),
        ({"kind": "uniform", "max": 4, "theta": 1}, ".theta: unknown field"),
        ({"kind": "zipf", "max": 4, "theta": 0}, ".theta: must be more than 0"),
        ({"kind": "zipfian", "max": 4}, "did you mean zipf?"),
        ({"max": 4}, "has no kind"),
        ({"kind": "normal", "max": 4, "stddev": 9}, "wider than the range"),
        ({"kind": "normal", "max": 4, "stddev": 1, "mean": 9}, "outside of 1 to 4"),
        ({"kind": "choice", "values": []}, ".values: must not be empty"),
        ({"kind": "choice", "values": [1, 2], "weights": [1]}, "values and weights differ: 2 and 1"),
        ({"kind": "choice", "values": [1], "weights": [0]}, "all weights are 0"),
        ({"kind": "string", "length": 2, "min_length": 3}, "min_length = 3 is more than length = 2"),
        ({"kind": "latest", "sequence": "new"}, "no parameter of the kind sequence"),
        ({"kind": "sequence", "start_from": "DELETE FROM t"}, "a SELECT without parameters"),
        ({"kind": "column", "statement": "one", "column": "a"}, "statement = 'one' is no statement's name"),
        (5, "must be a table, not 5"),
    ],
)
def test_a_wrong_parameter_is_told(source: Any, told: str) -> None:
    found = problems({"parameters": {"id": source}})
    # The statement that calls it says nothing besides: there is a parameter, and it is wrong.
    ((field, problem),) = found.items()
    assert field.startswith("workload.parameters.id")
    assert told in f"{field.removeprefix('workload.parameters.id')}: {problem}", found


def test_what_rests_on_something_wrong_is_not_told_besides() -> None:
    wrong = {"n": {"kind": "sequence", "step": 0}}
    new = {"id": {"kind": "latest", "sequence": "n"}}
    assert list(problems({"parameters": wrong | new})) == ["workload.parameters.n.step"]
    # What a statement calls that cannot be read is not known.
    lost = {"transactions": {"read": {"statements": ["SELECT :id, '"]}}}
    assert list(problems(lost)) == ["workload.transactions.read.statements.0"]
    gone = {
        "transactions": {"read": {"statements": ["SELECT :id"], "weight": 0}, "other": {"statements": ["SELECT 1"]}}
    }
    assert list(problems(gone)) == ["workload.transactions.read.weight"]
    assert list(problems({"transactions": {"read": {"statements": []}}})) == ["workload.transactions.read.statements"]


def test_a_begin_of_the_users_own_is_no_mistake() -> None:
    """Results have such statements, and the server takes a BEGIN in a transaction."""
    for sql in ("BEGIN", "/* app */ start  transaction", "-- x\nCOMMIT"):
        assert not problems({"transactions": {"read": {"statements": [sql, "SELECT 1"]}}, "parameters": {}})


def test_an_experiment_with_all_its_defaults_written_is_right() -> None:
    """As a result has it."""
    resolved = {"kind": "sequence", "start": 1, "step": 1, "start_from": "SELECT MAX(id) + 1 FROM t"}
    assert not problems({"transactions": {"read": {"statements": ["SELECT :id"]}}, "parameters": {"id": resolved}})


def test_a_think_time_that_is_a_number_is_told_by_its_own_name() -> None:
    for think, told in ((-1, "at least 0"), ("5 parsecs", "not a duration"), (1e300, "at most a year")):
        own = {"read": {"statements": ["SELECT 1"], "think": think}}
        ((field, said),) = problems({"transactions": own, "parameters": {}}).items()
        assert field == "workload.transactions.read.think" and told in said


def test_a_column_is_found_before_it_is_used() -> None:
    own = {"read": {"statements": ["SELECT :a", {"sql": "SELECT 1 AS a", "name": "one"}]}}
    parameters = {"a": {"kind": "column", "statement": "one", "column": "a"}}
    found = problems({"transactions": own, "parameters": parameters})
    assert "before the statement 'one' that finds it" in found["workload.transactions.read.statements.0"]


def test_every_kind_of_parameter_can_be_written() -> None:
    fields: dict[str, dict[str, Any]] = {
        "uniform": {"max": 9},
        "zipf": {"max": 9},
        "exponential": {"min": 0.01, "max": 9, "decimals": 2},
        "normal": {"max": 9, "stddev": 2},
        "latest": {"sequence": "p_sequence"},
        "sequence": {},
        "constant": {"value": 1.5},
        "choice": {"values": ["a", 2, 2.5, True]},
        "string": {"length": 5},
        "text": {"length": 5},
        "now": {},
        "column": {"statement": "found", "column": "a"},
    }
    assert fields.keys() == KINDS.keys()
    names = [f"p_{kind}" for kind in fields]
    sql = "SELECT " + ", ".join(f":{name}" for name in names)
    workload = {
        "parameters": {f"p_{kind}": {"kind": kind, **its} for kind, its in fields.items()},
        "transactions": {"all": {"statements": [{"sql": "SELECT 1 AS a", "name": "found"}, sql]}},
    }
    assert problems(workload) == {}


def test_what_nothing_uses_is_told() -> None:
    found = problems({"parameters": ID | {"left": {"kind": "now"}}})
    assert found == {"workload.parameters.left": "no statement uses it (take it out)"}


@pytest.mark.parametrize(
    ("think", "told"),
    [
        (0.5, ""),
        ("200ms", ""),
        ({"kind": "exponential", "mean_s": 2}, ""),
        ({"kind": "uniform", "min_s": 1, "max_s": 2}, ""),
        ({"kind": "uniform", "min_s": 3, "max_s": 2}, "min_s = 3 is more than max_s = 2"),
        ({"kind": "uniform"}, "has min_s and max_s"),
        ({"kind": "exponential"}, "mean_s is missing"),
        ({"kind": "weibull"}, "is not a choice"),
        ({"kind": "constant", "mean": 3}, "did you mean mean_s?"),
        (-1, "at least 0"),
    ],
)
def test_think_times(think: Any, told: str) -> None:
    found = problems({"transactions": {"read": READ["read"] | {"think": think}}})
    assert all(field.startswith("workload.transactions.read.think") for field in found)
    assert len(found) == bool(told) and told in "".join(found.values()), found


def test_names_of_transactions_name_series() -> None:
    for name in ("a b", "1a", "a.b", "", "x" * 41, "ü"):
        found = problems({"transactions": {name: READ["read"]}})
        assert any(field.startswith("workload.transactions") for field in found), name


class TestOnTheServerOfSomebodyElse:
    def test_reading_is_allowed(self) -> None:
        assert problems(database=URL) == {}

    @pytest.mark.parametrize("sql", ["UPDATE t SET a = 1", "/*!50000 DELETE */ FROM t", "CALL p()", "SET GLOBAL a = 1"])
    def test_writing_must_be_allowed(self, sql: str) -> None:
        own: dict[str, Any] = {"transactions": {**READ, "write": {"statements": [sql]}}}
        found = problems(own, URL)
        assert "workload.allow_writes = true" in found["workload.transactions.write.statements.0"]
        assert problems(own | {"allow_writes": True}, URL) == {}
        assert problems(own) == {}, "flatwater's own server"
        assert "workload.on_connect.0" in problems({"on_connect": [sql]}, URL)

    def test_a_setup_must_be_asked_for(self) -> None:
        own = {"setup": ["CREATE TABLE t (id INT)"]}
        assert "database.load = true" in problems(own, URL)["workload.setup"]
        assert "allow_writes" in problems(own, {**URL, "load": True})["database.load"]
        assert problems(own | {"allow_writes": True}, {**URL, "load": True}) == {}


def test_a_file_of_the_setup_must_be_there(tmp_path: Path) -> None:
    file = tmp_path / "schema.sql"
    assert "there is no file" in problems({"setup_file": str(file)})["workload.setup_file"]
    file.write_text("CREATE TABLE t (id INT);")
    assert problems({"setup_file": str(file)}) == {}


def test_no_model_has_the_tables() -> None:
    database = {"kind": "innodb-model", "generation": "mysql-5.7"}
    assert "none of the user's own tables" in problems(database=database)["workload.kind"]


def test_what_a_transaction_commits() -> None:
    """The diagnosis holds the syncs of the log against it."""
    write = "UPDATE t SET a = 1"
    transactions = {
        "read": {"statements": ["SELECT 1", "SELECT 2"], "weight": 2},
        "write": {"statements": [write, write, "SELECT 1"]},
        "each": {"statements": [write, write, "SELECT 1"], "autocommit": True, "think": 1},
    }
    workload = make({"transactions": transactions, "parameters": {}}).workload
    assert isinstance(workload, Sql)
    assert workload.commits_per_operation == (2 * 0 + 1 + 2) / 4
    assert workload.pause_s == 1 / 4


def test_fields_of_other_workloads_have_no_meaning() -> None:
    assert "one by one" in problems({"pipeline": True})["workload.pipeline"]
    assert "workload.warehouses" in problems({"warehouses": 3})


def test_what_cannot_be_gone_on_with_in_the_middle() -> None:
    write = {"write": {"statements": ["INSERT INTO t VALUES (:id)"]}}

    def why_not(**sequence: Any) -> str | None:
        return make(
            {"transactions": write, "parameters": {"id": {"kind": "sequence", **sequence}}}
        ).workload.cannot_go_on

    assert make().workload.cannot_go_on is None
    assert why_not(start_from="SELECT MAX(id) + 1 FROM t") is None
    assert "the sequence id would begin again" in (why_not() or "")


def test_there_is_a_limit_to_each_list() -> None:
    many = {f"t{number}": {"statements": ["SELECT 1"]} for number in range(65)}
    assert "at most 64 entries, not 65" in problems({"transactions": many, "parameters": {}})["workload.transactions"]
    values = {"id": {"kind": "choice", "values": [1] * 100_001}}
    assert "at most 100,000 entries, not 100,001" in problems({"parameters": values})["workload.parameters.id.values"]
