"""One pass over tables with several faults: each is told, and none that only follows from another."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from flatwater.experiment.validation import validate

W = {"workload": {"mode": "rndrd"}}
FIGURE = {"value": 1, "unit": "IOPS", "source": "s"}


def fields(tables: dict[str, Any]) -> list[str]:
    before = copy.deepcopy(tables)
    experiment, problems = validate(tables)
    assert tables == before, "the tables stay as they are"
    assert experiment is None or not problems
    return [problem.field for problem in problems]


def test_tables_with_nothing_wrong_are_an_experiment() -> None:
    experiment, problems = validate(W)
    assert experiment is not None and problems == ()
    with pytest.raises(ValueError, match="frozen"):
        experiment.name = "x"


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        # A sweep hid that its layer is no table.
        ({"workload": 3, "sweep": {"workload.threads": [1]}}, ["workload"]),
        ({"workload": {"kind": "tpcc"}, "database": 3, "sweep": {"database.instances": [1]}}, ["database"]),
        # What is swept of a layer of no kind is not looked at.
        (W | {"storage": {"kind": "sdd"}, "sweep": {"storage.nonsense": [1]}}, ["storage.kind"]),
        # A wrong list of values is one fault, not one of the layer too.
        ({"workload": {}, "sweep": {"workload.mode": ["rndwx"]}}, ["sweep.workload.mode"]),
        # Fields of one layer, of two layers, and of the views, all in one go.
        (
            {"workload": {"mode": "rndrd", "queue_depth": 8, "block_size": "2MiB", "files": 0}}
            | {"storage": {"size": "1MiB"}, "published": [FIGURE | {"unit": "tps"}]},
            ["workload.files", "workload.queue_depth", "published.0.unit"],
        ),
        (
            {"workload": {"mode": "rndrd", "queue_depth": 8, "block_size": "2MiB"}, "storage": {"size": "1MiB"}},
            ["workload.queue_depth", "workload.block_size"],
        ),
        # A wrong field is not swept either: what follows from the number of cells is not told.
        (
            W
            | {"sweep": {"workload.queue_depth": [8, 1], "workload.threads": [1, 2]}, "report": {"names": ["a", "b"]}}
            | {"expected": [{"order": [{"workload.threads": 1}, {"workload.threads": 2}], "source": "s"}]},
            ["workload.queue_depth"],
        ),
        (
            W
            | {
                "sweep": {"workload.files": [1, 0], "workload.threads": [1, 2]},
                "report": {"names": ["a", "b", "c", "d"]},
            },
            ["sweep.workload.files"],
        ),
        # A server in the place of the missing one, of which nothing is told.
        ({"workload": {"kind": "tpcc"}, "storage": {"size": "1GiB"}}, ["workload.kind"]),
        # Entries keep their places in the file's list.
        (
            W | {"published": [{"source": "s", "unit": "x"}, FIGURE | {"unit": "tps"}]},
            ["published.0.value", "published.1.unit"],
        ),
        # An order of the figures that are left is not the order of all.
        (W | {"published": [3], "expected": [{"order": "published", "source": "s"}]}, ["published.0"]),
    ],
)
def test_each_fault_is_told_and_nothing_that_follows_from_it(tables: dict[str, Any], told: list[str]) -> None:
    assert fields(tables) == told
