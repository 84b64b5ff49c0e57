from __future__ import annotations

import tomllib
import tracemalloc
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatwater.errors import UserError
from flatwater.experiment import Experiment, cell_at, count_cells, iter_cells, longest_s, make_experiment, run_order
from flatwater.experiment.cells import cell_seed


def experiment(text: str, head: str = "") -> Experiment:
    return make_experiment(tomllib.loads(f'{head}\n[workload]\nmode = "rndrw"\nengine = "io_uring"\n{text}'))


def test_without_a_sweep_there_is_one_cell() -> None:
    (cell,) = iter_cells(experiment(""))
    assert (cell.index, cell.repeat, cell.set) == (0, 0, {})


def test_a_grid_in_the_file_s_order_and_the_user_s_units() -> None:
    swept = experiment('[sweep]\n"workload.block_size" = ["4KiB", 8192]\nworkload.threads = [1, 2]')
    assert [cell.set for cell in iter_cells(swept)] == [
        {"workload.block_size": size, "workload.threads": threads} for size in ("4KiB", 8192) for threads in (1, 2)
    ]
    assert [cell.experiment.workload.block_size for cell in iter_cells(swept)] == [4096, 4096, 8192, 8192]


def test_lists_that_are_walked_together() -> None:
    swept = experiment(
        "[sweep]\nworkload.files = [1, 2]\n"
        '[[sweep.zip]]\nworkload.threads = [1, 2]\n"workload.queue_depth" = [32, 16]\n'
        "[[sweep.zip]]\nstorage.fill = [0.5, 1]"
    )
    cells = [tuple(cell.set.values()) for cell in iter_cells(swept)]
    assert len(cells) == count_cells(swept) == 8
    assert cells[:4] == [(1, 1, 32, 0.5), (1, 1, 32, 1), (1, 2, 16, 0.5), (1, 2, 16, 1)]


def test_mixtures_and_nested_tables_can_be_swept() -> None:
    swept = experiment(
        '[sweep]\nworkload.block_size = ["4KiB", { "4KiB" = 50, "8KiB" = 50 }]\n'
        'storage.fault = [{ kind = "stall" }, { kind = "error", after_ops = 5 }]'
    )
    last = list(iter_cells(swept))[-1].experiment
    assert last.workload.block_size == {4096: 50.0, 8192: 50.0}
    assert last.storage.fault is not None
    assert last.storage.fault.after_ops == 5


def test_a_swept_field_stands_at_its_first_value() -> None:
    # Every cell is valid, though the default engine could not do the first depth.
    swept = make_experiment(
        {"workload": {"mode": "rndrd", "queue_depth": 32}, "sweep": {"workload.engine": ["io_uring"]}}
    )
    assert swept.workload.engine == "io_uring"
    assert experiment("[sweep]\nworkload.mode = ['rndrd', 'rndwr']").workload.mode == "rndrd"


def test_a_swept_ratio_replaces_the_percentage() -> None:
    swept = experiment("read_pct = 10\n[sweep]\nworkload.rw_ratio = [1, 3]")
    assert [cell.experiment.workload.read_pct for cell in iter_cells(swept)] == [50, 75]


def test_a_cell_sweeps_nothing_and_runs_once() -> None:
    swept = experiment("[sweep]\nworkload.threads = [1, 2]\n[report]\nx = 'workload.threads'", head="repeat = 3")
    cell = cell_at(swept, 5)
    assert (cell.index, cell.repeat, cell.set) == (5, 2, {"workload.threads": 2})
    assert count_cells(cell.experiment) == 1


def test_adding_repeats_keeps_the_numbers_and_seeds() -> None:
    one = list(iter_cells(experiment("[sweep]\nworkload.threads = [1, 2, 4]")))
    two = list(iter_cells(experiment("[sweep]\nworkload.threads = [1, 2, 4]", head="repeat = 2")))
    assert two[:3] == one
    assert [cell.set for cell in two[3:]] == [cell.set for cell in one]


def test_cells_that_there_are_not() -> None:
    for index in (-1, 1):
        with pytest.raises(IndexError):
            cell_at(experiment(""), index)


def thousand_million() -> Experiment:
    values = list(range(1, 1001))
    sweep: dict[str, Any] = {"workload.threads": values, "workload.queue_depth": values, "workload.rate_per_s": values}
    return make_experiment({"workload": {"mode": "rndrd", "engine": "io_uring"}, "sweep": sweep})


def test_a_thousand_million_cells_are_counted_without_making_them() -> None:
    swept = thousand_million()
    tracemalloc.start()
    assert count_cells(swept) == 10**9
    assert longest_s(swept) == 60e9
    assert cell_at(swept, 10**9 - 1).set == dict.fromkeys(swept.sweep.fields, 1000)
    assert next(iter_cells(swept)).index == 0
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 10 * 2**20
    with pytest.raises(UserError, match="1,000,000,000 cells are more than can be run"):
        run_order(swept)


def test_one_repeat_runs_in_the_file_s_order() -> None:
    assert run_order(experiment("[sweep]\nstorage.fill = [0.2, 0.4, 0.6]")) == [0, 1, 2]


@given(st.integers(0, 2**53 - 1), st.integers(2, 5), st.integers(1, 12))
def test_repeats_run_one_whole_shuffled_repeat_after_another(seed: int, repeat: int, threads: int) -> None:
    swept = experiment(
        f"[sweep]\nworkload.threads = {list(range(1, threads + 1))}", head=f"repeat = {repeat}\nseed = {seed}"
    )
    order = run_order(swept)
    assert sorted(order) == list(range(count_cells(swept)))
    assert [index // threads for index in order] == sorted(index // threads for index in order)
    assert order == run_order(swept)


def test_the_order_follows_the_seed() -> None:
    text = f"[sweep]\nworkload.threads = {list(range(1, 21))}"
    orders = {tuple(run_order(experiment(text, head=f"repeat = 2\nseed = {seed}"))) for seed in range(20)}
    assert len(orders) == 20


def test_seeds_are_pinned_and_spread() -> None:
    # Pinned: another formula would break the promise that (experiment, seed, version) is a function.
    assert [cell_seed(1, index) for index in range(2)] == [5992143093873358, 8601643605268350]
    seeds = Counter(cell_seed(seed, index) for seed in range(50) for index in range(50))
    assert len(seeds) == 2500
    assert max(seeds) < 2**53


def test_the_time_is_that_of_the_cells() -> None:
    swept = experiment('[sweep]\nworkload.duration_s = ["1m", "3m"]\nworkload.threads = [1, 2, 3]', head="repeat = 2")
    assert longest_s(swept) == 2 * 3 * (60 + 180)
    assert longest_s(experiment("steady_state = 'snia'\nwarmup_s = 10")) == 1510


def test_a_conflict_that_only_some_cells_have_is_found_before_the_run() -> None:
    with pytest.raises(ValueError, match=r"cell workload.engine = psync, workload.queue_depth = 8\), and 1 more cell"):
        experiment("[sweep]\nworkload.engine = ['io_uring', 'psync']\nworkload.queue_depth = [1, 8, 16]")
