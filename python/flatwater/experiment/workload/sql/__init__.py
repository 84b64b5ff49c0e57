"""The user's own transactions.

kind.py         the table `[workload]` of the kind `sql`
transaction.py  transactions, statements, think times, the setup
parameter.py    where the values of parameters come from
check.py        statements, and what they call by name
"""

from __future__ import annotations

from flatwater.experiment.workload.sql.kind import Sql

__all__ = ["Sql"]
