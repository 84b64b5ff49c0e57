from __future__ import annotations

from pathlib import Path

import pytest

from flatwater._engine import EngineError
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Oltp, QueryLog, Timing, load
from flatwater.experiment.workload.sql import Sql
from flatwater.results.schema import CellSummary, Event
from flatwater.runner.errors import judge_errors, placed_error


def judged(errors: int, operations: int, workload: Timing | None = None, **counters: int) -> CellSummary:
    summary = CellSummary(
        cell=0, seed=1, status="complete", unit="tps", errors=errors, operations=operations, counters=counters
    )
    summary.events = [Event(time_s=1.0, kind="fault", text="pay: Duplicate entry (error 1062)")]
    judge_errors(summary, workload or Sql(errors_max_pct=10.0))
    return summary


def test_errors_are_told_by_their_numbers() -> None:
    summary = judged(5, 995, error_1062=3, error_1146=2, error_1054=0, deadlocks=7)
    assert summary.status == "complete"
    (told,) = summary.warnings
    assert told.startswith("5 transactions failed (0.5 % of all): error 1062 3 times, error 1146 2 times; ")
    assert told.endswith("; the first: pay: Duplicate entry (error 1062)")


@pytest.mark.parametrize(("errors", "status"), [(100, "complete"), (101, "failed")])
def test_too_many_make_the_run_fail(errors: int, status: str) -> None:
    summary = judged(errors, 1000 - errors, error_1062=errors)
    assert summary.status == status
    if status == "failed":
        assert summary.error is not None
        assert summary.error.startswith("101 transactions failed (10.1 % of all): error 1062 101 times")
        assert summary.error.endswith("(hint: workload.errors_max_pct is the limit, 10)")


def test_few_of_many_are_not_rounded_to_none() -> None:
    assert "(less than 0.01 % of all)" in judged(1, 1_000_000, error_1062=1).warnings[0]


def test_no_errors_are_no_news() -> None:
    assert judged(0, 100).warnings == []


def test_other_workloads_stop_at_the_first() -> None:
    assert judged(5, 100, Oltp(mode="read_only")).warnings == []


def test_more_numbers_than_a_line_holds() -> None:
    counters = {f"error_{number}": 1 for number in range(1000, 1008)}
    assert judged(8, 992, **counters).warnings[0].split("; ")[0].endswith("error 1004 once, others 3 times")


def test_a_replay_tells_what_it_did_not_do_as_the_log_says() -> None:
    summary = CellSummary(cell=0, seed=1, status="complete", unit="qps", operations=1000)
    summary.counters = {"late": 10, "lag_ms": 25_000, "writes_skipped": 3, "mixed": 7}
    judge_errors(summary, QueryLog(log="x"))
    late, skipped, mixed = summary.warnings
    assert late.startswith("10 statements (1 %) began late, by 2.5 s on average")
    assert skipped.startswith("3 statements may write and were left out")
    assert mixed.startswith("7 statements ran on a session that another recorded connection was using")


def test_one_is_told_as_one() -> None:
    assert judged(1, 9, error_1062=1).warnings[0].startswith("1 transaction failed (10 % of all): error 1062 once; ")
    summary = CellSummary(cell=0, seed=1, status="complete", unit="qps", operations=1000)
    summary.counters = {"late": 1, "lag_ms": 2_500, "writes_skipped": 1, "mixed": 1}
    judge_errors(summary, QueryLog(log="x"))
    late, skipped, mixed = summary.warnings
    assert late.startswith("1 statement (0.1 %) began late")
    assert skipped.startswith("1 statement may write and was left out")
    assert mixed.startswith("1 statement ran on")


def test_an_error_of_a_field_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(
        "[database]\nkind = 'server'\n[workload]\nkind = 'sql'\nsetup = [\n'SELECT 1',\n'SELECT 2',\n]\n"
        "[workload.transactions.t]\nstatements = ['SELECT 3']\n"
    )
    experiment = load(path)
    for error in (EngineError("workload.setup.1: no table (error 1146)"), FlatwaterError("workload.setup.1: no table")):
        placed = placed_error(error, experiment)
        assert isinstance(placed, UserError) and placed.exit_code == 2
        assert str(placed).startswith(f"{path}:7: workload.setup[1]: no table") and "(hint: mend" in str(placed)
    hinted = placed_error(EngineError("workload.setup.0: no (hint: do (this))"), experiment)
    assert str(hinted) == f"{path}:6: workload.setup[0]: no (hint: do (this))"
    gone = placed_error(UserError("is gone", where="workload.transactions.t"), experiment)
    assert str(gone).startswith(f"{path}:9: workload.transactions.t: is gone")
    for kind in (UserError, FlatwaterError):
        found = placed_error(kind("cannot connect", where="database.kind", hint="start it"), experiment)
        assert (type(found), str(found)) == (kind, f"{path}:2: database.kind: cannot connect (hint: start it)")
    # What is written nowhere is a default, or of the command line.
    unsaid = placed_error(UserError("is full", where="storage.path"), experiment)
    assert str(unsaid) == f"{path}: storage.path: is full"
    for other in (EngineError("the server is gone"), UserError("is full", where="/mnt/card")):
        assert placed_error(other, experiment) is other


def test_errors_fail_a_replay_only_where_a_limit_is_given() -> None:
    assert judged(100, 0, QueryLog(log="x"), error_1062=100).status == "complete"
    assert judged(100, 0, QueryLog(log="x", errors_max_pct=99.0), error_1062=100).status == "failed"
