"""sysbench-tpcc and TPROC-C on a real server: their tables, their work, their counting, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from serverlab import TPCC, Foreign, ServerLab

from flatwater.results import Cell
from flatwater.runner.stack.database.real.dataset import PROCEDURES_VERSION

SYSBENCH = {**TPCC, "variant": "sysbench-tpcc", "unit": "tps"}
TPROC_C = {**TPCC, "variant": "tproc-c", "unit": "NOPM"}
KINDS = {"new_order", "payment", "order_status", "delivery", "stock_level"}
ROLLED_BACK = 0.01


def number(foreign: Foreign, sql: str) -> int:
    """The number that a statement asks for."""
    return int(foreign.instance.query(sql)[0][0] or 0)


def ended(foreign: Foreign, *counters: str) -> int:
    """What the server counted of all sessions; HammerDB counts commits and rollbacks."""
    names = ", ".join(f"'{name}'" for name in counters)
    rows = foreign.instance.query(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
    return sum(int(value or 0) for _, value in rows)


@pytest.mark.slow_cases("sysbench-tpcc", "sysbench-tpcc, two sets", "tproc-c, partitioned")
@pytest.mark.parametrize(
    "workload",
    [
        {**SYSBENCH, "table_sets": 2, "foreign_keys": False, "history_key": True},
        SYSBENCH,
        {**TPROC_C, "all_warehouses": True, "partitions": 2, "history_key": True, "warehouses": 2},
        TPROC_C,
        {**TPROC_C, "pipeline": True},
    ],
    ids=["sysbench-tpcc, two sets", "sysbench-tpcc", "tproc-c, partitioned", "tproc-c", "tproc-c, pipelined"],
)
def test_a_run_leaves_its_data_consistent(servers: ServerLab, workload: dict[str, Any]) -> None:
    """TPC-C 5.11, clause 3.3.2: all conditions that hold after transactions, on all sets of tables."""
    ran = servers.go({**workload, "duration_s": 4, "connections": 8})
    assert (ran.code, ran.cell["status"], ran.cell["unit"]) == (0, "complete", workload["unit"]), ran.stderr
    assert ran.summary.errors == 0, ran.summary.warnings
    assert {one.number for one in ran.summary.consistency if one.holds} >= set(range(1, 11))
    assert not any(one.holds is False for one in ran.summary.consistency)
    keeps_payments = workload["variant"] == "sysbench-tpcc"
    assert [one.applies for one in ran.summary.consistency if one.number == 12] == [keeps_payments]
    assert ran.summary.latency_by_kind_us.keys() >= KINDS
    servers.check_clean()


@pytest.fixture(scope="module")
def empty(foreign: Foreign) -> str:
    """A schema that the first test loads."""
    return foreign.url(foreign.schema("tproc"))


def mean_over_time(cell: Cell, metric: str) -> float:
    """The mean rate of the measured phase. On a busy machine intervals are not of one length."""
    begin_s, _ = cell.measured_span()
    measured = cell.measured("workload", metric)
    lengths = np.diff(measured.time_s, prepend=begin_s)
    return float((measured.value * lengths).sum() / lengths.sum())


class TestCounting:
    @pytest.fixture
    def url(self, servers: ServerLab, empty: str) -> str:
        loaded = servers.go({**TPROC_C, "duration_s": 0.5}, {"url": empty, "load": True})
        assert loaded.code == 0, loaded.stderr
        return empty

    def test_nopm_are_the_numbers_that_orders_took(self, servers: ServerLab, foreign: Foreign, url: str) -> None:
        before = number(foreign, "SELECT SUM(d_next_o_id) FROM tproc.district")
        ran = servers.go({**TPROC_C, "duration_s": 3}, {"url": url})
        assert ran.code == 0, ran.stderr
        taken = number(foreign, "SELECT SUM(d_next_o_id) FROM tproc.district") - before
        # Transactions that end after the last interval took numbers, too.
        assert ran.cell["mean"] * ran.measured_s / 60 == pytest.approx(taken, rel=0.03, abs=20)

    def test_snapshots_are_of_the_procedures_that_are_made(self, foreign: Foreign, url: str) -> None:
        told = foreign.instance.query(
            "SELECT routine_comment FROM information_schema.routines WHERE routine_schema = 'tproc'"
        )
        assert told == 5 * [(f"flatwater {PROCEDURES_VERSION}",)]

    @pytest.mark.parametrize("is_pipelined", [False, True], ids=["one by one", "together"])
    def test_a_call_goes_with_its_variables_and_its_question(
        self, servers: ServerLab, url: str, is_pipelined: bool
    ) -> None:
        ran = servers.go({**TPROC_C, "pipeline": is_pipelined, "duration_s": 3}, {"url": url})
        assert ran.code == 0, ran.stderr
        sent, done = (ran.recorded.series("workload", f"{name}_per_s").value.sum() for name in ("queries", "ops"))
        # New-Order, Payment and Order-Status have three each, Stock-Level two, Delivery one: 66 for 23 that are drawn.
        assert sent / done == pytest.approx(66 / 23, rel=0.03)

    def test_new_orders_that_roll_back_are_left_out(self, servers: ServerLab, foreign: Foreign, url: str) -> None:
        before = ended(foreign, "Com_rollback")
        ran = servers.go({**TPROC_C, "duration_s": 3}, {"url": url})
        recorded = 60 * mean_over_time(ran.recorded, "new_order_ops_per_s")
        assert ran.cell["mean"] < recorded
        minutes = ran.measured_s / 60
        # The server counts them, too; a session may roll one back behind the last interval.
        assert (recorded - ran.cell["mean"]) * minutes == pytest.approx(ended(foreign, "Com_rollback") - before, abs=2)
        # Five standard deviations of so many draws.
        scatter = 5 * math.sqrt(ROLLED_BACK / (recorded * minutes))
        assert ran.cell["mean"] / recorded == pytest.approx(1 - ROLLED_BACK, abs=scatter)

    def test_tpm_are_commits_and_rollbacks(self, servers: ServerLab, foreign: Foreign, url: str) -> None:
        before = ended(foreign, "Com_commit", "Com_rollback")
        ran = servers.go({**TPROC_C, "unit": "tpm", "duration_s": 3, "check_consistency": False}, {"url": url})
        assert ran.cell["unit"] == "tpm"
        minutes = ran.measured_s / 60
        assert ran.cell["mean"] * minutes == pytest.approx(
            ended(foreign, "Com_commit", "Com_rollback") - before, rel=0.03, abs=20
        )


class TestRefused:
    def test_the_schema_of_another_variant(self, servers: ServerLab, foreign: Foreign) -> None:
        url = foreign.url(foreign.schema("other"))
        loaded = servers.go({**TPROC_C, "duration_s": 0.5}, {"url": url, "load": True})
        assert loaded.code == 0, loaded.stderr
        plain = servers.go(TPCC, {"url": url})
        assert plain.code == 2 and "lacks tables of this workload: new_orders" in plain.error, plain.error
        sets = servers.go(SYSBENCH, {"url": url})
        assert sets.code == 2 and "holds no data of this workload" in sets.error, sets.error
        foreign.instance.query("DROP PROCEDURE other.SLEV")
        without = servers.go(TPROC_C, {"url": url})
        assert without.code == 2 and "procedure SLEV is missing" in without.error, without.error
        foreign.instance.query("CREATE PROCEDURE other.SLEV () SELECT 1")
        theirs = servers.go(TPROC_C, {"url": url})
        assert theirs.code == 2 and "not the one of this version of flatwater" in theirs.error, theirs.error

    def test_an_account_that_may_not_call_procedures(self, servers: ServerLab, foreign: Foreign) -> None:
        loaded = servers.go(
            {**TPROC_C, "duration_s": 0.5}, {"url": foreign.url(foreign.schema("rights")), "load": True}
        )
        assert loaded.code == 0, loaded.stderr
        foreign.instance.query("CREATE OR REPLACE USER clerk@localhost")
        foreign.instance.query("GRANT SELECT, INSERT, UPDATE, DELETE ON rights.* TO clerk@localhost")
        url = f"mysql://{foreign.socket}?user=clerk&schema=rights"
        ran = servers.go(TPROC_C, {"url": url})
        assert ran.code == 2 and "the account lacks EXECUTE" in ran.error, ran.error
        foreign.instance.query("GRANT EXECUTE ON rights.* TO clerk@localhost")
        assert servers.go({**TPROC_C, "duration_s": 0.5}, {"url": url}).code == 0

    def test_too_few_sets(self, servers: ServerLab, foreign: Foreign) -> None:
        url = foreign.url(foreign.schema("sets"))
        loaded = servers.go({**SYSBENCH, "duration_s": 0.5}, {"url": url, "load": True})
        assert loaded.code == 0, loaded.stderr
        more = servers.go({**SYSBENCH, "table_sets": 2}, {"url": url})
        assert more.code == 2 and "item2" in more.error, more.error
