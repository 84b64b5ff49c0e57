"""What may be expected of the shape, and of which cells."""

from __future__ import annotations

import tomllib

import pytest

from flatwater.experiment import Experiment, load, make_cell, make_experiment, to_toml
from flatwater.experiment.expected import agrees_with
from flatwater.experiment.lookup import published_cells
from flatwater.experiment.problem import ProblemsError
from flatwater.experiment.scale import scale_tables
from flatwater.experiment.validation import validate

TEXT = """
[workload]
mode = "rndrd"
unit = "MiB/s"
[sweep]
"workload.threads" = [1, 2, 4]
[[published]]
set = { "workload.threads" = 1 }
value = 10
unit = "MiB/s"
source = "s"
[[published]]
set = { "workload.threads" = 4 }
value = 30
up_to = 50
unit = "MiB/s"
source = "s"
[[expected]]
source = "s"
"""


def experiment(told: str) -> Experiment:
    return make_experiment(tomllib.loads(TEXT + told))


@pytest.mark.parametrize(
    "told",
    [
        'verdict = "flat"',
        'verdict = ["flat", "drifting"]\nset = { "workload.threads" = 2 }',
        "order = [{ workload.threads = 4 }, { workload.threads = 1 }]",
        'order = "published"\ntau = 0.8',
        'optimum = { "workload.threads" = [2, 4] }\nwithin = 0.1\nmetric = "latency_us.p95"\nleast = true',
    ],
)
def test_what_is_expected_is_kept(told: str) -> None:
    one = experiment(told)
    assert make_experiment(tomllib.loads(to_toml(one))).expected == one.expected
    assert make_cell(one, {"workload.threads": 2}).expected == []


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ("", "says nothing"),
        ('verdict = "flat"\noptimum = { "workload.threads" = 1 }', "verdict and optimum are two expectations"),
        ('verdict = "smooth"', "'smooth' is not a choice|Input should be"),
        ('verdict = "flat"\nset = { "workload.threads" = 3 }', "matches no cell: workload.threads = 3"),
        ("order = [{ workload.threads = 4 }]", "an order is of two cells or more"),
        ("order = [{ workload.threads = 4 }, { workload.threads = 3 }]", "matches no cell: workload.threads = 3"),
        ("order = [{ workload.threads = 4 }, {}]", "matches 3 cells, and an order is of single cells"),
        ("order = [{ workload.threads = 4 }, { workload.threads = 4 }]", "a cell stands in it twice"),
        ('order = "published"\nmetric = "flatness"', "fewer than two cells have a published flatness"),
        ('optimum = { "workload.threads" = 3 }', "matches no cell: workload.threads = 3"),
        ('optimum = { "workload.files" = 1 }', "workload.files is not swept"),
        ('optimum = { "workload.thread" = 1 }', "no such field"),
        ('optimum = { "workload.threads" = 1, "workload.files" = 1 }', "is of one field, not of 2"),
        ('optimum = { "workload.threads" = 1 }\nset = { "workload.threads" = 1 }', "leaves one"),
        ('verdict = "flat"\nmetric = "men"', "is not a metric"),
    ],
)
def test_what_cannot_be_expected(told: str, what: str) -> None:
    with pytest.raises(ProblemsError, match=what):
        experiment(told)


def test_an_override_drops_what_is_expected_of_cells_that_are_gone() -> None:
    data = tomllib.loads(TEXT + 'verdict = "flat"\nset = { "workload.threads" = 4 }')
    data["sweep"] = {"workload.threads": [1, 2]}
    assert (left := validate(data, overridden=True).experiment) is not None and left.expected == []


def test_jumps_are_all_that_is_not_level() -> None:
    assert all(agrees_with(["jumps"], verdict) for verdict in ("dips", "stalls", "not steady"))
    assert not any(agrees_with(["jumps"], verdict) for verdict in ("flat", "drifting", "not judged"))
    assert agrees_with(["flat", "dips"], "dips") and not agrees_with(["flat"], "drifting")


def test_the_published_order_takes_the_middle_of_a_range() -> None:
    one = experiment('order = "published"')
    assert published_cells(one, one.expected[0]) == {0: 10, 2: 40}


def test_scale_reaches_the_cells_and_what_grows_with_them() -> None:
    data = {
        "scale": 10,
        "published": [
            {"metric": "database.checkpoint_age_bytes", "value": "2M", "unit": "bytes"},
            {"metric": "dip_period_s", "value": 120, "unit": "s"},
            {"metric": "dip_depth", "value": 0.3, "unit": "1"},
        ],
        "expected": [
            {"set": {"database.settings.innodb_buffer_pool_size": "1G"}},
            {"optimum": {"workload.warehouses": [5, 10]}},
            {"order": [{"workload.duration_s": 1}, {"workload.duration_s": 2}]},
            "no table",
        ],
    }
    data = scale_tables(data)
    assert [figure["value"] for figure in data["published"]] == [20 * 2**20, 1200, 0.3]
    assert data["expected"] == [
        {"set": {"database.settings.innodb_buffer_pool_size": "10G"}},
        {"optimum": {"workload.warehouses": [50, 100]}},
        {"order": [{"workload.duration_s": 10}, {"workload.duration_s": 20}]},
        "no table",
    ]


def test_rows_of_the_stability_experiment_are_told_apart() -> None:
    one = load("stability")
    assert [name[0] for name in one.report.names] == list("abcdefghijkl")
    assert load("stability", ["database.settings.innodb_doublewrite=1"]).report.names == one.report.names
    assert load("stability", ["sweep.zip={}"]).report.names == []
    cells = [make_cell(one, one.sweep.values_at(at)) for at in range(12)]
    beside = [cell.published[0].source for cell in cells if cell.published]
    assert [text[:5] for text in beside] == [f"row {row}" for row in "abcdfhijl"]
