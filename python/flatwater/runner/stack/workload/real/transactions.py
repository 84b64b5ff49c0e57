"""Transactions (tpcc, oltp, the user's own) on database servers."""

from __future__ import annotations

from pathlib import Path

from flatwater._engine import EngineError, Run, check_consistency
from flatwater.engine_json import Json, to_json
from flatwater.errors import UserError
from flatwater.experiment import PlannedCell, QueryLog, Timing, Tpcc
from flatwater.experiment.database.login import Login
from flatwater.plan.server import RealDatabase, write_real_database
from flatwater.plan.transactions import Variant, write_variant
from flatwater.results.load_host import LoadHost
from flatwater.results.schema import Condition, ResponseLimit
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.layers.running import LoadHosts, Running, RunningOnHosts, require_hosts
from flatwater.runner.stack.layers.servers import Servers
from flatwater.runner.stack.layers.workload import Workload
from flatwater.runner.stack.workload.real.left_out import tell_left_out
from flatwater.runner.tally import Tally
from flatwater.server import ask
from flatwater.server.asking import GRACE_S

#: TPC-C's limits on the 90th percentile of the response time, seconds (clause 5.2.5.7). TPC-C's Delivery answers when
#: it is queued, within 5 s. Here its execution is measured, with the 80 s of clause 2.7.2.2, as in tpcc-mysql.
RESPONSE_LIMITS_S = {"new_order": 5.0, "payment": 5.0, "order_status": 5.0, "delivery": 80.0, "stock_level": 20.0}


class TransactionsOnServers(Workload[RealDatabase]):
    """tpcc, oltp or sql on any servers."""

    def __init__(self, servers: Servers, hosts: LoadHosts | None = None) -> None:
        """`hosts` make the load of cells with a `[load]`."""
        self._servers = servers
        self._hosts = hosts
        self._run_on_hosts: RunningOnHosts | None = None
        self._left_out: str | None = None

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        self._run_on_hosts = None
        self._left_out = _left_out(self._cell.workload)
        require_hosts(self._cell, self._hosts)

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None) -> None:
        if self._left_out is not None:
            reporter.note(self._left_out)
        self._servers.prepare(reporter, interrupt, kept_in, lambda: self.check(reporter))

    def warnings(self) -> list[str]:
        return [*super().warnings(), *([self._left_out] if self._left_out is not None else [])]

    def plan(self, seed: int) -> RealDatabase:
        return write_real_database(self._cell, self._servers.logins(self._cell.session_schema), seed)

    def start(self, plan: RealDatabase, after: Run | None = None) -> Running:
        load, hosts, hurried = self._cell.load, self._hosts, self._servers.hurried
        try:
            if load is not None and hosts is not None:
                # They end by themselves what they have begun, and then raise Interrupted.
                many = load.hosts
                self._run_on_hosts = ask(lambda: hosts.start(plan, many, hurried), hurried, grace_s=GRACE_S)
                return self._run_on_hosts
            # The call logs in to each server and checks its data.
            return ask(lambda: Run.database(to_json(plan)), hurried)
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
            for condition, title, reason, violations in self._query_conditions(login, to_json(write_variant(workload))):
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

    def _query_conditions(self, login: Login, variant: Json[Variant]) -> list[tuple[int, str, str | None, int | None]]:
        """Number, title, reason why it does not apply, violations of each condition. The queries may take minutes."""
        try:
            return ask(lambda: check_consistency(to_json(login), variant, after_run=True), self._servers.hurried)
        except EngineError as error:
            raise self._servers.why_silent(error) from None

    def load_hosts(self) -> list[LoadHost]:
        return self._run_on_hosts.describe() if self._run_on_hosts is not None else []

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        if self._run_on_hosts is not None:
            self._run_on_hosts.close()

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


def _left_out(workload: Timing) -> str | None:
    """What of a recorded load is not sent. Errors: UserError if its file is gone."""
    if not isinstance(workload, QueryLog):
        return None
    try:
        return tell_left_out(workload)
    except ValueError as error:
        raise UserError(f"{workload.log_file}: {error}", where="workload.log") from None
