from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from flatwater.experiment.problem import ProblemsError
from flatwater.experiment.validation import make_experiment
from flatwater.experiment.workload.observed import Observed

URL = "mysql://me@db1:3306"


def problems(workload: Mapping[str, Any] = {}, **tables: Any) -> dict[str, str]:
    database = tables.pop("database", {"kind": "server", "url": URL})
    try:
        make_experiment({"workload": {"kind": "observed", **workload}, "database": database, **tables})
    except ProblemsError as error:
        return {problem.field: problem.what for problem in error.problems}
    return {}


def test_a_url_is_all_that_it_needs() -> None:
    assert problems() == {} and problems({"unit": "qps", "duration_s": "10m"}) == {}
    assert Observed.units() == ("tps", "qps")


@pytest.mark.parametrize(
    "database", [{"kind": "none"}, {"kind": "server"}, {"kind": "innodb-model", "generation": "mysql-5.5"}]
)
def test_it_watches_a_server_that_runs_already(database: dict[str, Any]) -> None:
    assert "runs already" in problems(database=database)["workload.kind"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_per_s", 5),
        ("arrival", "poisson"),
        ("warmup_s", 3),
        ("steady_state", "snia"),
        ("round_s", 9),
        ("rounds_max", 9),
        ("on_error", "continue"),
    ],
)
def test_what_makes_a_load_has_no_meaning(field: str, value: object) -> None:
    assert "no meaning" in problems({field: value})[f"workload.{field}"]


def test_what_would_stand_below_it() -> None:
    assert "storage.path" in problems(storage={"path": "/data"})
    assert "storage.kind" in problems(storage={"kind": "ssd", "device": "reference-card"})
    assert "database.load" in problems(database={"kind": "server", "url": URL, "load": True})
