"""Sessions that wait for each other's rows."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import LISTED_MIN
from flatwater.analysis.bound.sessions import session_time


class RowLocks(Rule):
    """Row locks bound the run: a step in the schema or the transactions, and no hardware."""

    name = "row-locks"
    about = "sessions that wait for row locks"
    source = "MySQL manual, How to Minimize and Handle Deadlocks; Optimizing InnoDB Transaction Management"
    elsewhere = "it depends on the transactions"

    def advise(self, case: Case) -> Advice | None:
        """Shorter transactions, fewer locked rows, and no hot row."""
        found, database = case.finding("contention"), case.evidence.database
        if found is None or database is None or not _wait_for_rows(case):
            return None
        deadlocks = database.counters.get("deadlocks", 0)
        order = " Let all transactions lock rows in the same order." if deadlocks else ""
        # Where others hold rows because they wait for something else, that comes first.
        alone = case.diagnosis.name == "contention"
        hardware = " Faster hardware helps little." if alone else ""
        return self.advice(
            "Sessions wait for each other's row locks.",
            Change(
                "workload",
                "Split rows that everybody updates (a counter, a queue's head), commit earlier, and give updates an "
                f"index so that they lock only the rows that they change.{order}{hardware}",
            ),
            *found.evidence,
            confidence="high" if alone else "medium",
            relieves=found,
        )


def _wait_for_rows(case: Case) -> bool:
    """Whether it is rows that sessions wait for, and not a model's mutexes."""
    time = session_time(case.evidence)
    return time is not None and time.of(time.row_locks) >= LISTED_MIN
