from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from flatwater.experiment.experiment import Experiment
from flatwater.experiment.validation import make_experiment
from flatwater.plan import sql
from flatwater.plan.sql import write_setup, write_sql
from flatwater.runner.stack.database.real.dataset import describe_dataset


def make(workload: dict[str, Any], **database: Any) -> Experiment:
    return make_experiment({"workload": {"kind": "sql", **workload}, "database": {"kind": "server", **database}})


def sources(**parameters: Any) -> list[sql.Source]:
    called = ", ".join(f":{name}" for name in parameters)
    transactions = {"a": {"statements": [f"SELECT {called}"]}}
    return [one.source for one in write_sql(make({"transactions": transactions, "parameters": parameters})).parameters]


def test_numbers_are_in_units_of_the_last_place() -> None:
    told = sources(
        whole={"kind": "uniform", "max": 10},
        money={"kind": "exponential", "min": 0.01, "max": 19.99, "decimals": 2, "rate": 3},
        bell={"kind": "normal", "min": 0, "max": 10, "decimals": 1, "stddev": 2},
    )
    assert told == [
        sql.Uniform(sql.Range(1, 10, 0)),
        sql.Exponential(sql.Range(1, 1999, 2), 3.0),
        sql.Normal(sql.Range(0, 100, 1), 50.0, 20.0),
    ]


def test_values_keep_their_types() -> None:
    (choice,) = sources(a={"kind": "choice", "values": [1, True, 1.5, "1", datetime.date(2026, 11, 23)]})
    values = (sql.Int(1), sql.Int(1), sql.Double(1.5), sql.TextValue("1"), sql.TextValue("2026-11-23"))
    assert choice == sql.Choice(values, (1.0,) * 5)


def test_transactions_keep_their_order_and_their_choices() -> None:
    plan = write_sql(
        make(
            {
                "prepared": False,
                "transactions": {
                    "z": {"statements": [{"sql": "SELECT 1", "prepared": True}, "SELECT 2"], "weight": 3},
                    "a": {
                        "statements": ["SELECT 3"],
                        "autocommit": True,
                        "think": {"kind": "exponential", "mean_s": 2},
                    },
                },
            }
        )
    )
    assert [(one.name, one.weight, one.autocommit) for one in plan.transactions] == [
        ("z", 3.0, False),
        ("a", 1.0, True),
    ]
    assert [one.prepared for one in plan.transactions[0].statements] == [True, False]
    assert plan.transactions[0].think == sql.ConstantPause(0.0)
    assert plan.transactions[1].think == sql.ExponentialPause(2.0, 20.0)
    assert not plan.read_only


def test_sessions_of_a_server_of_the_users_are_read_only() -> None:
    own = {"transactions": {"a": {"statements": ["SELECT 1"]}}}
    url = "mysql://me@db1/shop"
    assert write_sql(make(own, url=url)).read_only
    assert not write_sql(make(own | {"allow_writes": True}, url=url)).read_only


def test_other_data_are_another_data_set(tmp_path: Path) -> None:
    file = tmp_path / "schema.sql"
    own = {"transactions": {"a": {"statements": ["SELECT 1"]}}, "setup_file": str(file)}

    def described(text: str, **more: Any) -> Any:
        file.write_text(text)
        return describe_dataset(make(own | more))

    first = described("CREATE TABLE t (id INT);")
    assert described("CREATE TABLE t (id INT);") == first
    assert described("CREATE TABLE t (id BIGINT);") != first
    assert described("CREATE TABLE t (id INT);", setup=["INSERT INTO t VALUES (1)"]) != first
    # The transactions do not change what is loaded.
    assert described("CREATE TABLE t (id INT);", transactions={"b": {"statements": ["SELECT 2"]}}) == first
    assert write_setup(make(own), 1).setup.own
    assert str(tmp_path) not in str(first)
