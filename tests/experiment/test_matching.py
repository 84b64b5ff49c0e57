"""Large sweeps are checked in seconds: what is done grows with the file, not with its square.

Before, a figure and its ratio for each of 1,000 cells took a minute, an order of them two.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatwater.experiment import make_experiment
from flatwater.experiment.fields import get_value, resolve_value
from flatwater.experiment.lookup import positions_of

VALUES = {
    "workload.threads": st.lists(st.integers(1, 4), min_size=1, max_size=4, unique=True),
    "workload.block_size": st.lists(st.sampled_from(["4KiB", "8k", 16384, {"4KiB": 70, "16KiB": 30}]),
                                    min_size=1, max_size=4, unique_by=str),
    "storage.fill": st.lists(st.sampled_from([0.25, 0.5, 1]), min_size=1, max_size=3, unique=True),
}  # fmt: skip


@given(sweep=st.fixed_dictionaries({}, optional=VALUES), wanted=st.fixed_dictionaries({}, optional=VALUES))
def test_the_same_cells_as_looking_at_each(sweep: dict[str, list[Any]], wanted: dict[str, list[Any]]) -> None:
    tables = {"workload": {"mode": "rndrd"}, "storage": {"size": "1GiB"}, "sweep": sweep}
    experiment = make_experiment(tables)
    cells = {field: values[0] for field, values in wanted.items()}

    def has(values: dict[str, Any], field: str) -> bool:
        there = resolve_value(field, values[field]) if field in values else get_value(experiment, field)
        return bool(there == resolve_value(field, cells[field]))

    positions = range(experiment.sweep.positions)
    each = [place for place in positions if all(has(experiment.sweep.values_at(place), field) for field in cells)]
    assert positions_of(experiment, cells) == each


def test_values_that_are_walked_together_stand_together() -> None:
    zips = {"zip": {"workload.threads": [1, 2, 1], "storage.fill": [0.5, 0.5, 1.0]}, "workload.files": [1, 2]}
    tables = {"workload": {"mode": "rndrd"}, "storage": {"size": "1GiB"}, "sweep": zips}
    experiment = make_experiment(tables)
    found = [experiment.sweep.values_at(place) for place in positions_of(experiment, {"workload.threads": 1})]
    assert [(one["workload.files"], one["storage.fill"]) for one in found] == [(1, 0.5), (1, 1.0), (2, 0.5), (2, 1.0)]
    assert positions_of(experiment, {"workload.threads": 2, "storage.fill": 1.0}) == []


def figures(count: int) -> list[dict[str, Any]]:
    plain = [{"set": {"workload.threads": n}, "value": n, "unit": "IOPS", "source": "s"} for n in range(1, count + 1)]
    ratios = [one | {"unit": "x", "relative_to": {"workload.threads": one["value"] % count + 1}} for one in plain]
    return plain + ratios


def swept(count: int, **more: Any) -> dict[str, Any]:
    """Three fields of `count` values each, walked together."""
    numbers = list(range(1, count + 1))
    fields = {
        "workload.threads": numbers,
        "workload.rate_per_s": numbers,
        "workload.block_size": [512 * n for n in numbers],
    }
    tables = {"workload": {"mode": "rndrd"}, "storage": {"size": "1TiB"}, "sweep": {"zip": fields}}
    return tables | more


def calls(tables: dict[str, Any]) -> int:
    """Calls of Python functions that it takes to validate an experiment."""
    count = itertools.count()

    def counted(_: object, event: str, __: object) -> None:
        if event == "call":
            next(count)

    sys.setprofile(counted)
    try:
        make_experiment(tables)
    finally:
        sys.setprofile(None)
    return next(count)


@pytest.mark.parametrize("what", ["alone", "figures", "order", "listed", "optimum", "grid"])
def test_what_is_done_grows_with_the_file_and_not_with_its_square(what: str) -> None:
    def tables(count: int) -> dict[str, Any]:
        numbers = [{"workload.threads": n} for n in range(1, count + 1)]
        more: dict[str, Any] = {
            "alone": {},
            "figures": {"published": figures(count)},
            "order": {"published": figures(count), "expected": [{"order": "published", "source": "s"}]},
            "listed": {"expected": [{"order": numbers, "source": "s"}]},
            "optimum": {"expected": [{"optimum": {"workload.threads": list(range(1, count + 1))}, "source": "s"}]},
            "grid": {"sweep": swept(count)["sweep"]["zip"]},
        }[what]
        return swept(count, **more)

    calls(tables(10))  # what is made once
    # Twice as much takes four times as long where each is looked at for each.
    assert calls(tables(400)) < 2.6 * calls(tables(200))


@pytest.mark.parametrize(("metric", "refused"), [("mean", True), ("flatness", False)])
def test_no_ratio_is_of_figures_that_count_different_things(metric: str, refused: bool) -> None:
    zips = {"zip": {"workload.block_size": ["4k", "1m"], "workload.unit": ["IOPS", "MiB/s"]}}
    cells = {"set": {"workload.block_size": "1m"}, "relative_to": {"workload.block_size": "4k"}}
    figure = cells | {"metric": metric, "unit": "x", "value": 2, "source": "s"}
    tables = {"workload": {"mode": "rndrd"}, "storage": {"size": "1GiB"}, "sweep": zips, "published": [figure]}
    if not refused:
        make_experiment(tables)
        return
    with pytest.raises(ValueError, match=r"is of cells in IOPS and MiB/s, which cannot be compared"):
        make_experiment(tables)


def test_no_order_is_of_figures_that_count_different_things() -> None:
    zips = {"zip": {"workload.block_size": ["4k", "1m"], "workload.unit": ["IOPS", "MiB/s"]}}
    tables = {"workload": {"mode": "rndrd"}, "storage": {"size": "1GiB"}, "sweep": zips}
    order = [{"workload.block_size": "4k"}, {"workload.block_size": "1m"}]
    with pytest.raises(ValueError, match="which cannot be compared"):
        make_experiment(tables | {"expected": [{"order": order, "source": "s"}]})
