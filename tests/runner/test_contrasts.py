"""Cells that differ in one setting, on experiments of the library with figures of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flatwater.experiment import load, make_experiment
from flatwater.runner.contrasts import find_contrasts


def by_place(**of: float) -> Callable[[int, str], float | None]:
    return lambda place, metric: of.get(f"{metric}{place}")


def test_cells_that_differ_in_one_setting() -> None:
    """Of the twelve rows, b, f and h differ in the dirty limit, b and c in doublewrite, i and j in the limit, ..."""
    experiment = load("stability")
    told = find_contrasts(experiment, lambda place, metric: 1000.0 + place if metric == "mean" else None)
    groups = {(one.setting.rpartition(".")[2], *one.cells) for one in told}
    b, c, d, f, h, i, j = 1, 2, 3, 5, 7, 8, 9
    assert groups == {
        ("innodb_max_dirty_pages_pct", b, f, h),
        ("innodb_max_dirty_pages_pct", c, d),
        ("innodb_max_dirty_pages_pct", i, j),
        ("innodb_doublewrite", b, c),
        ("innodb_doublewrite", d, f),
        ("innodb_log_file_size", f, i),
    }
    limit = next(one for one in told if one.cells == [b, f, h])
    assert limit.values == [50, 60, 15] and limit.published == [41257.6, 37509.73, 37235.06]
    assert limit.ours == [1001, 1005, 1007] and limit.standings == ["predicted"] * 3
    # The published order is b, f, h, ours h, f, b: every one of the six orders is at least as good.
    assert (limit.tau, limit.chance) == (-1, 1)
    # The ratios of the table are between cells that have figures of their own.
    assert all(min(one.published) > 1000 for one in told)


def test_ratios_have_their_reference() -> None:
    told = find_contrasts(load("adaptive-io-capacity"), by_place(mean0=200, mean1=220, mean2=1))
    assert [(one.published, one.ours, one.standings) for one in told] == [([1, 1], [1, 1.1], ["", "predicted"])]
    assert (told[0].tau, told[0].chance) == (None, None)
    # Four settings change together: no single one made the difference.
    assert find_contrasts(load("adaptive-card"), by_place(mean0=100, mean1=115)) == []


@pytest.mark.parametrize("missing", ["mean0", "mean1"])
def test_a_missing_cell_leaves_no_group(missing: str) -> None:
    figures = {"mean0": 1.0, "mean1": 2.0}
    del figures[missing]
    assert find_contrasts(load("adaptive-io-capacity"), by_place(**figures)) == []


def of_two(*figures: dict[str, Any]) -> list[Any]:
    base = {"unit": "IOPS", "source": "made up"}
    tables: dict[str, Any] = {
        "workload": {"mode": "rndrd", "unit": "IOPS"},
        "sweep": {"workload.threads": [1, 2]},
        "published": [base | one for one in figures],
    }
    return find_contrasts(make_experiment(tables), by_place(mean0=10, mean1=20))


def test_a_range_counts_with_its_middle_unless_it_says_no_difference() -> None:
    one, two = {"workload.threads": 1}, {"workload.threads": 2}
    (told,) = of_two({"set": one, "value": 10}, {"set": two, "value": 20, "up_to": 40})
    assert told.published == [10, 30]
    assert of_two({"set": one, "value": 10}, {"set": two, "value": 0, "up_to": 40}) == []
    assert of_two({"set": one, "value": 10}, {"set": two, "value": 20, "at_least": True}) == []
    ratio = {"set": two, "relative_to": one, "unit": "x", "up_to": 3}
    assert of_two(ratio | {"value": 1}) == []
    (told,) = of_two(ratio | {"value": 1.5})
    assert (told.published, told.ours) == ([1, 2.25], [1, 2])
