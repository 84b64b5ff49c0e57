"""A modelled InnoDB through `flatwater run`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import Lab, Ran

from flatwater.experiment.database.machine import load_machine

sys.path.insert(0, str(Path(__file__).parents[3] / "experiment" / "storage"))
from devices import appliance

OUT = itertools.count()
OLTP = {"kind": "oltp", "mode": "read_write", "rows": 300_000}
SETTINGS = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "8M", "innodb_io_capacity": 1000}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def run(lab: Lab, *arguments: str, workload: Mapping[str, Any] = {}, **database: Any) -> Ran:
    """sysbench's transactions for ten virtual seconds, on an appliance of memory."""
    content = {
        "workload": {"warmup_s": 2, "duration_s": 10, **(workload if "kind" in workload else OLTP | dict(workload))},
        "database": {"kind": "innodb-model", "settings": SETTINGS} | database,
        "storage": {"kind": "memory", "device": appliance(lab.folder)},
    }
    path = lab.folder / "innodb.toml"
    path.write_text(tomli_w.dumps(content))
    return lab.run(path, "--json", *arguments, out=lab.folder / f"out-{next(OUT)}")


def test_transactions_are_counted_and_the_servers_series_told(lab: Lab) -> None:
    cell = run(lab).cell
    assert (cell["status"], cell["unit"], cell["errors"]) == ("complete", "tps", 0)
    assert cell["mean"] > 0
    assert cell["layers"]["database"] == cell["layers"]["storage"] == "modelled"
    told = cell["metrics"]
    assert 0 < told["database.hit_ratio"]["mean"] < 1
    assert 0 < told["database.checkpoint_age_bytes"]["mean"] <= told["database.checkpoint_age_max_bytes"]["mean"]
    assert told["workload.queries_per_s"]["mean"] == pytest.approx(18 * cell["mean"], rel=0.1)
    for name in ("dirty_pct", "pages_read_per_s", "pages_written_per_s", "log_bytes_per_s"):
        assert told[f"database.{name}"]["mean"] > 0, name


def test_the_same_experiment_has_the_same_result(lab: Lab) -> None:
    first, second = run(lab).cell, run(lab).cell
    assert first["mean"] == second["mean"]
    assert first["latency_us"] == second["latency_us"]
    assert run(lab, "--seed", "7").cell["latency_us"] != first["latency_us"]


def test_tpcc_is_counted_in_notpm(lab: Lab) -> None:
    cell = run(lab, workload={"kind": "tpcc", "warehouses": 2}).cell
    assert (cell["status"], cell["unit"]) == ("complete", "NOTPM")
    assert cell["mean"] > 0


VARIANTS: list[dict[str, Any]] = [
    {"variant": "tproc-c"},
    {"variant": "tproc-c", "all_warehouses": True, "partitions": 2, "history_key": True},
    {"variant": "sysbench-tpcc"},
    {"variant": "sysbench-tpcc", "table_sets": 2, "foreign_keys": False, "history_key": True},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda said: "-".join(map(str, said.values())))
@pytest.mark.parametrize("generation", ["mysql-5.1", "mysql-5.7", "mariadb-12"])
def test_the_variants_of_tpcc_are_modelled(lab: Lab, variant: dict[str, Any], generation: str) -> None:
    settings = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "16M"}
    workload = {"kind": "tpcc", "warehouses": 1, "connections": 6, **variant}
    cell = run(lab, workload=workload, generation=generation, settings=settings).cell
    told = cell["metrics"]
    assert (cell["status"], cell["unit"], cell["errors"]) == ("complete", "NOTPM", 0)
    # Each transaction is drawn by itself: of 23 ten are New-Orders, in the mean only.
    orders = told["workload.new_order_ops_per_s"]["mean"] / told["workload.ops_per_s"]["mean"]
    assert orders == pytest.approx(10 / 23, rel=0.1)
    # Three statements of a client for most of HammerDB's transactions, and dozens of sysbench's.
    statements = told["workload.queries_per_s"]["mean"] / told["workload.ops_per_s"]["mean"]
    assert (2.5 < statements < 3) if variant["variant"] == "tproc-c" else (20 < statements < 40)


