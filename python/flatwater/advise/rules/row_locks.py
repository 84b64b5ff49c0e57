"""Sessions that wait for each other's rows."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule


class RowLocks(Rule):
    """Row locks bound the run: a step in the schema or the transactions, and no hardware."""

    name = "row-locks"
    about = "sessions that wait for row locks"
    source = "MySQL manual, How to Minimize and Handle Deadlocks; Optimizing InnoDB Transaction Management"
    elsewhere = "it depends on the transactions"

    def advise(self, case: Case) -> Advice | None:
        """Shorter transactions, fewer locked rows, and no hot row."""
        found, database = case.finding("contention"), case.evidence.database
        if found is None or database is None or database.row_lock_pct is None:
            return None
        deadlocks = database.counters.get("deadlocks", 0)
        order = " Let all transactions lock rows in the same order." if deadlocks else ""
        return self.advice(
            "Sessions wait for each other's row locks.",
            Change(
                "workload",
                "Split rows that everybody updates (a counter, a queue's head), commit earlier, and give updates an "
                f"index so that they lock only the rows that they change.{order} Faster hardware helps little.",
            ),
            *found.evidence,
            confidence="high",
            relieves=found,
        )
