"""What transactions cost a real server, from what a run counted; and the modelled twin of what was measured."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flatwater.errors import UserError
from flatwater.experiment import Experiment, make_experiment
from flatwater.experiment.database.generation import generation_of
from flatwater.experiment.database.measured import default_workload, load_workload, workload_files
from flatwater.fit.workload import Window, derive, to_workload_toml
from flatwater.fit.workload.counters import (
    LEAST_TRANSACTIONS,
    Counted,
    CountedCell,
    check_real,
    count_run,
    require_enough,
    window_numbers,
)
from flatwater.fit.workload.twin import COMPARED, twins

SEED = 20261122


class _Manifest:
    created_at = "2026-11-22T06:00:00+00:00"


class _Result:
    manifest = _Manifest()
    name = "made-up"
    machine: dict[str, Any] = {"cpu": "Some Processor", "cores": 4}  # noqa: RUF012


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
    return CountedCell(of or experiment(), {}, 128 << 20, None, None, 100.0, found)


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


def test_windows_of_a_cell_that_err_alike_are_not_taken_for_as_many_measurements() -> None:
    """One cell of six costs a fifth more, for a reason that is not counted: the intervals must say so."""
    rng = random.Random(SEED)
    cells = [cell(windows(reads, writes, rng)) for reads in (3, 12, 30) for writes in (1, 15)]
    cells[2] = replace(cells[2], windows=[replace(one, cpu_us=1.2 * one.cpu_us) for one in cells[2].windows])
    figure = derive(counted(cells)).cpu_us.statement
    # The same windows as those of one cell, whose errors would be independent.
    alone = derive(counted([cell([window for one in cells for window in one.windows])])).cpu_us.statement
    assert figure.value == alone.value and figure.ci95 is not None and alone.ci95 is not None
    assert figure.ci95 > 1.5 * alone.ci95, f"seed {SEED}"
    assert abs(figure.value - 25) < figure.ci95, f"seed {SEED}"


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


def test_reads_and_writes_that_rise_together_get_one_cost_and_none_of_them_is_free() -> None:
    rng = random.Random(SEED)
    # As a pool that is too small does it: five reads for three writes, whatever its size. With noise in both.
    alike = []
    for factor in (1, 4, 10):
        for _ in range(8):
            n, near = rng.uniform(800, 1200), rng.gauss(1, 0.002)
            reads, writes = 5 * factor * n * near, 3 * factor * n / near
            cpu_us = (25 * 84 * n + 60 * reads + 60 * writes) * rng.gauss(1, 0.03)
            alike.append(Window(5, n, 84 * n, 500 * n, reads, writes, 16_000 * n, cpu_us))
    found = derive(counted([cell(alike)]))
    costs = found.cpu_us
    assert costs.page_read == costs.page_written
    assert costs.page_read.value == pytest.approx(60, rel=0.1), f"seed {SEED}"
    assert any("cannot be told apart: both have their common cost" in note for note in found.notes)


@pytest.mark.parametrize("name", sorted(workload_files()))
def test_in_no_committed_file_a_page_costs_no_processor_time(name: str) -> None:
    costs = load_workload(name).cpu_us
    assert min(costs.page_read.value, costs.page_written.value) > 0


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


def test_the_processor_and_what_others_took_of_it_are_told() -> None:
    run = counted([cell(windows(2, 2, random.Random(SEED)))])
    alone = derive(replace(run, others_cores=0.3, cores=4))
    assert alone.processor == "Some Processor, 4 cores"
    assert not any("other programs" in note for note in alone.notes)
    busy = derive(replace(run, others_cores=0.5, cores=4))
    assert any("other programs used 0.5 of the machine's 4 cores" in note for note in busy.notes)


def test_redo_that_still_falls_is_told() -> None:
    rng = random.Random(SEED)
    steady = cell(windows(2, 2, rng, count=2, redo=700) + windows(2, 2, rng, count=2, redo=666))
    assert not any("fell" in note for note in derive(counted([steady])).notes), "by less than a twentieth"
    falling = cell(windows(2, 2, rng, count=2, redo=14_000) + windows(2, 2, rng, count=2, redo=11_000))
    chosen = replace(falling, set={"workload.mode": "update_index"})
    (told,) = [note for note in derive(counted([steady, chosen])).notes if "fell" in note]
    assert "from 14,000 to 11,000 bytes a transaction (mode update_index)" in told
    assert "increase workload.warmup_s" in told


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
    flavour, _, version = found.generation.partition("-")
    assert found.tells_redo_of(found.generation) and found.tells_redo_of(generation_of(flavour, version))
    assert found.statements.ci95 is not None and found.cpu_us.statement.ci95 is not None


@pytest.mark.parametrize("name", [name for name in sorted(workload_files()) if name.startswith("tpcc-")])
def test_the_twin_of_tpcc_reads_and_writes_what_was_measured(name: str) -> None:
    # No server is needed: what was counted is in the file. Shares of the data that are all read say nothing.
    compared = [twin for twin in twins(load_workload(name)) if twin.cell.pool_share < 1]
    assert len(compared) >= 2
    for twin in compared:
        for one in COMPARED:
            assert abs(twin.error(one)) < 0.15, f"{one} at a pool of {twin.cell.pool_share}: {twin.error(one):+.1%}"


def test_sizes_are_those_of_the_cell_that_fits_the_workload() -> None:
    rng = random.Random(SEED)
    size = {"leaf_pages": 100, "pages": 120, "rows": 1}
    # TPC-C's as they were loaded: the model splits the pages itself.
    grown = {"stock.PRIMARY": {**size, "leaf_pages": 200}}
    cells = [replace(cell(windows(3, 4, rng)), indexes=grown) for _ in range(2)]
    unknown = derive(counted(cells))
    assert not unknown.indexes and "sizes of indexes were not recorded: the model takes those of another server" in (
        unknown.notes
    )
    cells = [cells[0], replace(cells[1], loaded={"stock.PRIMARY": size})]
    assert derive(counted(cells)).indexes["stock.PRIMARY"].leaf_pages == 100
    # sysbench's tables keep their rows, and their pages split while it runs.
    oltp = make_experiment({"workload": {"kind": "oltp", "mode": "write_only"}, "database": {"kind": "server"}})
    split = [{"sbtest1.k_1": {**size, "leaf_pages": leaves, "pages": leaves + 20}} for leaves in (300, 200)]
    loaded = {"sbtest1.k_1": size}
    cells = [replace(cell(windows(3, 4, rng)), experiment=oltp, loaded=loaded, indexes=one) for one in split]
    assert derive(counted(cells)).indexes["sbtest1.k_1"].leaf_pages == 300


@pytest.mark.parametrize("name", [name for name in sorted(workload_files()) if name.startswith("tpcc-")])
def test_servers_that_build_indexes_full_have_their_own_rows_a_page(name: str) -> None:
    measured, full = load_workload(name), load_workload("tpcc-mariadb-10.11")
    if measured.indexes:
        for index, size in measured.indexes.items():
            assert measured.rows_a_page()[index] == round(size.rows / size.leaf_pages)
    else:
        assert measured.generation in ("mysql-5.5", "percona-5.1")
        assert measured.rows_a_page() == full.rows_a_page()


def test_what_is_no_run_of_a_server_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        count_run(str(tmp_path / "nothing"))
    model = {"database": {"kind": "innodb-model"}, "storage": {"kind": "memory", "device": "violin-memory-appliance"}}
    with pytest.raises(UserError, match="its server is modelled"):
        check_real(make_experiment({"workload": {"kind": "oltp", "mode": "read_write"}, **model}), "here")
    with pytest.raises(UserError, match="it has no transactions"):
        check_real(make_experiment({"workload": {"mode": "rndrd"}}), "here")
    server = {"database": {"kind": "server"}, "storage": {"path": "/somewhere"}}
    with pytest.raises(UserError, match="CPU time of logins"):
        check_real(make_experiment({"workload": {"kind": "tpcc", "reconnect_every": 1}, **server}), "here")


def test_a_run_that_is_refused_as_too_short_is_told_to_be_shorter_than_is_asked() -> None:
    require_enough(19.98, LEAST_TRANSACTIONS, "run")
    for seconds, transactions in ((19.4, LEAST_TRANSACTIONS), (60.0, LEAST_TRANSACTIONS - 1)):
        with pytest.raises(UserError, match=f"is too short: {seconds:.0f} s and {transactions} transactions"):
            require_enough(seconds, transactions, "run")


@pytest.mark.parametrize("measured", ["mysql-5.1", "percona-5.1", "mysql-5.5", "percona-5.5", "mysql-5.6"])
def test_redo_of_an_old_server_is_that_of_the_generation_that_models_it(measured: str) -> None:
    flavour, _, version = measured.partition("-")
    generation = generation_of(flavour, version)
    workload = default_workload("tpcc", generation).model_copy(update={"generation": measured})
    assert workload.tells_redo_of(generation) and not workload.tells_redo_of("mysql-8.0")


@pytest.mark.parametrize("late_s", [-0.002, 0.0, 0.00148])
def test_a_reading_that_comes_a_little_late_costs_no_window(late_s: float) -> None:
    """A run of 20 s has four windows of five seconds, and none of four."""
    lengths_s = np.full(20, 1.0)
    lengths_s[9] += late_s
    lengths_s[10] -= late_s / 2
    assert np.bincount(window_numbers(lengths_s).astype(int)).tolist() == [5, 5, 5, 5]
