from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment.problem import ProblemsError
from flatwater.experiment.validation import make_experiment
from flatwater.experiment.workload.query_log import QueryLog
from flatwater.plan.sql import QueryLog as Plan
from flatwater.plan.sql import write_query_log

GENERAL = "231123 13:15:00\t     3 Query\tSELECT 1\n"
SLOW = "# Time: 231123 13:15:00\n# User@Host: a[a] @ localhost []\n# Query_time: 1\nSELECT 1;\n"
URL = {"kind": "server", "url": "mysql://me@db1/shop"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "query.log"
    path.write_text(GENERAL)
    return path


def problems(
    log: Path, workload: Mapping[str, Any] = {}, database: Mapping[str, Any] = {"kind": "server"}
) -> dict[str, str]:
    own = {"kind": "query-log", "log": str(log)}
    try:
        make_experiment({"workload": own | dict(workload), "database": dict(database)})
    except ProblemsError as error:
        return {problem.field: f"{problem.what} ({problem.hint})" for problem in error.problems}
    return {}


@pytest.mark.parametrize("text", [GENERAL, SLOW])
def test_a_log_is_all_that_it_needs(log: Path, text: str) -> None:
    log.write_text(text)
    assert problems(log) == {} and problems(log, database=URL) == {}
    cell = make_experiment({"workload": {"kind": "query-log", "log": str(log), "speed": "asap"}, "database": URL})
    assert isinstance(cell.workload, QueryLog) and cell.workload.connections == 64
    assert write_query_log(cell) == Plan(str(log), 0.0, allow_writes=False)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x00\xff" * 100, b"SELECT 1;\n" * 2000])
def test_what_is_no_log_is_told(log: Path, content: bytes) -> None:
    log.write_bytes(content)
    found = problems(log)["workload.log"]
    assert "no query log" in found or "no slow query log" in found or "no statement" in found
    assert str(log) in found


def test_a_log_that_is_not_there(log: Path) -> None:
    log.unlink()
    assert "No such file" in problems(log)["workload.log"]
    assert "workload.log" in problems(log.parent / "folder" / "x")
    log.mkdir()
    assert "workload.log" in problems(log)


@pytest.mark.parametrize(("field", "value"), [("rate_per_s", 5), ("arrival", "poisson"), ("pipeline", True)])
def test_the_log_decides_the_pace(log: Path, field: str, value: Any) -> None:
    assert f"workload.{field}" in problems(log, {field: value})


@pytest.mark.parametrize("speed", [-1, "fast", 1e7])
def test_a_speed_is_a_number(log: Path, speed: Any) -> None:
    assert "workload.speed" in problems(log, {"speed": speed})


def test_a_setup_of_a_server_of_the_users_must_be_allowed(log: Path) -> None:
    own = {"setup_file": str(log)}
    assert "database.load" in problems(log, own, URL)["workload.setup_file"]
    assert "allow_writes" in problems(log, own, {**URL, "load": True})["database.load"]
    assert problems(log, own) == {}


def test_no_model_has_the_tables(log: Path) -> None:
    found = problems(log, database={"kind": "innodb-model", "generation": "mysql-5.7"})
    assert "none of the user's own tables" in found["workload.kind"]