def test_hammerdb_counts_the_new_orders_that_commit(lab: Lab) -> None:
    workload = {"kind": "tpcc", "variant": "tproc-c", "warehouses": 3, "duration_s": 30}
    notpm, nopm = (run(lab, workload=workload | {"unit": unit}).cell for unit in ("NOTPM", "NOPM"))
    assert nopm["mean"] == pytest.approx(notpm["mean"] * 98 / 99, rel=0.005)
    assert nopm["mean"] < notpm["mean"]


def test_terminals_key_and_think_as_the_specification_says(lab: Lab) -> None:
    """Of a server that is never late, a deck of 23 takes its keying and think times (TPC-C 5.11, clause 5.2.5.7)."""
    keying_and_think_s = (10 * (18 + 12) + 10 * (3 + 12) + 2 + 10 + 2 + 5 + 2 + 5) / 23
    workload = {"kind": "tpcc", "warehouses": 8, "keying_and_think": True, "warmup_s": 60, "duration_s": 600}
    cell = run(lab, workload=workload | {"unit": "tps"}).cell
    assert cell["mean"] == pytest.approx(8 * 10 / keying_and_think_s, rel=0.06)
    # Neither time is part of a transaction.
    assert cell["latency_us"]["max"] < 1e6
    busy = run(lab, workload=workload | {"unit": "tps", "keying_and_think": False, "duration_s": 2}).cell
    assert busy["mean"] > 100 * cell["mean"]


def test_a_log_with_the_data_is_one_without_a_device_of_its_own(lab: Lab) -> None:
    told = run(lab, log_device="none").cell
    assert told["latency_us"] == run(lab).cell["latency_us"]
    # A disk that writes through is slower than memory.
    assert run(lab, log_device="disk-15k").cell["mean"] < told["mean"]


def test_a_machine_of_slow_cores_does_less(lab: Lab) -> None:
    in_memory = SETTINGS | {"innodb_buffer_pool_size": "256M", "innodb_flush_log_at_trx_commit": 2}
    # Nothing but the cores is to count.
    cores_only = {"mutex_us": 0, "round_trip_us": 0}
    fast, slow, own = (
        run(lab, "--set", "workload.mode=read_only", settings=in_memory, cpu=cores_only, **more).cell["mean"]
        for more in ({"machine": "dell-r900"}, {"machine": "sun-t2000"}, {"machine": "sun-t2000", "cores": 16})
    )
    # Half as many cores, each so many times slower.
    ratio = load_machine("sun-t2000").cpu_scale / load_machine("dell-r900").cpu_scale
    assert fast / own == pytest.approx(ratio, rel=0.1)
    assert slow <= own


def test_two_servers_do_more_where_a_mutex_is_the_limit(lab: Lab) -> None:
    limited = {"mode": "read_only", "tables": 2, "rows": 20_000, "connections": 16}
    ran = [run(lab, workload=limited, servers=servers, cpu={"mutex_us": 100}).cell for servers in (1, 2)]
    one, two = (cell["metrics"] for cell in ran)
    assert one["workload.queries_per_s"]["mean"] < 10_100
    assert ran[1]["mean"] > 1.8 * ran[0]["mean"]
    assert not any("instance" in name for name in one)
    ages = [two[f"database.instance{number}_checkpoint_age_bytes"]["mean"] for number in (0, 1)]
    assert sum(ages) == pytest.approx(two["database.checkpoint_age_bytes"]["mean"])


@pytest.mark.slow
def test_data_that_do_not_fit_are_told(lab: Lab) -> None:
    ran = run(lab, workload={"rows": 100_000_000, "tables": 100})
    assert ran.code == 2
    assert "take" in ran.error
