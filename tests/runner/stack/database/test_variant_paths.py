"""Each variant of TPC-C on each path that a run may take. What a run leaves is consistent on all of them."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from lab import Ran, journal_lines
from serverlab import TPCC, Foreign, ServerLab, made_in
from test_resuming import cell_folder, check_kept

VARIANTS: dict[str, dict[str, Any]] = {
    "sysbench-tpcc": {"variant": "sysbench-tpcc", "unit": "tps"},
    "sysbench-tpcc, three sets": {
        "variant": "sysbench-tpcc",
        "unit": "tps",
        "table_sets": 3,
        "foreign_keys": False,
        "history_key": True,
    },
    "tproc-c": {"variant": "tproc-c", "unit": "NOPM"},
    "tproc-c, partitioned": {
        "variant": "tproc-c",
        "unit": "tpm",
        "warehouses": 2,
        "partitions": 2,
        "all_warehouses": True,
        "history_key": True,
    },
}
#: Whom a loaded table belongs to, and no other variant.
OWN_TABLES = {"sysbench-tpcc": "customer1", "tproc-c": "new_order"}

#: What the quick tests leave out: the shapes that test_variants.py runs, too.
PLAIN = ("sysbench-tpcc", "tproc-c")
every_variant = pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant, id=name, marks=[pytest.mark.slow] if name in PLAIN else [])
        for name, variant in VARIANTS.items()
    ],
)


def check_data(ran: Ran, *, instances: int = 1) -> None:
    """It ended well, and each of its servers has data that are consistent."""
    assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
    assert ran.summary.errors == 0, ran.summary.warnings
    for instance in range(instances):
        told = [one for one in ran.summary.consistency if one.instance == instance]
        assert {one.number for one in told if one.holds} >= set(range(1, 11))
        assert not any(one.holds is False for one in told)


@every_variant
class TestOwnServers:
    @pytest.mark.slow
    def test_a_second_run_takes_the_snapshot(self, servers: ServerLab, variant: dict[str, Any]) -> None:
        check_data(servers.go({**TPCC, **variant}))
        before = made_in(servers.storage, "flatwater-servers/snapshots/*")
        again = servers.go({**TPCC, **variant, "connections": 8})
        check_data(again)
        assert "load rows" not in again.stderr
        assert made_in(servers.storage, "flatwater-servers/snapshots/*") == before

    @pytest.mark.slow
    def test_several_servers(self, servers: ServerLab, variant: dict[str, Any]) -> None:
        ran = servers.go({**TPCC, **variant}, {"instances": 2})
        check_data(ran, instances=2)
        own = [ran.recorded.series("workload", f"instance{number}_throughput").value for number in (0, 1)]
        assert all(values.sum() > 0 for values in own)
        # What was rolled back is among the transactions of an instance, and not in NOPM.
        together = ran.recorded.series("workload", "throughput").value.sum()
        assert together == pytest.approx(sum(values.sum() for values in own), rel=0.1)

    @pytest.mark.slow
    def test_killed_and_resumed(self, servers: ServerLab, variant: dict[str, Any]) -> None:
        file = servers.write({**TPCC, **variant, "duration_s": 2.5})
        run = servers.start(file)
        run.until_recorded(5)
        run.send(signal.SIGKILL)
        servers.until_gone()
        lines = journal_lines(cell_folder(run.out))
        ran = servers.run(file, "--resume")
        check_data(ran)
        check_kept(ran, lines, 2.5)
        servers.check_clean()

    @pytest.mark.slow_cases("sysbench-tpcc, three sets")
    def test_ctrl_c_and_resumed(self, servers: ServerLab, variant: dict[str, Any]) -> None:
        file = servers.write({**TPCC, **variant, "duration_s": 3})
        run = servers.start(file)
        run.until_recorded(5)
        assert run.send(signal.SIGINT).code == 130
        lines = journal_lines(cell_folder(run.out))
        ran = servers.run(file, "--resume")
        check_data(ran)
        check_kept(ran, lines, 3)
        servers.check_clean()

    @pytest.mark.slow
    def test_connections_are_made_again(self, servers: ServerLab, variant: dict[str, Any]) -> None:
        every = 5
        ran = servers.go({**TPCC, **variant, "reconnect_every": every, "duration_s": 6})
        check_data(ran)
        connected = ran.recorded.series("workload", "connect_ops_per_s").value.sum()
        transactions = ran.recorded.series("workload", "ops_per_s").value.sum()
        assert transactions / connected == pytest.approx(every, rel=0.25)
        assert ran.summary.counters["reconnects"] == 0

    @pytest.mark.slow
    def test_terminals_key_and_think(self, servers: ServerLab, variant: dict[str, Any]) -> None:
        """Ten terminals that are never busy: TPC-C allows 12.86 New-Orders a minute for each warehouse (clause 4.1)."""
        timed = {name: value for name, value in {**TPCC, **variant}.items() if name != "connections"}
        ran = servers.go({**timed, "unit": "tps", "keying_and_think": True, "duration_s": 6})
        check_data(ran)
        warehouses = timed["warehouses"]
        # The shortest keying time is 2 s (clause 5.2.5.4), and nobody is done before it is over.
        done = ran.recorded.series("workload", "ops_per_s")
        assert done.value[:19].sum() == 0 and 0 < ran.summary.operations < 10 * warehouses * 6 / 2

    @pytest.mark.slow
    def test_an_open_loop(self, servers: ServerLab, variant: dict[str, Any]) -> None:
        ran = servers.go({**TPCC, **variant, "unit": "tps", "rate_per_s": 20, "duration_s": 6})
        check_data(ran)
        assert ran.cell["mean"] == pytest.approx(20, rel=0.3)


@every_variant
class TestAttachedServer:
    @pytest.mark.slow_cases("sysbench-tpcc, three sets")
    def test_it_is_loaded_once_and_run_again(
        self, servers: ServerLab, foreign: Foreign, variant: dict[str, Any]
    ) -> None:
        url = foreign.url(foreign.schema("paths"))
        check_data(servers.go({**TPCC, **variant}, {"url": url, "load": True}))
        check_data(servers.go({**TPCC, **variant}, {"url": url, "load": True}))
        check_data(servers.go({**TPCC, **variant}, {"url": url}))

    @pytest.mark.slow
    def test_data_of_another_variant_stay_as_they_are(
        self, servers: ServerLab, foreign: Foreign, variant: dict[str, Any]
    ) -> None:
        """Also where flatwater may load: it drops nothing, and says which schema it means."""
        url = foreign.url(foreign.schema("taken"))
        assert servers.go({**TPCC, **variant, "duration_s": 0.5}, {"url": url, "load": True}).code == 0
        tables = foreign.instance.query("SHOW TABLES FROM taken")
        for name, other in VARIANTS.items():
            if other["variant"] == variant["variant"]:
                continue
            ran = servers.go({**TPCC, **other}, {"url": url, "load": True})
            assert ran.code == 1 and "schema taken holds another data set" in ran.error, f"{name}: {ran.error}"
        assert foreign.instance.query("SHOW TABLES FROM taken") == tables
        assert (OWN_TABLES[variant["variant"]],) in [tuple(row) for row in tables]


class TestPlacedTables:
    """`database.placement` names the tables of the variant."""

    def test_of_one_of_several_sets(self, servers: ServerLab, tmp_path: Path) -> None:
        ran = servers.go({**TPCC, **VARIANTS["sysbench-tpcc, three sets"]}, placed(tmp_path, "stock2"))
        check_data(ran)
        assert ran.cell["metrics"]["storage.other_write_bytes_per_s"]["mean"] >= 0


def placed(path: Path, table: str) -> dict[str, Any]:
    """The fields of a database with this table on another storage."""
    return {"placement": {"tables": {table: "other"}}, "storages": {"other": {"path": str(path)}}}
