"""What transactions cost a real server, from what a run counted; and the modelled twin of what was measured."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.experiment import Experiment, make_experiment
from flatwater.experiment.database.measured import load_workload, workload_files
from flatwater.fit.workload import Window, derive, to_workload_toml
from flatwater.fit.workload.counters import (
    LEAST_TRANSACTIONS,
    Counted,
    CountedCell,
    check_real,
    count_run,
    require_enough,
)
from flatwater.fit.workload.twin import COMPARED, twins

SEED = 20261122


class _Manifest:
    created_at = "2026-11-22T06:00:00+00:00"


class _Result:
    manifest = _Manifest()
    name = "made-up"


def counted(cells: list[CountedCell]) -> Counted:
    result: Any = _Result()
    return Counted(result, cells[0].experiment, "mariadb", "10.11.19-MariaDB", cells)


def experiment(**workload: Any) -> Experiment:
    asked = {"kind": "tpcc", "warehouses": 8} | workload
    settings = {"innodb_buffer_pool_size": "128M"}
    return make_experiment({"workload": asked, "database": {"kind": "server", "settings": settings}})


def windows(
    reads: float, writes: float, rng: random.Random, count: int = 8, redo: float = 16_000.0, per_statement: float = 6.0
) -> list[Window]:
    """Of a server whose statements cost 25 us, whose pages cost 60 to read and 15 to write, with 1 % of noise."""
    made = []
    for _ in range(count):
        transactions = rng.uniform(800, 1200)
        statements = 84 * transactions
        pages = reads * transactions * rng.uniform(0.8, 1.2), writes * transactions * rng.uniform(0.8, 1.2)
        cpu_us = (25 * statements + 60 * pages[0] + 15 * pages[1]) * rng.gauss(1, 0.01)
        made.append(
            Window(5, transactions, statements, per_statement * statements, *pages, redo * transactions, cpu_us)
        )
    return made


def cell(found: list[Window], of: Experiment | None = None) -> CountedCell:
    return CountedCell(of or experiment(), {}, 128 << 20, None, 100.0, found)


def test_costs_are_told_apart_by_cells_that_read_and_write_differently() -> None:
    rng = random.Random(SEED)
    mixes = [(25, 15), (25, 40), (5, 30), (1, 5), (40, 5)]
    found = derive(counted([cell(windows(*mix, rng)) for mix in mixes]))
    costs = found.cpu_us
    for figure, truth in ((costs.statement, 25), (costs.page_read, 60), (costs.page_written, 15)):
        assert figure.ci95 is not None
        assert abs(figure.value - truth) < 3 * figure.ci95, f"{figure} {truth}, seed {SEED}"
        assert figure.ci95 < truth, f"{figure} says nothing, seed {SEED}"
    assert found.redo_bytes["transaction"].value == pytest.approx(16_000, rel=1e-4)
    assert found.statements.value == pytest.approx(84, rel=1e-4)
    assert found.generation == "mariadb-10.11"


def test_what_always_comes_together_is_not_told_apart() -> None:
    rng = random.Random(SEED)
    alike = [
        Window(5, n, 84 * n, 500 * n, 2 * n, 2 * n, 16_000 * n, 84 * n * 25 * rng.gauss(1, 0.01))
        for n in (rng.uniform(800, 1200) for _ in range(20))
    ]
    found = derive(counted([cell(alike)]))
    assert found.cpu_us.page_read.value == found.cpu_us.page_written.value == 0
    assert sum("cannot be separated from that of other work" in note for note in found.notes) == 2
    assert found.cpu_us.statement.value == pytest.approx(25, rel=0.02)


def test_redo_of_each_kind_of_change_follows_from_scripts_that_write_different_things() -> None:
    rng = random.Random(SEED)
    redo = {"update_index": 700.0, "update_non_index": 900.0, "write_only": 2400.0, "read_write": 2400.0}
    cells = [
        cell(
            windows(2, 2, rng, redo=redo_bytes),
            make_experiment({"workload": {"kind": "oltp", "mode": mode}, "database": {"kind": "server"}}),
        )
        for mode, redo_bytes in redo.items()
    ]
    found = derive(counted(cells)).redo_bytes
    # A commit comes with every single change, and once where there are three: it is not told apart.
    truth = {"index_update": 700, "non_index_update": 900, "delete_insert": 800}
    assert {name: figure.value for name, figure in found.items()} == pytest.approx(truth, rel=1e-4)


def test_the_file_is_read_as_it_was_written(tmp_path: Any) -> None:
    rng = random.Random(SEED)
    found = derive(counted([cell(windows(3, 4, rng))]))
    path = tmp_path / "mine.toml"
    path.write_text(to_workload_toml(found))
    assert load_workload(str(path)) == found


@pytest.mark.parametrize("name", sorted(workload_files()))
def test_committed_files_say_where_they_come_from(name: str) -> None:
    found = load_workload(name)
    assert found.server and found.date and found.experiment and found.cells
    assert found.redo_bytes and found.rows_a_page()
    assert found.statements.ci95 is not None and found.cpu_us.statement.ci95 is not None


@pytest.mark.parametrize("name", ["tpcc-mariadb-10.11", "tpcc-mysql-5.5"])
def test_the_twin_of_tpcc_reads_and_writes_what_was_measured(name: str) -> None:
    # No server is needed: what was counted is in the file. Shares of the data that are all read say nothing.
    compared = [twin for twin in twins(load_workload(name)) if twin.cell.pool_share < 1]
    assert len(compared) >= 2
    for twin in compared:
        for one in COMPARED:
            assert abs(twin.error(one)) < 0.15, f"{one} at a pool of {twin.cell.pool_share}: {twin.error(one):+.1%}"


def test_sizes_are_those_of_what_was_loaded_where_a_server_printed_them() -> None:
    rng = random.Random(SEED)
    size = {"leaf_pages": 100, "pages": 120, "rows": 1}
    grown = [{"stock.PRIMARY": {**size, "leaf_pages": leaves, "pages": leaves + 20}} for leaves in (300, 200)]
    cells = [replace(cell(windows(3, 4, rng)), indexes=one) for one in grown]
    assert derive(counted(cells)).indexes["stock.PRIMARY"].leaf_pages == 200
    cells[0] = replace(cells[0], loaded={"stock.PRIMARY": size})
    assert derive(counted(cells)).indexes["stock.PRIMARY"].leaf_pages == 100
    # sysbench's tables keep their rows, and their pages split while it runs.
    oltp = make_experiment({"workload": {"kind": "oltp", "mode": "write_only"}, "database": {"kind": "server"}})
    cells = [replace(one, experiment=oltp, indexes={"sbtest1.k_1": dict(size)}, loaded=one.indexes) for one in cells]
    assert [*derive(counted(cells)).indexes] == ["sbtest1.k_1"]


def test_what_is_no_run_of_a_server_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        count_run(str(tmp_path / "nothing"))
    model = {"database": {"kind": "innodb-model"}, "storage": {"kind": "memory", "device": "violin-memory-appliance"}}
    with pytest.raises(UserError, match="its server is modelled"):
        check_real(make_experiment({"workload": {"kind": "oltp", "mode": "read_write"}, **model}), "here")
    with pytest.raises(UserError, match="it has no transactions"):
        check_real(make_experiment({"workload": {"mode": "rndrd"}}), "here")


def test_a_run_that_is_refused_as_too_short_is_told_to_be_shorter_than_is_asked() -> None:
    require_enough(19.98, LEAST_TRANSACTIONS, "run")
    for seconds, transactions in ((19.4, LEAST_TRANSACTIONS), (60.0, LEAST_TRANSACTIONS - 1)):
        with pytest.raises(UserError, match=f"is too short: {seconds:.0f} s and {transactions} transactions"):
            require_enough(seconds, transactions, "run")
