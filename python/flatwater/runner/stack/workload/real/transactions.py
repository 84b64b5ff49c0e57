"""Transactions (tpcc, oltp) on database servers."""

from __future__ import annotations

from pathlib import Path

from flatwater._engine import EngineError, Run, check_consistency
from flatwater.engine_json import to_json
from flatwater.experiment import Tpcc
from flatwater.experiment.database.login import Login
from flatwater.plan.server import RealDatabase, write_real_database
from flatwater.results.schema import Condition, ResponseLimit
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.layers.servers import Servers
from flatwater.runner.stack.layers.workload import Workload
from flatwater.runner.tally import Tally
from flatwater.server import ask

#: TPC-C's limits on the 90th percentile of the response time, seconds (clause 5.2.5.7). TPC-C's Delivery answers when
#: it is queued, within 5 s. Here its execution is measured, with the 80 s of clause 2.7.2.2, as in tpcc-mysql.
RESPONSE_LIMITS_S = {"new_order": 5.0, "payment": 5.0, "order_status": 5.0, "delivery": 80.0, "stock_level": 20.0}


class TransactionsOnServers(Workload[RealDatabase]):
    """tpcc or oltp on any servers."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None) -> None:
        self._servers.prepare(reporter, interrupt, kept_in, lambda: self.check(reporter))

    def plan(self, seed: int) -> RealDatabase:
        return write_real_database(self._cell, self._servers.logins(self._cell.schema_name), seed)

    def start(self, plan: RealDatabase, after: Run | None = None) -> Run:
        try:
            # The call logs in to each server and checks its data.
            return ask(lambda: Run.database(to_json(plan)), self._servers.hurried)
        except EngineError as error:
            raise self._servers.why_not_started(error) from None

    def check(self, reporter: Reporter) -> list[Condition]:
        workload = self._cell.workload
        self._servers.require_there()
        if not isinstance(workload, Tpcc) or not workload.check_consistency:
            return []
        reporter.phase("check consistency", None)
        self._servers.settle()
        found = []
        for number, login in enumerate(self._servers.logins(self._cell.schema_name)):
            for condition, title, reason, violations in self._query_conditions(login):
                found.append(
                    Condition(
                        number=condition,
                        title=title,
                        instance=number,
                        applies=reason is None,
                        holds=None if violations is None else violations == 0,
                        violations=violations,
                        note=reason or "",
                    )
                )
        return found

    def _query_conditions(self, login: Login) -> list[tuple[int, str, str | None, int | None]]:
        """Number, title, reason why it does not apply, violations of each condition. The queries may take minutes."""
        try:
            return ask(lambda: check_consistency(to_json(login), after_run=True), self._servers.hurried)
        except EngineError as error:
            raise self._servers.why_silent(error) from None

    def response_limits(self, tally: Tally) -> list[ResponseLimit]:
        if not isinstance(self._cell.workload, Tpcc):
            return []
        found = []
        for kind, limit_s in RESPONSE_LIMITS_S.items():
            p90_us = tally.quantile_us(kind, 0.9)
            if p90_us is not None:
                limit_us = limit_s * 1e6
                found.append(ResponseLimit(kind=kind, limit_us=limit_us, p90_us=p90_us, within=p90_us <= limit_us))
        return found
