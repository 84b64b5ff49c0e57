from __future__ import annotations

from dataclasses import replace

from cases import case, database, finding, served

from flatwater.advise.rules.row_locks import RowLocks

LOCKS = finding("contention", 0.8, "12 of 16 sessions waited for row locks")
SERVER = database(row_lock_pct=1200)


def test_a_step_in_the_schema() -> None:
    told = RowLocks().advise(case(LOCKS, database=SERVER))
    assert told is not None
    assert told.change.kind == "workload"
    assert "same order" not in told.change.text
    assert told.confidence == "high" and "Faster hardware helps little" in told.change.text
    behind = RowLocks().advise(case(finding("CPU", 0.9), LOCKS, database=SERVER))
    assert behind is not None and behind.confidence == "medium" and "hardware" not in behind.change.text


def test_an_order_of_locks_where_there_are_deadlocks() -> None:
    told = RowLocks().advise(case(LOCKS, database=replace(SERVER, counters={"deadlocks": 40})))
    assert told is not None
    assert "same order" in told.change.text


def test_silent_of_a_models_mutexes_and_of_other_bounds() -> None:
    assert RowLocks().advise(case(LOCKS, database=database())) is None
    assert RowLocks().advise(case(finding("CPU"), database=SERVER)) is None
    assert RowLocks().advise(served(case(LOCKS, database=SERVER))) is None
