from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment import Experiment, load, to_toml
from flatwater.experiment.problem import ProblemsError
from flatwater.experiment.validation import make_experiment
from flatwater.experiment.workload.query_log import QueryLog
from flatwater.plan.sql import QueryLog as Plan
from flatwater.plan.sql import write_query_log
from flatwater.runner.schedule import Timed

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


@pytest.mark.parametrize(("path", "told"), [("a\0b", "a path has no zero byte"), ("x" * 5000, "File name too long")])
def test_a_path_that_no_system_takes(path: str, told: str) -> None:
    assert told in problems(Path(path))["workload.log"]


def test_a_log_of_which_nothing_can_be_read_tells_the_line(log: Path) -> None:
    log.write_text(
        "# Time: 231123 13:15:00\n# User@Host: a[a] @ localhost []\n# Query_time: abc\nSET timestamp=5;\nSELECT 1;\n"
    )
    assert "line 3: the seconds of Query_time" in problems(log)["workload.log"]


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


def cell(log: Path, workload: Mapping[str, Any] = {}, database: Mapping[str, Any] = {}) -> Experiment:
    own = {"kind": "query-log", "log": str(log)}
    return make_experiment({"workload": own | dict(workload), "database": {"kind": "server"} | dict(database)})


def test_it_lasts_as_long_as_its_log(log: Path, tmp_path: Path) -> None:
    log.write_text(GENERAL + "231123 14:15:00\t     3 Query\tSELECT 1\n")
    assert math.isinf(cell(log).workload.duration_s)
    assert cell(log).workload.longest_s == 3600
    assert cell(log, {"speed": 2}).workload.longest_s == 1800
    assert cell(log, {"duration_s": "5m"}).workload.longest_s == 300
    assert cell(log, {"duration_s": "2h"}).workload.longest_s == 3600
    # Nobody knows how fast a server is.
    assert cell(log, {"speed": "asap"}).workload.longest_s == 0
    assert Timed(cell(log)).phase(0.0) == ("measure", 3600)
    assert Timed(cell(log, {"speed": "asap"})).phase(0.0) == ("measure", None)


@pytest.mark.parametrize("workload", [{}, {"duration_s": 60}, {"duration_s": math.inf}])
def test_it_is_written_back_with_its_length(log: Path, tmp_path: Path, workload: Mapping[str, Any]) -> None:
    path = tmp_path / "written.toml"
    path.write_text(to_toml(cell(log, workload)))
    assert ("duration_s" in path.read_text()) == (workload.get("duration_s") == 60)
    assert load(path).workload == cell(log, workload).workload


NAMED = "231123 13:15:00\t     3 Connect\ta@b on shop\n\t\t     3 Query\tSELECT 1\n"
OTHER = "231123 13:15:01\t     4 Connect\ta@b on {}\n\t\t     4 Query\tSELECT 1\n"


@pytest.mark.parametrize(
    ("text", "database", "schema"),
    [
        (GENERAL, {}, "flatwater"),
        (NAMED, {}, "shop"),
        (NAMED, {"schema_name": "mine"}, "mine"),
        (NAMED + OTHER.format("mysql"), {}, "shop"),
        (NAMED + OTHER.format("other"), {}, "flatwater"),
        (OTHER.format("a`b"), {}, "flatwater"),
        (NAMED, {"url": "mysql://me@db1", "load": True}, "flatwater"),
        (NAMED, URL, "shop"),
    ],
    ids=["none", "one", "named", "one-of-users", "two", "no-name", "theirs", "url"],
)
def test_its_schema_is_the_one_that_it_names(log: Path, text: str, database: Mapping[str, Any], schema: str) -> None:
    log.write_text(text)
    assert cell(log, {"allow_writes": True}, database).schema_name == schema


def test_a_replay_is_no_longer_than_its_log(log: Path) -> None:
    log.write_text(NAMED + OTHER.format("shop").replace("13:15:01", "13:15:30"))
    assert not problems(log, {"warmup_s": 29})
    assert "lasts 30 s" in problems(log, {"warmup_s": 31})["workload.warmup_s"]
    assert "lasts 15 s" in problems(log, {"warmup_s": 20, "speed": 2})["workload.warmup_s"]
    assert "has no rounds" in problems(log, {"steady_state": "snia"})["workload.steady_state"]


def test_a_replay_cannot_go_on_in_the_middle(log: Path) -> None:
    assert "the beginning of its log" in (cell(log).workload.cannot_go_on or "")


def test_no_model_has_the_tables(log: Path) -> None:
    found = problems(log, database={"kind": "innodb-model", "generation": "mysql-5.7"})
    assert "none of the user's own tables" in found.pop("workload.kind")
    assert "storage.kind" not in found


#: As MySQL 5.5 and, with the number of the connection, MySQL 5.6 write it.
ENTRY = "# User@Host: a[a] @ localhost []{}\n# Query_time: 0.1  Lock_time: 0\nSET timestamp=1796001001;\n{};\n"


@pytest.mark.parametrize(
    ("statements", "number", "writes", "line"),
    [
        (["SELECT 1", "BEGIN", "DELETE FROM t", "ROLLBACK"], "", True, 5),
        (["INSERT INTO t VALUES (1)", "SET autocommit=0"], "", True, 5),
        (["BEGIN", "DELETE FROM t", "ROLLBACK"], "  Id:     7", True, None),
        (["BEGIN", "DELETE FROM t", "ROLLBACK"], "", False, None),
        (["BEGIN", "SELECT a FROM t", "COMMIT"], "", True, None),
        (["SET autocommit=1", "DELETE FROM t"], "", True, None),
    ],
)
def test_transactions_are_not_mixed(
    log: Path, statements: list[str], number: str, writes: bool, line: int | None
) -> None:
    """Where a log does not tell connections, what was rolled back could be committed."""
    log.write_text("".join(ENTRY.format(number, sql) for sql in statements))
    told = problems(log, {"allow_writes": writes}).get("workload.log", "")
    assert (f"{log}:{line}: " in told) == (line is not None), told
